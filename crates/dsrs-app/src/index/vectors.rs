//! Vectors of segments in memory, and the exact comparison of a query with all of them. Segments never change, so what is in
//! memory is never wrong. Knows no texts.

use std::sync::Arc;

use moka::sync::Cache;
use uuid::Uuid;

use crate::task::run_blocking;
use crate::{AppError, compute_blocking};
use dsrs_store::index_search::{self, PassagePlace, VectorSegment};
use dsrs_store::{Db, Scope};

/// The most bytes of vectors in memory, of all workspaces. Others are read again for each search.
const MEMORY: u64 = 256 << 20;

/// The most passages that are as near as the last one. Of more, any are compared by their ids.
const MOST_TIES: usize = 1000;

/// How long one comparison of a segment may take.
const COMPARISON_TIME: std::time::Duration = std::time::Duration::from_secs(10);

/// The vectors of a segment, one after the other.
type SegmentVectors = Arc<[f32]>;

/// Vectors of segments that were compared lately.
pub(crate) struct VectorCache(Cache<Uuid, SegmentVectors>);

impl VectorCache {
    pub(super) fn new() -> Self {
        let size = |_: &Uuid, vectors: &SegmentVectors| {
            u32::try_from(vectors.len() * size_of::<f32>()).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(MEMORY).weigher(size).build())
    }

    /// The passages of some segments whose vectors are nearest to a query: at least `count`, and those that are as near as the
    /// last of them.
    pub(super) async fn nearest(
        &self,
        scope: &Scope,
        db: &Db,
        segments: &[VectorSegment],
        query: &Arc<[f32]>,
        count: usize,
    ) -> Result<Vec<(PassagePlace, f64)>, AppError> {
        let mut best: Vec<(PassagePlace, f64)> = Vec::new();
        for segment in segments {
            check_dimension(segment, query)?;
            let (vectors, query, id) =
                (self.of(scope, db, segment.id).await?, query.clone(), segment.id);
            let compare = move || nearest_of(id, &vectors, &query, count);
            let found = compute_blocking(COMPARISON_TIME, compare).await;
            best.extend(
                found.ok_or_else(|| AppError::Internal("the comparison panicked".to_owned()))?,
            );
            keep_best(&mut best, count);
        }
        Ok(best)
    }

    async fn of(&self, scope: &Scope, db: &Db, segment: Uuid) -> Result<SegmentVectors, AppError> {
        if let Some(vectors) = self.0.get(&segment) {
            return Ok(vectors);
        }
        let bytes = index_search::vectors(scope, db, segment).await?;
        let broken = || AppError::Internal("reading vectors panicked".to_owned());
        let vectors = run_blocking(move || read_vectors(&bytes)).await.ok_or_else(broken)?;
        // A segment that was removed meanwhile has none.
        if !vectors.is_empty() {
            self.0.insert(segment, vectors.clone());
        }
        Ok(vectors)
    }
}

fn check_dimension(segment: &VectorSegment, query: &[f32]) -> Result<(), AppError> {
    if usize::try_from(segment.dimension).is_ok_and(|dimension| dimension == query.len()) {
        return Ok(());
    }
    let detail = format!(
        "the embedding model returns vectors of {} numbers, and those of the index have {}: build the index again",
        query.len(),
        segment.dimension
    );
    Err(AppError::NotComparable(detail))
}

/// The bytes of a vector, of length 1 so that a product is a cosine. A vector without a direction stays as it is.
pub(super) fn vector_bytes(vector: &[f32], bytes: &mut Vec<u8>) {
    let square: f64 = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
    let length = if square > 0.0 { square.sqrt() } else { 1.0 };
    for number in vector {
        #[expect(clippy::cast_possible_truncation, reason = "a number of a vector of length 1")]
        let number = (f64::from(*number) / length) as f32;
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

/// The numbers of bytes.
fn read_vectors(bytes: &[u8]) -> SegmentVectors {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}

fn nearest_of(
    segment_id: Uuid,
    vectors: &[f32],
    query: &[f32],
    count: usize,
) -> Vec<(PassagePlace, f64)> {
    let mut unit = Vec::with_capacity(query.len() * 4);
    vector_bytes(query, &mut unit);
    let unit = read_vectors(&unit);
    let place = |number| PassagePlace { segment_id, number };
    let scored = vectors.chunks_exact(unit.len().max(1)).zip(0..);
    let mut best: Vec<(PassagePlace, f64)> =
        scored.map(|(vector, number)| (place(number), product(vector, &unit))).collect();
    keep_best(&mut best, count);
    best
}

/// The product of two vectors, in eight sums, which the processor computes at once.
fn product(one: &[f32], other: &[f32]) -> f64 {
    let mut sums = [0.0_f32; 8];
    let (ones, one_rest) = one.as_chunks::<8>();
    let (others, other_rest) = other.as_chunks::<8>();
    for (one, other) in ones.iter().zip(others) {
        for place in 0..8 {
            sums[place] += one[place] * other[place];
        }
    }
    let rest: f32 = one_rest.iter().zip(other_rest).map(|(one, other)| one * other).sum();
    f64::from(sums.iter().sum::<f32>() + rest)
}

/// Leaves the best, the best first, with those that are as good as the last of them.
fn keep_best(scored: &mut Vec<(PassagePlace, f64)>, count: usize) {
    let better = |one: &(PassagePlace, f64), other: &(PassagePlace, f64)| other.1.total_cmp(&one.1);
    scored.sort_by(better);
    if let Some((_, last)) = scored.get(count.saturating_sub(1)).copied() {
        scored.truncate(scored.partition_point(|(_, score)| *score >= last));
        scored.truncate(count + MOST_TIES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(vectors: &[&[f32]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        vectors.iter().for_each(|vector| vector_bytes(vector, &mut bytes));
        bytes
    }

    #[test]
    fn the_nearest_by_direction_come_first_whatever_their_length() {
        let vectors = read_vectors(&bytes(&[&[0.0, 5.0], &[3.0, 0.0], &[1.0, 1.0], &[-1.0, 0.0]]));
        let found = nearest_of(Uuid::nil(), &vectors, &[9.0, 0.0], 3);
        let numbers: Vec<i32> = found.iter().map(|(place, _)| place.number).collect();
        assert_eq!(numbers, [1, 2, 0]);
        assert!((found[0].1 - 1.0).abs() < 1e-6 && (found[1].1 - 0.5_f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn those_that_are_as_near_as_the_last_stay_in_their_order() {
        let vectors = read_vectors(&bytes(&[&[0.0, 5.0], &[3.0, 0.0], &[0.0, -1.0], &[0.0, 0.0]]));
        let found = nearest_of(Uuid::nil(), &vectors, &[9.0, 0.0], 2);
        let numbers: Vec<i32> = found.iter().map(|(place, _)| place.number).collect();
        assert_eq!(numbers, [1, 0, 2, 3]);
    }

    #[test]
    fn a_product_is_that_of_all_numbers() {
        for length in 0..40_u8 {
            let one: Vec<f32> = (0..length).map(f32::from).collect();
            let expected: f64 = one.iter().map(|number| f64::from(*number).powi(2)).sum();
            assert!((product(&one, &one) - expected).abs() < 1e-3, "{length}");
        }
    }
}
