//! Labels: the names that a caller gives to runs. They are columns of a run, and rows of `run_labels` by which runs
//! are found, together with the codes of errors. May not know which labels are valid.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::run::RunRow;
use super::{Scope, StoreError};

/// The labels of a run. Documents are JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromRow)]
pub struct RunLabels {
    /// A list of texts.
    pub tags: Option<String>,
    /// The session that the run belongs to.
    pub session_id: Option<String>,
    /// The user of the caller.
    pub user_id: Option<String>,
    /// Texts, numbers and truth values by name.
    pub metadata: Option<String>,
}

/// One label by which runs are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunLabel {
    name: String,
    value: String,
}

impl RunLabel {
    /// A tag.
    #[must_use]
    pub fn tag(value: impl Into<String>) -> Self {
        Self { name: "tag".to_owned(), value: value.into() }
    }

    /// A session.
    #[must_use]
    pub fn session(value: impl Into<String>) -> Self {
        Self { name: "session_id".to_owned(), value: value.into() }
    }

    /// A user.
    #[must_use]
    pub fn user(value: impl Into<String>) -> Self {
        Self { name: "user_id".to_owned(), value: value.into() }
    }

    /// A member of the metadata, whose value is the text of a JSON value without quotes.
    #[must_use]
    pub fn metadata(name: &str, value: impl Into<String>) -> Self {
        Self { name: format!("metadata.{name}"), value: value.into() }
    }

    /// The code of an error of a run or of one of its nodes.
    #[must_use]
    pub fn error_code(value: impl Into<String>) -> Self {
        Self { name: "error_code".to_owned(), value: value.into() }
    }
}

impl RunLabels {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self { tags: None, session_id: None, user_id: None, metadata: None })
    }

    /// The tags, one by one.
    #[must_use]
    pub fn tags(&self) -> Vec<String> {
        self.tags.as_deref().and_then(|tags| serde_json::from_str(tags).ok()).unwrap_or_default()
    }

    /// The bytes of their texts.
    pub(super) fn size(&self) -> usize {
        let texts = [&self.tags, &self.session_id, &self.user_id, &self.metadata];
        texts.into_iter().flatten().map(String::len).sum()
    }

    fn add_to(&self, labels: &mut BTreeSet<RunLabel>) {
        labels.extend(self.tags().into_iter().map(RunLabel::tag));
        labels.extend(self.session_id.iter().map(RunLabel::session));
        labels.extend(self.user_id.iter().map(RunLabel::user));
        let metadata = self.metadata.as_deref().map(serde_json::from_str::<serde_json::Value>);
        if let Some(Ok(serde_json::Value::Object(members))) = metadata {
            labels.extend(members.iter().map(|(name, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                RunLabel::metadata(name, text)
            }));
        }
    }
}

/// An outcome of a node, or a problem, as far as it matters here.
#[derive(Deserialize)]
struct Coded {
    code: Option<String>,
}

#[derive(Deserialize)]
struct NodeWithError {
    error: Option<Coded>,
}

/// The codes of the errors of a run and of its nodes.
fn error_codes(run: &RunRow, labels: &mut BTreeSet<RunLabel>) {
    let error = run.error.as_deref().and_then(|error| serde_json::from_str::<Coded>(error).ok());
    labels.extend(error.and_then(|error| error.code).map(RunLabel::error_code));
    // Most runs have no node with an error, so that their nodes are not read.
    if !run.nodes.contains(r#""error":{"#) {
        return;
    }
    let nodes = serde_json::from_str::<std::collections::BTreeMap<&str, &RawValue>>(&run.nodes);
    for node in nodes.unwrap_or_default().values() {
        let node = serde_json::from_str::<NodeWithError>(node.get());
        let code = node.ok().and_then(|node| node.error).and_then(|error| error.code);
        labels.extend(code.map(RunLabel::error_code));
    }
}

/// The labels of many runs as one array per column.
#[derive(Default)]
struct LabelColumns {
    run: Vec<Uuid>,
    workspace: Vec<Uuid>,
    name: Vec<String>,
    value: Vec<String>,
    created_at: Vec<DateTime<Utc>>,
}

impl LabelColumns {
    fn push(&mut self, workspace: Uuid, run: &RunRow, labels: BTreeSet<RunLabel>) {
        for RunLabel { name, value } in labels {
            self.run.push(run.id);
            self.workspace.push(workspace);
            self.name.push(name);
            self.value.push(value);
            self.created_at.push(run.created_at);
        }
    }
}

