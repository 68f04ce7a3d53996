//! Vectors of one length, and their form in documents: base64 of 32-bit floats. Does not know the model
//! that made them.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a number.
const WIDTH: usize = size_of::<f32>();

/// Vectors of finite numbers, all of one length. Cheap to clone.
///
/// ```
/// use dsrs::lm::Vectors;
///
/// let vectors = Vectors::from_base64("AACAPwAAAAAAAAAAAACAPw==", 2).unwrap();
/// assert_eq!(vectors.rows().collect::<Vec<_>>(), [[1.0, 0.0], [0.0, 1.0]]);
/// assert!(Vectors::from_base64("AACAPwAAAAAAAAAAAACAPw==", 3).is_err());
/// ```
#[derive(Clone, PartialEq)]
pub struct Vectors {
    dimensions: usize,
    numbers: Arc<[f32]>,
    /// The length of each vector.
    lengths: Arc<[f64]>,
}

impl Vectors {
    /// Vectors of one length; `None` if lengths differ or the list is empty.
    #[must_use]
    pub fn of(rows: &[Arc<[f32]>]) -> Option<Self> {
        let dimensions = rows.first()?.len();
        let fit = dimensions > 0 && rows.iter().all(|row| row.len() == dimensions);
        let numbers = rows.iter().flat_map(|row| row.iter().copied());
        fit.then(|| Self::new(dimensions, numbers.collect()))
    }

    fn new(dimensions: usize, numbers: Arc<[f32]>) -> Self {
        let lengths = numbers.chunks_exact(dimensions.max(1)).map(length).collect();
        Self { dimensions, numbers, lengths }
    }

    /// Reads the output of [`Self::to_base64`].
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that starts with "the vectors".
    pub fn from_base64(text: &str, dimensions: usize) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|error| format!("are not base64: {error}"))?;
        let row = dimensions.checked_mul(WIDTH).filter(|row| *row > 0);
        let row = row.ok_or_else(|| format!("cannot have {dimensions} numbers each"))?;
        if bytes.len() % row != 0 {
            let (found, per) = (bytes.len(), format!("{dimensions} numbers of {WIDTH} bytes"));
            return Err(format!("are {found} bytes, which is not a multiple of {per}"));
        }
        let (numbers, _) = bytes.as_chunks::<WIDTH>();
        let numbers: Arc<[f32]> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            Some(at) => Err(format!(
                "have a number that is not finite, in vector {} at {}",
                at / dimensions,
                at % dimensions
            )),
            None => Ok(Self::new(dimensions, numbers)),
        }
    }

    /// The numbers of all vectors in order, as little-endian 32-bit floats in base64.
    #[must_use]
    pub fn to_base64(&self) -> String {
        let bytes: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    }

    /// The length of each vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len() / self.dimensions.max(1)
    }

    /// Whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The vectors, in order.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks_exact(self.dimensions.max(1))
    }
}

impl Vectors {
    /// The indexes of the vectors most similar to `to`, with their cosines: at most `most`, the nearest
    /// first, ties in order.
    #[must_use]
    pub fn nearest(&self, to: &[f32], most: usize) -> Vec<(usize, f64)> {
        let own = length(to);
        let cosine = |(row, length): (&[f32], &f64)| match own * length {
            lengths if lengths > 0.0 => product(row, to) / lengths,
            _ => 0.0,
        };
        let rows = self.rows().zip(self.lengths.iter());
        let mut ranked: Vec<(usize, f64)> = rows.map(cosine).enumerate().collect();
        // The sort is stable.
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        ranked.truncate(most);
        ranked
    }
}

fn product(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
}

fn length(vector: &[f32]) -> f64 {
    product(vector, vector).sqrt()
}

impl From<&Vectors> for Vec<Arc<[f32]>> {
    fn from(vectors: &Vectors) -> Self {
        vectors.rows().map(Arc::from).collect()
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vectors({} of {})", self.len(), self.dimensions)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_vectors_are_refused_with_a_reason() {
        let nan = STANDARD.encode(
            [1.0, 2.0, 3.0, f32::NAN]
                .iter()
                .flat_map(|n: &f32| n.to_le_bytes())
                .collect::<Vec<_>>(),
        );
        for (text, dimensions, reason) in [
            ("%", 1, "are not base64: "),
            ("AACAPw==", 0, "cannot have 0 numbers each"),
            ("AACAPw==", usize::MAX, "cannot have 18446744073709551615 numbers each"),
            ("AACAPw==", 2, "are 4 bytes, which is not a multiple of 2 numbers of 4 bytes"),
            (nan.as_str(), 2, "have a number that is not finite, in vector 1 at 1"),
        ] {
            let error = Vectors::from_base64(text, dimensions).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
        assert_eq!(Vectors::of(&[[1.0].into(), [1.0, 2.0].into()]), None);
    }

    #[test]
    fn the_nearest_are_first_and_ties_are_in_order() {
        let rows: [Arc<[f32]>; 5] =
            [[0.0, 1.0], [2.0, 0.1], [0.0, 0.0], [0.0, 9.0], [-1.0, 0.0]].map(Arc::from);
        let vectors = Vectors::of(&rows).unwrap();
        let places = |most| {
            vectors.nearest(&[0.5, 0.5], most).iter().map(|found| found.0).collect::<Vec<_>>()
        };
        assert_eq!(places(9), [1, 0, 3, 2, 4]);
        assert_eq!(places(2), [1, 0]);
        let near = vectors.nearest(&[0.0, 3.0], 1);
        assert!(near[0].0 == 0 && (near[0].1 - 1.0).abs() < 1e-9, "{near:?}");
    }

    proptest! {
        #[test]
        fn vectors_survive_the_round_trip(
            (dimensions, numbers) in (1..9_usize, 1..9_usize).prop_flat_map(|(dimensions, rows)| {
                let number = prop::num::f32::NORMAL | prop::num::f32::ZERO;
                (Just(dimensions), prop::collection::vec(number, dimensions * rows))
            }),
        ) {
            let rows: Vec<Arc<[f32]>> = numbers.chunks(dimensions).map(Arc::from).collect();
            let vectors = Vectors::of(&rows).unwrap();
            let read = Vectors::from_base64(&vectors.to_base64(), dimensions).unwrap();
            prop_assert_eq!(&read, &vectors);
            prop_assert_eq!(Vec::from(&read), rows);
        }
    }
}
