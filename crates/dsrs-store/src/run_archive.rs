//! Archived runs: which files have them, and the rows that go to a file. May not know what a file is.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::stream::{Stream, TryStreamExt};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::retention::{Expiry, lock_old};
use super::run::RunRow;
use super::run_bodies::RunBodies;
use super::run_body::documents_size;
use super::run_storage::{self, COLUMNS};
use super::{Db, Scope, StoreError, feedback, run_label_index};

/// A file of archived runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its name below the URL of the archive.
    pub name: String,
    /// Its runs by their workspaces.
    pub shares: Vec<FileShare>,
    /// Its size.
    pub bytes: i64,
    /// When it was complete.
    pub created_at: DateTime<Utc>,
}

impl ArchivedFile {
    /// The number of its runs.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.shares.iter().map(|share| share.rows).sum()
    }
}

/// The runs of one workspace in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileShare {
    pub workspace: Uuid,
    /// The id of its first run.
    pub first_id: Uuid,
    /// The id of its last run.
    pub last_id: Uuid,
    /// Its runs.
    pub rows: i64,
}

/// A run, and whose it is.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct ArchivedRun {
    pub workspace_id: Uuid,
    #[sqlx(flatten)]
    pub run: RunRow,
}

/// Runs of a range of ids that ended before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRuns {
    /// The first id; `None` from the beginning.
    pub first: Option<Uuid>,
    /// The id behind the last one.
    pub end: Uuid,
    /// They ended before this time.
    pub before: DateTime<Utc>,
}

/// A page ends after so many runs, or with the run that exceeds so many bytes of documents.
const PAGE_RUNS: i64 = 64;
const PAGE_BYTES: usize = 8 << 20;

impl ArchivedRun {
    /// The bytes of its documents.
    fn bytes(&self) -> usize {
        let run = &self.run;
        let RunRow { inputs, outputs, error, usage, nodes, trace, .. } = run;
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        // Before its body is read, what that says.
        let body = run.storage.body.as_deref().and_then(|body| documents_size(body).ok());
        let body = body.unwrap_or(0);
        body + inputs.len()
            + optional(outputs)
            + optional(error)
            + usage.len()
            + nodes.len()
            + trace.len()
    }
}

/// Reads the documents of runs that have a body.
async fn complete(
    bodies: &RunBodies,
    connection: &mut PgConnection,
    page: Vec<ArchivedRun>,
) -> Result<Vec<ArchivedRun>, StoreError> {
    let (workspaces, runs): (Vec<Uuid>, Vec<RunRow>) =
        page.into_iter().map(|archived| (archived.workspace_id, archived.run)).unzip();
    let runs = run_storage::complete(bodies, connection, runs).await?;
    let page = workspaces.into_iter().zip(runs);
    Ok(page.map(|(workspace_id, run)| ArchivedRun { workspace_id, run }).collect())
}

/// Reads runs up to the end of a page. What follows is not held in memory.
async fn read_page(
    mut rows: impl Stream<Item = sqlx::Result<ArchivedRun>> + Unpin,
) -> Result<Vec<ArchivedRun>, StoreError> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(run) = rows.try_next().await?
    {
        bytes += run.bytes();
        page.push(run);
    }
    Ok(page)
}

impl EndedRuns {
    /// The next runs in the order of their ids: those after an id.
    pub async fn page(&self, db: &Db, after: Option<Uuid>) -> Result<Vec<ArchivedRun>, StoreError> {
        // The bounds are parameters, so that the planner leaves out partitions.
        let sql = format!(
            "select workspace_id, {COLUMNS} from runs
             where id >= $1 and id < $2 and id > $3 and finished_at < $4 order by id limit $5"
        );
        let page = sqlx::query_as(AssertSqlSafe(sql)).bind(self.first.unwrap_or(Uuid::nil()));
        let page = page.bind(self.end).bind(after.unwrap_or(Uuid::nil())).bind(self.before);
        let mut connection = db.all_workspaces().await?;
        let page = read_page(page.bind(PAGE_RUNS).fetch(&mut *connection)).await?;
        complete(&db.bodies, &mut connection, page).await
    }

