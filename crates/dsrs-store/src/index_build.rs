//! Builds of indexes: the status row of one, and what its worker writes. A segment is written once, in the transaction that
//! counts its passages, and only by the holder of the lease.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::error::violated_index;
use super::job::{self, JobEnd, JobRow, JobType, Lease};
use super::page::ListedRow;
use super::run::RunStatus;
use super::{Cursor, Db, Scope, StoreError};

/// The kind of the job.
pub const JOB: JobType = JobType::new("index_build", "index_builds");

/// A segment with fewer passages and words is made again by the next build, together with what is new: there are few of them.
const SMALL_SEGMENT: i32 = 1000;
const SMALL_SEGMENT_WORDS: i64 = 100_000;

/// A build of an index.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct IndexBuildRow {
    pub id: Uuid,
    pub index_id: Uuid,
    pub dataset_version: i32,
    /// The model behind the alias.
    pub embedder: Option<String>,
    /// Its status; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// The number of passages.
    pub total: i32,
    /// Those that are indexed.
    pub done: i32,
    /// Of these, those that an earlier build has indexed.
    pub reused: i32,
    /// The sum of their lengths in words.
    pub words: i64,
    /// Requests to the embedding model.
    pub requests: i64,
    /// Tokens of these requests.
    pub tokens: i64,
    pub cost: Option<f64>,
    /// The problem that it failed with.
    pub error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub created_by: String,
}

impl ListedRow for IndexBuildRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const SELECT: &str = "select id, index_id, dataset_version, embedder, status, total, done, reused, words, requests, tokens, \
     cost, error::text, created_at, started_at, finished_at, created_by from index_builds where workspace_id = ";

impl JobRow for IndexBuildRow {
    const JOB: JobType = JOB;

    fn select() -> String {
        SELECT.to_owned()
    }

    fn status(&self) -> RunStatus {
        self.status
    }
}

/// The builds of some indexes: the newest of each, and the one that answers.
pub async fn of_indexes(
    scope: &Scope,
    db: &Db,
    indexes: &[Uuid],
) -> Result<Vec<IndexBuildRow>, StoreError> {
    let sql = format!("{SELECT} $1 and index_id = any($2) order by created_at desc");
    let rows = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(indexes);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// Adds a queued build. [`StoreError::Superseded`] if another build of the index has not ended.
pub(super) async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    new: &IndexBuildRow,
) -> Result<(), StoreError> {
    let sql = "insert into index_builds (id, workspace_id, index_id, dataset_version, embedder, status, total, created_at,
                                         created_by)
               values ($1, $2, $3, $4, $5, 'queued', $6, $7, $8)";
    let inserted = sqlx::query(sql)
        .bind(new.id)
        .bind(scope.workspace)
        .bind(new.index_id)
        .bind(new.dataset_version)
        .bind(&new.embedder)
        .bind(new.total)
        .bind(new.created_at)
        .bind(&*scope.actor)
        .execute(connection)
        .await;
    match inserted {
        Err(error) if violated_index(&error) == Some("index_builds_active") => {
            Err(StoreError::Superseded(
                "the index has a build in progress: wait for its end, or cancel it",
            ))
        }
        other => Ok(other.map(drop)?),
    }
}

/// Removes the builds of an index that have ended and do not answer, with what they alone have.
pub(super) async fn remove_former(
    scope: &Scope,
    connection: &mut PgConnection,
    index: Uuid,
) -> Result<(), StoreError> {
    let sql = "delete from index_builds build where workspace_id = $1 and index_id = $2
               and status not in ('queued', 'running')
               and not exists (select from indexes where indexes.build_id = build.id)";
    sqlx::query(sql).bind(scope.workspace).bind(index).execute(&mut *connection).await?;
    remove_unused(scope, connection, index).await
}

/// Removes all builds of an index.
pub(super) async fn remove_all(
    scope: &Scope,
    connection: &mut PgConnection,
    index: Uuid,
) -> Result<(), StoreError> {
    let sql = "delete from index_builds where workspace_id = $1 and index_id = $2 returning id";
    let builds: Vec<Uuid> = sqlx::query_scalar(sql)
        .bind(scope.workspace)
        .bind(index)
        .fetch_all(&mut *connection)
        .await?;
    let jobs = "delete from jobs where workspace_id = $1 and id = any($2)";
    sqlx::query(jobs).bind(scope.workspace).bind(builds).execute(&mut *connection).await?;
    remove_unused(scope, connection, index).await
}

