//! Runs: the record, and lists. Writing them is `run_recorder`, and `background_run` for those
//! in the background.

use std::fmt;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::feedback_filter::FeedbackFilter;
use super::graph_ref::GraphRef;
use super::id_time::{before_rows_since, behind_rows_until};
use super::page::ListedRow;
use super::run_bodies::RunBodies;
use super::run_label::{RunLabel, RunLabels, push_first_label, push_labels};
use super::run_progress::RunGraph;
pub use super::run_storage::RunStorage;
use super::run_storage::{COLUMNS, StoredUsage, complete};
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// Not started.
    Queued,
    /// In progress.
    Running,
    /// Parked until a value comes.
    Waiting,
    /// Ended with outputs.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Stopped from outside.
    Cancelled,
}

impl RunStatus {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a run that stands so has come to its end.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// The status of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for RunStatus {
    type Error = StoreError;

    fn try_from(word: String) -> Result<Self, StoreError> {
        Self::parse(&word).ok_or_else(|| StoreError::internal(format!("unknown status {word:?}")))
    }
}

/// A run, as it is recorded and read back. Documents are JSON text and keep every byte.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct RunRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    /// The graph version that ran.
    pub graph_version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// How it ended.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When its first node could start.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
    /// What it was given.
    pub inputs: String,
    /// What came out.
    pub outputs: Option<String>,
    /// The problem it ended with.
    pub error: Option<String>,
    /// Calls, tokens and cost.
    pub usage: String,
    /// Each node's outcome.
    pub nodes: String,
    /// Every span.
    pub trace: String,
    /// On whose behalf; written from the scope.
    pub created_by: String,
    /// The caller's own names.
    #[sqlx(flatten)]
    pub labels: RunLabels,
    /// How its documents are stored.
    #[sqlx(flatten)]
    pub storage: RunStorage,
}

impl ListedRow for RunRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

impl RunRow {
    /// Its graph.
    #[must_use]
    pub fn graph(&self) -> RunGraph {
        RunGraph { id: self.graph_id, name: self.graph_name.clone() }
    }

    /// The row without its documents, except the error.
    pub(super) fn without_documents(&self) -> Self {
        Self {
            graph_name: self.graph_name.clone(),
            error: self.error.clone(),
            created_by: self.created_by.clone(),
            labels: self.labels.clone(),
            inputs: String::new(),
            outputs: None,
            usage: String::new(),
            nodes: String::new(),
            trace: String::new(),
            storage: RunStorage::default(),
            ..*self
        }
    }

    /// Roughly how much memory its documents take.
    pub fn size(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let documents = [&self.inputs, &self.usage, &self.nodes, &self.trace];
        documents.into_iter().map(String::len).sum::<usize>()
            + optional(&self.outputs)
            + optional(&self.error)
            + self.labels.size()
            + size_of::<Self>()
    }
}

/// One line of a list of runs: no documents but the small ones.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct RunSummaryRow {
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    /// The graph version that ran.
    pub graph_version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// How it ended.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When its first node could start.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
    /// The problem it ended with.
    pub error: Option<String>,
    /// Calls, tokens and cost.
    pub usage: String,
    /// On whose behalf.
    pub created_by: String,
    /// The caller's own names.
    #[sqlx(flatten)]
    pub labels: RunLabels,
    /// How its usage is stored.
    #[sqlx(flatten)]
    pub stored_usage: StoredUsage,
}

impl ListedRow for RunSummaryRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

/// Which runs to list; what is absent does not narrow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFilter {
    /// Runs of this graph. A name takes in deleted graphs of that name, an id only the one.
    pub graph: Option<GraphRef>,
    /// Runs that stand so.
    pub status: Option<RunStatus>,
    /// Created at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Created before this time.
    pub until: Option<DateTime<Utc>>,
    /// Runs of this graph version.
    pub version: Option<i32>,
    /// Runs with this state version.
    pub state_version: Option<i32>,
    /// Runs whose problem contains this text, in any case.
    pub problem: Option<String>,
    /// Runs that have all these labels. The list is read in the order of the first one.
    pub labels: Vec<RunLabel>,
    /// Runs that took at least so many milliseconds.
    pub min_duration: Option<i64>,
    /// Runs that took at most so many milliseconds.
    pub max_duration: Option<i64>,
    /// Runs with such feedback.
    pub feedback: Option<FeedbackFilter>,
}

/// The inputs and outputs of a run. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunValues {
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    pub status: RunStatus,
    /// What it was given.
    pub inputs: String,
    /// What came out.
    pub outputs: Option<String>,
}

