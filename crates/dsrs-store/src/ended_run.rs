//! Runs that have ended, many in one statement: their rows, and what follows from their end. Statements for webhooks,
//! online evaluations and budgets are sent only where there are some. Who is waiting for a run is not known here.

use std::collections::HashSet;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::error::violated_index;
use super::key_spending::SpendingSum;
use super::packed_run::{PackedForm, PackedRun};
use super::usage_count::{CountedRun, SumSign, UsageSums};
use super::usage_insertion::{self, BoundQuery, UsageColumns};
use super::{Scope, StoreError, online_sample, run_label_index, webhook_event};

/// Whether webhooks report the ends of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunReports {
    /// Webhooks report each run.
    Sent,
    /// The runs are parts of something whose end is reported.
    Omitted,
}

/// What there is in the workspaces of some runs. `$1` has the workspaces.
pub(super) const END_SUBSCRIBERS: &str = "
    exists (select from webhooks where enabled and workspace_id = any($1)) as has_webhooks,
    exists (select from online_evaluations where enabled and workspace_id = any($1)) as has_samples,
    exists (select from keys where workspace_id = any($1)
              and (tokens_per_day is not null or cost_per_day is not null)) as has_budgets";

/// The same for runs of the graphs in `$17`: what subscribes to other graphs costs these runs nothing.
const SUBSCRIBERS_OF_GRAPHS: &str = "
    exists (select from webhooks where enabled and workspace_id = any($1)
              and (graph_id is null or graph_id = any($17))) as has_webhooks,
    exists (select from online_evaluations where enabled and workspace_id = any($1)
              and graph_id = any($17)) as has_samples,
    exists (select from keys where workspace_id = any($1)
              and (tokens_per_day is not null or cost_per_day is not null)) as has_budgets";

#[derive(Clone, Copy, Debug, FromRow)]
pub(super) struct EndSubscribers {
    has_webhooks: bool,
    has_samples: bool,
    has_budgets: bool,
}

/// The columns that runs in this statement and at an end in the background have alike.
#[derive(Default)]
pub(super) struct EndColumns<'a> {
    pub(super) id: Vec<Uuid>,
    pub(super) status: Vec<&'a str>,
    pub(super) started_at: Vec<Option<DateTime<Utc>>>,
    pub(super) finished_at: Vec<Option<DateTime<Utc>>>,
    pub(super) duration_ms: Vec<Option<i64>>,
    pub(super) error: Vec<Option<&'a str>>,
    pub(super) cost: Vec<Option<f64>>,
    pub(super) counts: Vec<Option<&'a [u8]>>,
    pub(super) body: Vec<Option<&'a [u8]>>,
    pub(super) outputs: Vec<Option<&'a str>>,
    pub(super) usage: Vec<Option<&'a str>>,
    pub(super) nodes: Vec<Option<&'a str>>,
    pub(super) trace: Vec<Option<&'a str>>,
    pub(super) models: Vec<Option<&'a str>>,
}

impl<'a> EndColumns<'a> {
    pub(super) fn of(runs: &[&'a PackedRun]) -> Self {
        let mut columns = Self::default();
        for run in runs {
            columns.id.push(run.row.id);
            columns.status.push(run.row.status.as_str());
            columns.started_at.push(run.row.started_at);
            columns.finished_at.push(run.row.finished_at);
            columns.duration_ms.push(run.row.duration_ms);
            columns.error.push(run.row.error.as_deref());
            columns.push_form(run);
        }
        columns
    }

    /// Binds the columns, in the order of the statements.
    pub(super) fn bind<'q>(self, query: BoundQuery<'q>) -> BoundQuery<'q>
    where
        'a: 'q,
    {
        let query = query.bind(self.id).bind(self.status).bind(self.started_at);
        let query = query.bind(self.finished_at).bind(self.duration_ms).bind(self.error);
        let query = query.bind(self.cost).bind(self.counts).bind(self.body);
        let query = query.bind(self.outputs).bind(self.usage).bind(self.nodes);
        query.bind(self.trace).bind(self.models)
    }

