//! Searches in an index: passages by their words (BM25), vectors of segments, passages by their places. Compares no vectors.

use sqlx::FromRow;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// How much a repeated word adds, and how much the length of a passage takes away: the usual values of BM25 (Robertson and
/// Zaragoza, "The Probabilistic Relevance Framework", 2009).
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// The most words of a query that are compared.
const MOST_WORDS: i64 = 64;

/// The occurrences of words in passages from which on no more common word is compared.
const MOST_POSTINGS: i64 = 300_000;

/// The place of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromRow)]
pub struct PassagePlace {
    pub segment_id: Uuid,
    /// Its number in the segment.
    pub number: i32,
}

/// A passage with its place.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PassageRow {
    #[sqlx(flatten)]
    pub place: PassagePlace,
    /// Its text, as a JSON string.
    pub text: String,
}

/// A passage that fits a query.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct RankedPassage {
    #[sqlx(flatten)]
    pub place: PassagePlace,
    pub example_id: String,
    pub score: f64,
}

/// The passages with words of a query: at most `count`, the best first, those of one score in the order of their ids.
/// `words` has the words of the query with spaces between them. Of a long query, the rarest words are compared.
pub async fn by_words(
    scope: &Scope,
    db: &Db,
    build: Uuid,
    language: &str,
    words: &str,
    count: i64,
) -> Result<Vec<RankedPassage>, StoreError> {
    let sql = "with asked as (
             select lexeme as term from unnest(to_tsvector($4::text::regconfig, $3)) order by positions[1] limit $8),
         size as (select done as passages, words::float8 / greatest(done, 1) as length from index_builds where id = $2),
         said as (
             select term.segment_id, term.term, term.passages, term.counts, term.lengths
             from index_build_segments part
             join index_terms term on term.segment_id = part.segment_id and term.term = any(array(select term from asked))
             where part.build_id = $2 and part.workspace_id = $1),
         counted as (select term, sum(cardinality(passages)) as count from said group by term),
         rare as (
             select term, count from (
                 select term, count, sum(count) over (order by count, term) as upto from counted) summed
             where upto - count < $9),
         weighed as (
             select term, ln(1 + (size.passages - count + 0.5) / (count + 0.5))::float8 as weight from rare, size),
         best as (
             select said.segment_id, passage.number,
                    round(1e6 * sum(weighed.weight * passage.count * ($5 + 1)
                          / (passage.count + $5 * (1 - $6 + $6 * passage.length / size.length)))) / 1e6 as score
             from said
             join weighed using (term)
             cross join size
             cross join lateral unnest(said.passages, said.counts, said.lengths) as passage (number, count, length)
             group by said.segment_id, passage.number
             order by score desc
             fetch first $7 rows with ties)
         select best.segment_id, best.number, passage.example_id, best.score
         from best
         join index_passages passage on passage.segment_id = best.segment_id and passage.number = best.number
         order by best.score desc, passage.example_id limit $7";
    let rows = sqlx::query_as(sql).bind(scope.workspace).bind(build).bind(words).bind(language);
    let rows = rows.bind(SATURATION).bind(LENGTH_WEIGHT).bind(count).bind(MOST_WORDS);
    Ok(rows.bind(MOST_POSTINGS).fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// The ids of passages, in any order.
pub async fn ids(
    scope: &Scope,
    db: &Db,
    places: &[PassagePlace],
) -> Result<Vec<(Uuid, i32, String)>, StoreError> {
    let (segments, numbers): (Vec<Uuid>, Vec<i32>) =
        places.iter().map(|place| (place.segment_id, place.number)).unzip();
    let sql = "select passage.segment_id, passage.number, passage.example_id
               from unnest($2::uuid[], $3::int[]) as wanted (segment_id, number)
               join index_passages passage
                    on passage.segment_id = wanted.segment_id and passage.number = wanted.number
               where passage.workspace_id = $1";
    let rows = sqlx::query_as(sql).bind(scope.workspace).bind(segments).bind(numbers);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// A segment with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct VectorSegment {
    pub id: Uuid,
    /// The length of each vector.
    pub dimension: i32,
}

/// The segments of a build that have vectors.
pub async fn vector_segments(
    scope: &Scope,
    db: &Db,
    build: Uuid,
) -> Result<Vec<VectorSegment>, StoreError> {
    let sql = "select segment.id, segment.dimension from index_build_segments part
               join index_segments segment on segment.id = part.segment_id
               where part.build_id = $2 and part.workspace_id = $1 and segment.dimension > 0 order by segment.id";
    let rows = sqlx::query_as(sql).bind(scope.workspace).bind(build);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// The vectors of a segment; empty if it is gone.
pub async fn vectors(scope: &Scope, db: &Db, segment: Uuid) -> Result<Vec<u8>, StoreError> {
    let sql = "select vectors from index_segments where workspace_id = $1 and id = $2";
    let found = sqlx::query_scalar::<_, Option<Vec<u8>>>(sql).bind(scope.workspace).bind(segment);
    let found = found.fetch_optional(&mut *db.scoped(scope).await?).await?;
    Ok(found.flatten().unwrap_or_default())
}

/// Passages by their places, in any order.
pub async fn passages(
    scope: &Scope,
    db: &Db,
    places: &[PassagePlace],
) -> Result<Vec<PassageRow>, StoreError> {
    let (segments, numbers): (Vec<Uuid>, Vec<i32>) =
        places.iter().map(|place| (place.segment_id, place.number)).unzip();
    let sql = "select passage.segment_id, passage.number, passage.text::text
               from unnest($2::uuid[], $3::int[]) as wanted (segment_id, number)
               join index_passages passage
                    on passage.segment_id = wanted.segment_id and passage.number = wanted.number
               where passage.workspace_id = $1";
    let rows = sqlx::query_as(sql).bind(scope.workspace).bind(segments).bind(numbers);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}