/// Removes the segments of an index that no build has.
async fn remove_unused(
    scope: &Scope,
    connection: &mut PgConnection,
    index: Uuid,
) -> Result<(), StoreError> {
    let sql = "delete from index_build_segments part using index_segments segment
               where segment.id = part.segment_id and segment.index_id = $2 and part.workspace_id = $1
               and not exists (select from index_builds where index_builds.id = part.build_id)";
    sqlx::query(sql).bind(scope.workspace).bind(index).execute(&mut *connection).await?;
    let sql = "delete from index_segments segment where workspace_id = $1 and index_id = $2
               and not exists (select from index_build_segments part where part.segment_id = segment.id)
               returning id";
    let unused: Vec<Uuid> = sqlx::query_scalar(sql)
        .bind(scope.workspace)
        .bind(index)
        .fetch_all(&mut *connection)
        .await?;
    // One segment at a time: a statement for all of a large index would exceed its time limit.
    for segment in unused {
        for table in ["index_passages", "index_terms"] {
            let sql = format!("delete from {table} where workspace_id = $1 and segment_id = $2");
            let removal = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(segment);
            removal.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// Gives a build the segments of an earlier build of its index (the one that answers, or else the newest) whose passages are
/// all in its version, and whose vectors have this length. Safe to repeat. False if the lease is lost.
pub async fn reuse(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    build: Uuid,
    dimension: i32,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = "insert into index_build_segments (build_id, segment_id, workspace_id)
         select new.id, segment.id, segment.workspace_id
         from index_builds new
         join indexes on indexes.id = new.index_id
         join index_builds former on former.embedder is not distinct from new.embedder
              and former.id = coalesce(indexes.build_id,
                  (select id from index_builds other where other.index_id = new.index_id and other.id <> new.id
                   order by created_at desc limit 1))
         join index_build_segments part on part.build_id = former.id
         join index_segments segment on segment.id = part.segment_id and segment.dimension = $4
              and (segment.passages >= $3 or segment.words >= $5)
         where new.id = $2 and new.workspace_id = $1 and not exists (
             select from index_passages passage
             left join dataset_examples example on example.dataset_id = indexes.dataset_id
                  and example.version = new.dataset_version and example.example_id = passage.example_id
                  and example.hash = passage.content
             where passage.segment_id = segment.id and example.example_id is null)
         on conflict do nothing";
    let reused = sqlx::query(sql).bind(scope.workspace).bind(build).bind(SMALL_SEGMENT);
    reused.bind(dimension).bind(SMALL_SEGMENT_WORDS).execute(&mut *tx).await?;
    let sql = "update index_builds set done = sums.passages, words = sums.words,
                      reused = case when done = 0 then sums.passages else reused end
               from (select coalesce(sum(passages), 0)::int as passages, coalesce(sum(words), 0)::bigint as words
                     from index_segments where id in (select segment_id from index_build_segments where build_id = $2)
                    ) sums
               where id = $2 and workspace_id = $1";
    sqlx::query(sql).bind(scope.workspace).bind(build).execute(&mut *tx).await?;
    if !job::progress(&mut tx, lease).await? {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

/// An example of the version of a build.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ExampleToIndex {
    /// Its position in the version.
    pub position: i32,
    pub example_id: String,
    /// The hash of its content.
    pub content: Vec<u8>,
    /// Its inputs, as JSON text; `None` if the build has indexed it.
    pub inputs: Option<String>,
    /// Its vector of another build of the index, if that has the same content.
    pub vector: Option<Vec<u8>>,
}

/// The size of a page of examples.
#[derive(Clone, Copy, Debug)]
pub struct IndexPageLimits {
    pub count: i64,
    /// The bytes of their texts; at least one example is read.
    pub bytes: i64,
}

/// The examples of a dataset version after a position, in order, for a build of an index whose vectors have this length.
pub async fn examples(
    scope: &Scope,
    db: &Db,
    (dataset, version): (Uuid, i32),
    build: &IndexBuildRow,
    dimension: i32,
    after: i32,
    limits: IndexPageLimits,
) -> Result<Vec<ExampleToIndex>, StoreError> {
    let sql = "with page as (
             select position, example_id, hash, size, sum(size) over (order by position) as upto
             from (select position, example_id, hash, size from dataset_examples
                   where dataset_id = $2 and version = $3 and workspace_id = $1 and position > $4
                   order by position limit $5) found),
         wanted as materialized (
             select page.*, exists (
                 select from index_build_segments part
                 join index_passages passage on passage.segment_id = part.segment_id
                      and passage.example_id = page.example_id
                 where part.build_id = $7) as is_indexed
             from page where upto - size < $6)
         select wanted.position, wanted.example_id, wanted.hash as content,
                case when not is_indexed then (select said.inputs::text from dataset_contents said
                     where said.dataset_id = $2 and said.hash = wanted.hash) end as inputs,
                case when not is_indexed and $9 > 0 then (
                    select substring(segment.vectors from passage.number * segment.dimension * 4 + 1
                                     for segment.dimension * 4)
                    from index_builds former
                    join index_build_segments part on part.build_id = former.id
                    join index_segments segment on segment.id = part.segment_id and segment.dimension = $9
                    join index_passages passage on passage.segment_id = part.segment_id
                         and passage.example_id = wanted.example_id and passage.content = wanted.hash
                    where former.index_id = $8 and former.id <> $7 and former.embedder is not distinct from $10
                    limit 1) end as vector
         from wanted order by position";
    let rows = sqlx::query_as(sql)
        .bind(scope.workspace)
        .bind(dataset)
        .bind(version)
        .bind(after)
        .bind(limits.count)
        .bind(limits.bytes)
        .bind(build.id)
        .bind(build.index_id)
        .bind(dimension)
        .bind(&build.embedder);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// Requests to an embedding model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmbeddingUsage {
    pub requests: i64,
    pub tokens: i64,
    pub cost: Option<f64>,
}

/// Counts what a build has spent, whether its passages are stored or not.
pub async fn count_usage(
    scope: &Scope,
    db: &Db,
    build: Uuid,
    spent: EmbeddingUsage,
) -> Result<(), StoreError> {
    let sql = "update index_builds set requests = requests + $3, tokens = tokens + $4,
                      cost = case when $5::float8 is null then cost else coalesce(cost, 0) + $5 end
               where id = $2 and workspace_id = $1";
    let counted = sqlx::query(sql).bind(scope.workspace).bind(build).bind(spent.requests);
    let counted = counted.bind(spent.tokens).bind(spent.cost);
    counted.execute(&mut *db.scoped(scope).await?).await?;
    Ok(())
}

/// Passages to index together.
#[derive(Clone, Debug, Default)]
pub struct NewSegment {
    pub example_ids: Vec<String>,
    /// The hashes of the examples.
    pub contents: Vec<Vec<u8>>,
    /// The texts, as JSON strings.
    pub texts: Vec<String>,
    /// The words of each text, with spaces between them.
    pub words: Vec<String>,
    /// The length of each vector; 0 without vectors.
    pub dimension: i32,
    pub vectors: Option<Vec<u8>>,
}

/// Adds a segment to a build. Safe to repeat with the same id. False, writing nothing, if the lease is lost.
pub async fn add_segment(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    build: &IndexBuildRow,
    language: &str,
    (id, new): (Uuid, &NewSegment),
) -> Result<bool, StoreError> {
    let count = i32::try_from(new.texts.len()).unwrap_or(i32::MAX);
    let mut tx = db.begin(scope).await?;
    let known =
        "select exists (select from index_build_segments where build_id = $1 and segment_id = $2)";
    if sqlx::query_scalar(known).bind(build.id).bind(id).fetch_one(&mut *tx).await? {
        return Ok(true);
    }
    let passages = "insert into index_passages (segment_id, number, workspace_id, example_id, content, text)
         select $1, new.number - 1, $2, new.example_id, new.content, new.text::json
         from unnest($3::text[], $4::bytea[], $5::text[]) with ordinality as new (example_id, content, text, number)";
    let passages = sqlx::query(passages).bind(id).bind(scope.workspace).bind(&new.example_ids);
    passages.bind(&new.contents).bind(&new.texts).execute(&mut *tx).await?;
    let terms = "with said as (
             select new.number::int - 1 as number, word.lexeme, cardinality(word.positions) as count
             from unnest($3::text[]) with ordinality as new (words, number),
                  unnest(to_tsvector($4::text::regconfig, new.words)) as word),
         measured as (select *, sum(count) over (partition by number)::int as length from said),
         added as (
             insert into index_terms (segment_id, term, workspace_id, passages, counts, lengths)
             select $1, lexeme, $2, array_agg(number order by number), array_agg(count order by number),
                    array_agg(length order by number)
             from measured group by lexeme)
         select coalesce(sum(count), 0)::bigint from said";
    let terms = sqlx::query_scalar(terms).bind(id).bind(scope.workspace).bind(&new.words);
    let words: i64 = terms.bind(language).fetch_one(&mut *tx).await?;
    let segment = "insert into index_segments (id, workspace_id, index_id, passages, words, dimension, vectors)
                   values ($1, $2, $3, $4, $5, $6, $7)";
    let segment = sqlx::query(segment).bind(id).bind(scope.workspace).bind(build.index_id);
    let segment = segment.bind(count).bind(words).bind(new.dimension).bind(&new.vectors);
    segment.execute(&mut *tx).await?;
    let part =
        "insert into index_build_segments (build_id, segment_id, workspace_id) values ($1, $2, $3)";
    sqlx::query(part).bind(build.id).bind(id).bind(scope.workspace).execute(&mut *tx).await?;
    let sums = "update index_builds set done = done + $3, words = words + $4 where id = $2 and workspace_id = $1";
    let sums = sqlx::query(sums).bind(scope.workspace).bind(build.id).bind(count).bind(words);
    sums.execute(&mut *tx).await?;
    // Last: the heartbeat of all jobs of the server waits for the holder of this row.
    if !job::progress(&mut tx, lease).await? {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

/// Ends a build. One that succeeded answers from now on, and what the build before it alone had is removed. False, writing
/// nothing, if the lease is lost.
pub async fn finish(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    end: JobEnd<'_>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    if !job::finish_within(&mut tx, JOB, lease, end).await? {
        return Ok(false);
    }
    if end.status == RunStatus::Succeeded {
        let sql = "update indexes set build_id = $2
                   where workspace_id = $1 and id = (select index_id from index_builds where index_builds.id = $2)
                   returning id";
        let index: Option<Uuid> = sqlx::query_scalar(sql)
            .bind(scope.workspace)
            .bind(lease.job)
            .fetch_optional(&mut *tx)
            .await?;
        if let Some(index) = index {
            remove_former(scope, &mut tx, index).await?;
        }
    }
    tx.commit().await?;
    Ok(true)
}