    fn push_form(&mut self, run: &'a PackedRun) {
        let PackedForm { counts, body, json } = &run.form;
        self.cost.push(run.usage.whole.cost.filter(|_| counts.is_some()));
        self.counts.push(counts.as_deref());
        self.body.push(body.as_deref());
        self.outputs.push(json.outputs.as_deref());
        self.usage.push(json.usage.as_deref());
        self.nodes.push(json.nodes.as_deref());
        self.trace.push(json.trace.as_deref());
        self.models.push(json.models.as_deref());
    }
}

/// The parameters of the runs.
const PARAMETERS: usize = 26;

/// The statement that adds runs, and their usage unless some are there already. `end` is what follows the selection of the
/// runs.
fn addition(end: &str) -> String {
    let counted = usage_insertion::insertion(
        PARAMETERS,
        "where (select count(*) from added) = cardinality($2)",
    );
    format!(
        "with subscribers as materialized (select {SUBSCRIBERS_OF_GRAPHS}
     ), added as (
         insert into runs (workspace_id, id, status, started_at, finished_at, duration_ms, error, total_cost, counts,
                           body, outputs, usage, nodes, trace, model_usage, inputs, graph_id, graph_name,
                           graph_version, state_version, created_at, created_by, tags, session_id, user_id, metadata)
         select workspace_id, id, status, started_at, finished_at, duration_ms, error::json, cost, counts,
                body, outputs::json, coalesce(usage::json, '{{}}'), coalesce(nodes::json, '{{}}'),
                coalesce(trace::json, '{{\"spans\":[]}}'), models::json, coalesce(inputs::json, '{{}}'), graph_id,
                graph_name, graph_version, state_version, created_at, created_by, tags::json, session_id, user_id,
                metadata::json
         from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int8[],
                     $7::text[], $8::float8[], $9::bytea[], $10::bytea[], $11::text[], $12::text[], $13::text[],
                     $14::text[], $15::text[], $16::text[], $17::uuid[], $18::text[], $19::int4[], $20::int4[],
                     $21::timestamptz[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[])
              as run (workspace_id, id, status, started_at, finished_at, duration_ms, error, cost, counts,
                      body, outputs, usage, nodes, trace, models, inputs, graph_id, graph_name,
                      graph_version, state_version, created_at, created_by, tags, session_id, user_id, metadata)
         {end}
         returning id
     ), counted as ({counted})
     select array(select id from added) as added, subscribers.* from subscribers"
    )
}

static ADD: LazyLock<String> = LazyLock::new(|| addition("on conflict (id) do nothing"));

/// Adds nothing where more than this statement is to be written, and fails where a run is there already.
static ADD_ALONE: LazyLock<String> = LazyLock::new(|| {
    addition("where (select not (has_webhooks or has_samples or has_budgets) from subscribers)")
});

#[derive(FromRow)]
struct AddedRow {
    added: Vec<Uuid>,
    #[sqlx(flatten)]
    subscribers: EndSubscribers,
}

/// Inserts all runs or none, with what follows from their end, and returns what keys with a budget have spent. A run
/// that is there already is left alone: a commit whose answer was lost may be sent again.
pub(super) async fn add(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
    reports: RunReports,
) -> Result<Vec<SpendingSum>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let AddedRow { added, subscribers } = insert(connection, &ADD, runs).await?;
    if added.len() == runs.len() {
        return finish(connection, runs, subscribers, reports).await;
    }
    let mut added: HashSet<Uuid> = added.into_iter().collect();
    // A run that is there twice is added once.
    let new: Vec<&PackedRun> =
        runs.iter().copied().filter(|run| added.remove(&run.row.id)).collect();
    usage_insertion::add(connection, &sums(&new)).await?;
    finish(connection, &new, subscribers, reports).await
}

