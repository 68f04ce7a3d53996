//! The rows of `run_labels`, by which runs are found: a row for each label, and for each code of an error of a run or of
//! one of its nodes. May not know how lists read them.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use uuid::Uuid;

use super::packed_run::PackedRun;
use super::run::RunRow;
use super::run_label::RunLabel;
use super::{Scope, StoreError};

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
    let nodes = serde_json::from_str::<BTreeMap<&str, &RawValue>>(&run.nodes);
    for node in nodes.unwrap_or_default().values() {
        let node = serde_json::from_str::<NodeWithError>(node.get());
        let code = node.ok().and_then(|node| node.error).and_then(|error| error.code);
        labels.extend(code.map(RunLabel::error_code));
    }
}

/// The labels of many runs as one array per column.
#[derive(Default)]
struct LabelColumns<'r> {
    run: Vec<Uuid>,
    workspace: Vec<Uuid>,
    name: Vec<&'r str>,
    value: Vec<&'r str>,
    created_at: Vec<DateTime<Utc>>,
}

impl<'r> LabelColumns<'r> {
    fn push(&mut self, workspace: Uuid, run: &RunRow, labels: &'r BTreeSet<RunLabel>) {
        for RunLabel { name, value } in labels {
            self.run.push(run.id);
            self.workspace.push(workspace);
            self.name.push(name);
            self.value.push(value);
            self.created_at.push(run.created_at);
        }
    }
}

/// The labels of a run, and the codes of its errors.
pub(super) fn labels_of(run: &RunRow) -> BTreeSet<RunLabel> {
    let mut labels = BTreeSet::new();
    run.labels.add_to(&mut labels);
    error_codes(run, &mut labels);
    labels
}

/// Adds the labels of runs that have not ended. Does nothing if there are none. Safe to repeat.
pub(super) async fn add<'r>(
    connection: &mut PgConnection,
    runs: impl Iterator<Item = (&'r Scope, &'r RunRow)>,
) -> Result<(), StoreError> {
    let labels: Vec<_> = runs.map(|(scope, run)| (scope, run, labels_of(run))).collect();
    let mut columns = LabelColumns::default();
    labels.iter().for_each(|(scope, run, labels)| columns.push(scope.workspace, run, labels));
    insert(connection, columns).await
}

/// The same of runs that have ended.
pub(super) async fn add_ended(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
) -> Result<(), StoreError> {
    let mut columns = LabelColumns::default();
    runs.iter().for_each(|run| columns.push(run.workspace, &run.row, &run.found_by));
    insert(connection, columns).await
}

async fn insert(
    connection: &mut PgConnection,
    columns: LabelColumns<'_>,
) -> Result<(), StoreError> {
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