/// The inputs and outputs of these runs, in any order, without those that do not exist.
pub(super) async fn run_values(
    scope: &Scope,
    bodies: &RunBodies,
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<RunValues>, StoreError> {
    let sql = format!("select {COLUMNS} from runs where workspace_id = $1 and id = any($2)");
    let rows = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(ids);
    let rows = rows.fetch_all(&mut *connection).await?;
    let run_values = complete(bodies, connection, rows).await?.into_iter().map(|row| RunValues {
        id: row.id,
        graph_id: row.graph_id,
        graph_name: row.graph_name,
        status: row.status,
        inputs: row.inputs,
        outputs: row.outputs,
    });
    Ok(run_values.collect())
}

/// One page of runs, newest first; of the replica if there is one.
pub async fn list(
    scope: &Scope,
    db: &Db,
    filter: &RunFilter,
    list: ListQuery,
) -> Result<Page<RunSummaryRow>, StoreError> {
    if let Some(mut replica) = db.replica_scoped(scope).await {
        match list_on(scope, &mut replica, filter, list).await {
            Err(error) => db.give_up_replica(&error),
            page => return page,
        }
    }
    list_on(scope, &mut *db.scoped(scope).await?, filter, list).await
}

async fn list_on(
    scope: &Scope,
    connection: &mut PgConnection,
    filter: &RunFilter,
    list: ListQuery,
) -> Result<Page<RunSummaryRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select runs.id, graph_id, graph_name, graph_version, state_version, status, runs.created_at, \
         started_at, finished_at, duration_ms, error::text, usage::text, created_by, tags::text, session_id, \
         user_id, metadata::text, counts, total_cost ",
    );
    let times = push_rows(&mut sql, scope, filter, list.after);
    push_filter(&mut sql, scope, filter);
    push_times(&mut sql, times, filter, list.after);
    let mut page: Page<RunSummaryRow> = list.newest_first(connection, sql, times).await?;
    for run in &mut page.items {
        run.usage = run.stored_usage.take_text()?.unwrap_or_else(|| std::mem::take(&mut run.usage));
    }
    Ok(page)
}

/// Pushes the rows of a list, with an open `where` clause. Returns the table whose index orders them by time: that of
/// the feedback, if the list is narrowed by it, or else that of the first label.
fn push_rows(
    sql: &mut QueryBuilder<Postgres>,
    scope: &Scope,
    filter: &RunFilter,
    after: Option<Cursor>,
) -> &'static str {
    let (labels, table) = match (&filter.feedback, filter.labels.split_first()) {
        (Some(feedback), _) => {
            feedback.push_source(sql, scope, filter.graph.as_ref(), after);
            (filter.labels.as_slice(), "feedback.")
        }
        (None, None) => {
            sql.push("from runs");
            (&[][..], "runs.")
        }
        (None, Some((first, others))) => {
            push_first_label(sql, scope, first);
            (others, "label.")
        }
    };
    sql.push(" where runs.workspace_id = ").push_bind(scope.workspace);
    push_labels(sql, scope, labels);
    table
}

/// Each filter is written so that an index of `runs` begins with it.
fn push_filter(sql: &mut QueryBuilder<Postgres>, scope: &Scope, filter: &RunFilter) {
    match &filter.graph {
        Some(graph @ GraphRef::Name(_)) => {
            sql.push(" and graph_name = ").push_bind(graph.name().map(str::to_owned));
        }
        // a graph keeps its name for life, so its id narrows by the name's index
        Some(GraphRef::Id(id)) => {
            sql.push(" and graph_id = ").push_bind(*id);
            sql.push(" and graph_name = (select name from graphs where id = ").push_bind(*id);
            sql.push(" and workspace_id = ").push_bind(scope.workspace).push(")");
        }
        None => {}
    }
    if let Some(status) = filter.status {
        sql.push(" and status = ").push_bind(status.as_str());
        if status != RunStatus::Succeeded {
            // the partial index is only used where its condition is spelled out
            sql.push(" and status <> 'succeeded'");
        }
    }
    if let Some(version) = filter.version {
        sql.push(" and graph_version = ").push_bind(version);
    }
    if let Some(version) = filter.state_version {
        sql.push(" and state_version = ").push_bind(version);
    }
    if let Some(text) = &filter.problem {
        // As the condition of the partial index `runs_problems`.
        sql.push(" and error is not null and strpos(lower(error::text), lower(");
        sql.push_bind(json_content(text)).push(")) > 0");
    }
    if let Some(least) = filter.min_duration {
        sql.push(" and duration_ms >= ").push_bind(least);
    }
    if let Some(most) = filter.max_duration {
        sql.push(" and duration_ms <= ").push_bind(most);
    }
}

/// The times, and the ids that they allow, so that the planner leaves out partitions.
fn push_times(
    sql: &mut QueryBuilder<Postgres>,
    table: &'static str,
    filter: &RunFilter,
    after: Option<Cursor>,
) {
    if let Some(since) = filter.since {
        sql.push(" and ").push(table).push("created_at >= ").push_bind(since);
        sql.push(" and ").push(table).push("id >= ").push_bind(before_rows_since(since));
        sql.push(" and runs.id >= ").push_bind(before_rows_since(since));
    }
    if let Some(until) = filter.until {
        sql.push(" and ").push(table).push("created_at < ").push_bind(until);
    }
    let newest = filter.until.into_iter().chain(after.map(|last| last.created_at)).min();
    if let Some(newest) = newest {
        sql.push(" and ").push(table).push("id <= ").push_bind(behind_rows_until(newest));
        sql.push(" and runs.id <= ").push_bind(behind_rows_until(newest));
    }
}

/// A text as JSON has it between quotes: documents are searched as they are stored.
fn json_content(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::RunStatus;

    #[test]
    fn every_status_reads_back_from_its_word() {
        for status in RunStatus::ALL {
            assert_eq!(RunStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(RunStatus::parse("Succeeded"), None);
    }
}