/// Inserts runs without labels by one statement, which is a transaction of its own: that spares the messages that begin and
/// commit one. False, writing nothing, if more follows from the end of a run than that, or if a run is there already.
pub(super) async fn add_alone(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
) -> Result<bool, StoreError> {
    match insert(connection, &ADD_ALONE, runs).await {
        Ok(AddedRow { added, .. }) => Ok(added.len() == runs.len()),
        Err(error) if violated_index(&error).is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn insert(
    connection: &mut PgConnection,
    statement: &'static str,
    runs: &[&PackedRun],
) -> Result<AddedRow, sqlx::Error> {
    let sums = sums(runs);
    let usage = UsageColumns::of(&sums);
    let workspaces: Vec<Uuid> = runs.iter().map(|run| run.workspace).collect();
    let graphs: Vec<Uuid> = runs.iter().map(|run| run.row.graph_id).collect();
    let names: Vec<&str> = runs.iter().map(|run| run.row.graph_name.as_str()).collect();
    let versions: Vec<i32> = runs.iter().map(|run| run.row.graph_version).collect();
    let states: Vec<i32> = runs.iter().map(|run| run.row.state_version).collect();
    let created: Vec<DateTime<Utc>> = runs.iter().map(|run| run.row.created_at).collect();
    let actors: Vec<&str> = runs.iter().map(|run| &*run.actor).collect();
    let texts = |text: fn(&PackedRun) -> Option<&str>| -> Vec<Option<&str>> {
        runs.iter().map(|run| text(run)).collect()
    };
    let query = EndColumns::of(runs).bind(sqlx::query(statement).bind(workspaces));
    let query = query
        .bind(texts(|run| run.form.json.inputs.as_deref()))
        .bind(graphs)
        .bind(names)
        .bind(versions)
        .bind(states)
        .bind(created)
        .bind(actors)
        .bind(texts(|run| run.row.labels.tags.as_deref()))
        .bind(texts(|run| run.row.labels.session_id.as_deref()))
        .bind(texts(|run| run.row.labels.user_id.as_deref()))
        .bind(texts(|run| run.row.labels.metadata.as_deref()));
    let row = usage.bind(query).fetch_one(connection).await?;
    AddedRow::from_row(&row)
}

fn sums<'r>(runs: &[&'r PackedRun]) -> UsageSums<'r> {
    let mut sums = UsageSums::default();
    for run in runs {
        let counted = run.counted();
        sums.add_run(&counted, &run.usage, SumSign::Plus);
        sums.add_usage(&counted, &run.usage, SumSign::Plus);
    }
    sums
}

/// Writes what follows from the end of runs whose rows are written, and returns what keys with a budget have spent.
async fn finish(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
    subscribers: EndSubscribers,
    reports: RunReports,
) -> Result<Vec<SpendingSum>, StoreError> {
    announce(connection, runs, subscribers, reports).await?;
    if !subscribers.has_budgets {
        return Ok(Vec::new());
    }
    Ok(runs.iter().map(|run| run.spending()).collect())
}

/// Writes labels, messages of webhooks and samples of runs whose rows are written.
pub(super) async fn announce(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
    subscribers: EndSubscribers,
    reports: RunReports,
) -> Result<(), StoreError> {
    run_label_index::add_ended(connection, runs).await?;
    if reports == RunReports::Omitted {
        return Ok(());
    }
    if subscribers.has_webhooks {
        webhook_event::runs_ended(connection, runs).await?;
    }
    if subscribers.has_samples {
        let ids: Vec<Uuid> = runs.iter().map(|run| run.row.id).collect();
        online_sample::choose(connection, &ids).await?;
    }
    Ok(())
}

impl EndSubscribers {
    /// Whether a key has a budget.
    pub(super) fn has_budgets(self) -> bool {
        self.has_budgets
    }
}

impl PackedRun {
    /// A run that is added, as usage counts it: for the caller.
    fn counted(&self) -> CountedRun<'_> {
        CountedRun::of(self.workspace, &self.actor, &self.row)
    }

    fn spending(&self) -> SpendingSum {
        let scope = Scope { workspace: self.workspace, actor: self.actor.clone() };
        SpendingSum::of_usage(&scope, &self.usage.whole)
    }
}