    /// How many there are.
    pub(super) async fn count(&self, connection: &mut PgConnection) -> Result<i64, StoreError> {
        let count = sqlx::query_scalar(
            "select count(*) from runs where id >= $1 and id < $2 and finished_at < $3",
        );
        let count = count.bind(self.first.unwrap_or(Uuid::nil())).bind(self.end).bind(self.before);
        Ok(count.fetch_one(connection).await?)
    }
}

/// Old runs of a workspace, locked until they are removed.
pub struct OldRuns {
    tx: Transaction<'static, Postgres>,
    ids: Vec<Uuid>,
    bodies: Arc<RunBodies>,
}

impl OldRuns {
    /// Locks the oldest, `most` at most. Others may lock the ones behind them meanwhile.
    pub async fn lock(
        scope: &Scope,
        db: &Db,
        expiry: Expiry,
        most: i64,
    ) -> Result<Self, StoreError> {
        let mut tx = db.begin(scope).await?;
        let ids = lock_old(scope, &mut tx, expiry, most).await?;
        Ok(Self { tx, ids, bodies: db.bodies.clone() })
    }

    /// The id of the first one.
    #[must_use]
    pub fn first(&self) -> Option<Uuid> {
        self.ids.first().copied()
    }

    /// The next of them in the order of their ids: those after an id.
    pub async fn page(&mut self, after: Option<Uuid>) -> Result<Vec<ArchivedRun>, StoreError> {
        let ids = after.map_or(0, |after| self.ids.partition_point(|id| *id <= after));
        let ids = self.ids.iter().skip(ids).take(PAGE_RUNS.unsigned_abs() as usize);
        let sql =
            format!("select workspace_id, {COLUMNS} from runs where id = any($1) order by id");
        let page = sqlx::query_as(AssertSqlSafe(sql)).bind(ids.copied().collect::<Vec<_>>());
        let page = read_page(page.fetch(&mut *self.tx)).await?;
        complete(&self.bodies, &mut self.tx, page).await
    }

    /// Removes those up to an id, and lists the file that has them now. Returns how many there were.
    pub async fn remove(
        mut self,
        last: Option<Uuid>,
        file: &ArchivedFile,
    ) -> Result<u64, StoreError> {
        self.ids.retain(|id| Some(*id) <= last);
        feedback::remove_with_runs(&mut self.tx, &self.ids).await?;
        let removed = sqlx::query("delete from runs where id = any($1)").bind(&self.ids);
        let removed = removed.execute(&mut *self.tx).await?.rows_affected();
        run_label_index::remove(&mut self.tx, &self.ids).await?;
        add(&mut self.tx, std::slice::from_ref(file)).await?;
        self.tx.commit().await?;
        Ok(removed)
    }
}

/// Lists files, within the transaction that removes their runs.
pub(super) async fn add(
    connection: &mut PgConnection,
    files: &[ArchivedFile],
) -> Result<(), StoreError> {
    for file in files {
        let shares = || file.shares.iter();
        let added = sqlx::query(
            "insert into run_archives (name, workspace_id, first_id, last_id, rows, bytes, created_at)
             select $1, workspace, first, last, rows, $6, $7
             from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int8[]) as new (workspace, first, last, rows)",
        );
        let added = added.bind(&file.name);
        let added = added.bind(shares().map(|share| share.workspace).collect::<Vec<_>>());
        let added = added.bind(shares().map(|share| share.first_id).collect::<Vec<_>>());
        let added = added.bind(shares().map(|share| share.last_id).collect::<Vec<_>>());
        let added = added.bind(shares().map(|share| share.rows).collect::<Vec<_>>());
        let added = added.bind(file.bytes).bind(file.created_at);
        added.execute(&mut *connection).await?;
    }
    Ok(())
}

/// The names of the files that may have a run of a workspace, the newest first.
pub async fn files_with(scope: &Scope, db: &Db, run: Uuid) -> Result<Vec<String>, StoreError> {
    let found = sqlx::query_scalar(
        "select name from run_archives
         where workspace_id = $2 and last_id >= $1 and first_id <= $1
         order by created_at desc",
    );
    let found = found.bind(run).bind(scope.workspace);
    Ok(found.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// Whether a file is listed.
pub async fn is_listed(db: &Db, name: &str) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar("select exists (select from run_archives where name = $1)");
    Ok(found.bind(name).fetch_one(&mut *db.all_workspaces().await?).await?)
}