/// Adds the labels of runs that are stored for the first time. Does nothing if there are none. Safe to repeat.
pub(super) async fn add<'r>(
    connection: &mut PgConnection,
    runs: impl Iterator<Item = (&'r Scope, &'r RunRow)>,
) -> Result<(), StoreError> {
    let mut columns = LabelColumns::default();
    for (scope, run) in runs {
        let mut labels = BTreeSet::new();
        run.labels.add_to(&mut labels);
        error_codes(run, &mut labels);
        columns.push(scope.workspace, run, labels);
    }
    insert(connection, columns).await
}

/// Adds the codes of errors of runs that end.
pub(super) async fn add_error_codes<'r>(
    connection: &mut PgConnection,
    runs: impl Iterator<Item = (&'r Scope, &'r RunRow)>,
) -> Result<(), StoreError> {
    let mut columns = LabelColumns::default();
    for (scope, run) in runs {
        let mut labels = BTreeSet::new();
        error_codes(run, &mut labels);
        columns.push(scope.workspace, run, labels);
    }
    insert(connection, columns).await
}

async fn insert(connection: &mut PgConnection, columns: LabelColumns) -> Result<(), StoreError> {
    if columns.run.is_empty() {
        return Ok(());
    }
    let added = sqlx::query(
        "insert into run_labels (run_id, workspace_id, name, value, created_at)
         select run_id, workspace_id, name, value, created_at
         from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[])
              as new (run_id, workspace_id, name, value, created_at)
         order by run_id, name, value on conflict do nothing",
    );
    let added = added.bind(columns.run).bind(columns.workspace).bind(columns.name);
    added.bind(columns.value).bind(columns.created_at).execute(connection).await?;
    Ok(())
}

/// Removes the codes of errors of a run that continues.
pub(super) async fn remove_error_codes(
    connection: &mut PgConnection,
    run: Uuid,
) -> Result<(), StoreError> {
    let removed = sqlx::query("delete from run_labels where run_id = $1 and name = 'error_code'");
    removed.bind(run).execute(connection).await?;
    Ok(())
}

/// Removes the labels of runs that are removed.
pub(super) async fn remove(connection: &mut PgConnection, runs: &[Uuid]) -> Result<(), StoreError> {
    let removed = sqlx::query("delete from run_labels where run_id = any($1)");
    removed.bind(runs).execute(connection).await?;
    Ok(())
}

/// Reads the runs with a label instead of all runs: an index has them in the order of time, as `label.created_at` and
/// `label.id`.
pub(super) fn push_first_label(
    sql: &mut QueryBuilder<Postgres>,
    scope: &Scope,
    RunLabel { name, value }: &RunLabel,
) {
    sql.push("from (select run_id as id, created_at from run_labels where workspace_id = ");
    sql.push_bind(scope.workspace).push(" and name = ").push_bind(name.clone());
    sql.push(" and value = ").push_bind(value.clone());
    sql.push(") label join runs on runs.id = label.id");
}

/// Narrows an open `where` clause about `runs` to those that have all these labels.
pub(super) fn push_labels(sql: &mut QueryBuilder<Postgres>, scope: &Scope, labels: &[RunLabel]) {
    for RunLabel { name, value } in labels {
        sql.push(" and exists (select from run_labels other where other.run_id = runs.id");
        sql.push(" and other.workspace_id = ").push_bind(scope.workspace);
        sql.push(" and other.name = ").push_bind(name.clone());
        sql.push(" and other.value = ").push_bind(value.clone()).push(")");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(labels: &RunLabels) -> Vec<RunLabel> {
        let mut found = BTreeSet::new();
        labels.add_to(&mut found);
        found.into_iter().collect()
    }

    #[test]
    fn every_label_is_found_by_its_text() {
        let labels = RunLabels {
            tags: Some(r#"["b","a \"quoted\"","b"]"#.to_owned()),
            session_id: Some("s".to_owned()),
            user_id: Some("u".to_owned()),
            metadata: Some(r#"{"text":"1","number":1.5,"flag":true}"#.to_owned()),
        };
        let expected = [
            RunLabel::metadata("flag", "true"),
            RunLabel::metadata("number", "1.5"),
            RunLabel::metadata("text", "1"),
            RunLabel::session("s"),
            RunLabel::tag("a \"quoted\""),
            RunLabel::tag("b"),
            RunLabel::user("u"),
        ];
        assert_eq!(labels_of(&labels), expected);
        assert_eq!(labels_of(&RunLabels::default()), []);
        assert!(RunLabels::default().is_empty() && !labels.is_empty());
    }
}
