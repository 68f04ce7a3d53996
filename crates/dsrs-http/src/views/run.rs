//! Runs: executed, read, listed, resumed, signalled.

use chrono::{DateTime, Utc};
use dsrs::graph::ResumeDecision;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::example_prompt;
use super::provenance::ProvenanceView;
use super::run_labels::RunLabelsView;
use super::time::{timestamp, timestamp_or_null};
use super::trace::TraceView;
use super::{Json, PageView, RawJson, RunFeedbackView, RunScoreView, UsageView, example};
use crate::protocol::problem_view::ProblemView;
use dsrs_app::ResumeOutcome;
use dsrs_app::json::JsonObject;
use dsrs_store::run::{RunRow, RunSummaryRow};
use dsrs_store::run_label::RunLabels;

/// The inputs and options of a run.
#[derive(ToSchema)]
pub struct ExecuteBody {
    /// The inputs of the graph.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// The graph version. Default: the newest.
    pub version: Option<i32>,
    /// The state version. Default: the active one.
    pub state_version: Option<i32>,
    /// Whether the answer includes the trace.
    pub trace: Option<bool>,
    /// The time limit of the run, if it is below the server's.
    pub timeout_ms: Option<u64>,
    /// Names of the caller's own, by which runs are found: at most 16, each of at most 64 characters.
    pub tags: Option<Vec<String>>,
    /// The session that the run belongs to, at most 200 characters.
    pub session_id: Option<String>,
    /// The user on whose behalf the caller runs it, at most 200 characters.
    pub user_id: Option<String>,
    /// At most 16 members with names of at most 64 characters: strings of at most 512 characters, numbers, booleans.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json>,
}

/// A run.
#[derive(Serialize, ToSchema)]
#[schema(as = Run, examples(json!(RunView::example())))]
pub struct RunView<'a> {
    /// The id of the run.
    pub id: Uuid,
    /// The same as `id`, in answers of `/execute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// `queued`, `running`, `waiting`, `succeeded`, `failed` or `cancelled`.
    pub status: &'static str,
    /// The inputs, with defaults.
    #[schema(value_type = Object)]
    pub inputs: RawJson<'a>,
    /// The outputs, if the run has succeeded.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<RawJson<'a>>,
    /// The reason why the run failed or was cancelled.
    pub error: Option<ProblemView<'a>>,
    /// Calls, tokens and cost.
    #[schema(value_type = UsageView)]
    pub usage: RawJson<'a>,
    /// The time when the run was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the run started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the run ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
    /// The time from start to end.
    pub duration_ms: Option<i64>,
    /// The outcome of each node, by name.
    #[schema(value_type = IndexMap<String, RunNode>)]
    pub nodes: RawJson<'a>,
    /// The calls of the run. `/execute` answers it only with `trace: true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TraceView>)]
    pub trace: Option<RawJson<'a>>,
    /// The origin of each output, with `include=provenance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProvenanceView>)]
    pub provenance: Option<RawJson<'a>>,
    /// The caller's own names.
    #[serde(flatten)]
    pub labels: RunLabelsView<'a>,
    /// The summary of the feedback on the run. Only `GET /v1/runs/{id}` answers it, and not of an archived run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<RunFeedbackView<'a>>,
    /// True if the run is in the archive, and no more in the database. Missing otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(value_type = Option<bool>)]
    pub archived: bool,
}

impl<'a> From<&'a RunRow> for RunView<'a> {
    fn from(run: &'a RunRow) -> Self {
        Self {
            id: run.id,
            run_id: None,
            graph: &run.graph_name,
            version: run.graph_version,
            state_version: run.state_version,
            status: run.status.as_str(),
            inputs: (&run.inputs).into(),
            outputs: run.outputs.as_ref().map(RawJson::from),
            error: run.error.as_deref().map(ProblemView::recorded),
            usage: (&run.usage).into(),
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            duration_ms: run.duration_ms,
            nodes: (&run.nodes).into(),
            trace: Some((&run.trace).into()),
            provenance: None,
            labels: (&run.labels).into(),
            feedback: None,
            archived: false,
        }
    }
}

impl<'a> RunView<'a> {
    /// A run as `/execute` answers it.
    pub(crate) fn executed(run: &'a RunRow, with_trace: bool) -> Self {
        let view = Self::from(run);
        Self { run_id: Some(run.id), trace: view.trace.filter(|_| with_trace), ..view }
    }
}

/// The JSON text of [`RunView::executed`]. Every execution writes it, and serde needs several times as long.
pub(crate) fn executed_text(run: &RunRow, with_trace: bool) -> String {
    if run.error.is_some() {
        return serde_json::to_string(&RunView::executed(run, with_trace)).unwrap_or_default();
    }
    let mut room = Uuid::encode_buffer();
    let id = &*run.id.hyphenated().encode_lower(&mut room);
    let created = dsrs_app::timestamp(run.created_at);
    let time = |time: Option<DateTime<Utc>>| match time {
        Some(time) if time == run.created_at => Some(created.clone()),
        time => time.map(dsrs_app::timestamp),
    };
    let mut object = JsonObject::with_capacity(512 + run.size());
    object.text("id", id).text("run_id", id).text("graph", &run.graph_name);
    object.shown("version", run.graph_version).shown("state_version", run.state_version);
    object.text("status", run.status.as_str()).raw("inputs", &run.inputs);
    object.raw_or_null("outputs", run.outputs.as_deref()).raw("error", "null");
    object.raw("usage", &run.usage).text("created_at", &created);
    object.text_or_null("started_at", time(run.started_at).as_deref());
    object.text_or_null("finished_at", time(run.finished_at).as_deref());
    object.shown_or_null("duration_ms", run.duration_ms).raw("nodes", &run.nodes);
    if with_trace {
        object.raw("trace", &run.trace);
    }
    let RunLabels { tags, session_id, user_id, metadata } = &run.labels;
    object.raw("tags", tags.as_deref().unwrap_or("[]"));
    object.text_or_null("session_id", session_id.as_deref());
    object.text_or_null("user_id", user_id.as_deref());
    object.raw("metadata", metadata.as_deref().unwrap_or("{}"));
    object.finish()
}

impl RunView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            run_id: None,
            graph: example::GRAPH,
            version: 1,
            state_version: 2,
            status: "succeeded",
            inputs: example::raw(&example::inputs()),
            outputs: Some(r#"{"answer":"It arrives tomorrow.","mood":"calm"}"#.into()),
            error: None,
            usage: example::raw(&UsageView::example()),
            created_at: example::time(0),
            started_at: Some(example::time(0)),
            finished_at: Some(example::time(2)),
            duration_ms: Some(2000),
            nodes: example::raw(&json!({
                "triage": RunNode::example(&example_prompt::outputs()),
                "reply": RunNode::example(&json!({"answer": "It arrives tomorrow."}))
            })),
            trace: Some(example::raw(&TraceView::example())),
            provenance: None,
            labels: RunLabelsView::example(),
            feedback: Some(RunFeedbackView::example()),
            archived: false,
        }
    }
}

/// The options of resuming a run.
#[derive(ToSchema)]
pub struct ResumeBody {
    /// The graph version. Default: that of the run.
    pub version: Option<i32>,
    /// The state version. Default: that of the run, or the active one of `version`.
    pub state_version: Option<i32>,
    /// The time limit of an attempt, if it is below the server's.
    pub timeout_ms: Option<u64>,
}

/// A value for a waiting node.
#[derive(ToSchema)]
pub struct SignalBody {
    /// The name of the node.
    pub node: String,
    /// The outputs of the node by name. For a node with one output, its value suffices. For an agent that waits, the
    /// answer to each of its `calls` by id: `{"result": …}` with any value, or `{"error": "…"}` with the reason.
    pub value: Json,
}

/// A resumed run.
#[derive(Serialize, ToSchema)]
#[schema(as = ResumedRun, examples(json!(ResumedRunView::example())))]
pub struct ResumedRunView<'a> {
    /// The run.
    #[serde(flatten)]
    pub run: RunView<'a>,
    /// Whether each node runs again, by name.
    pub resumed: IndexMap<&'a str, ResumedNodeView<'a>>,
}

impl<'a> From<&'a ResumeOutcome> for ResumedRunView<'a> {
    fn from(outcome: &'a ResumeOutcome) -> Self {
        let nodes = outcome.nodes.iter();
        let resumed = nodes.map(|(name, decision)| (&**name, decision.into())).collect();
        Self { run: (&outcome.run).into(), resumed }
    }
}

impl ResumedRunView<'static> {
    fn example() -> Self {
        let run = RunView {
            status: "queued",
            outputs: None,
            finished_at: None,
            duration_ms: None,
            nodes: example::raw(&json!({
                "triage": RunNode::example(&example_prompt::outputs()),
                "reply": {
                    "status": "pending",
                    "started_at": null,
                    "duration_ms": null,
                    "outputs": null,
                    "error": null
                }
            })),
            ..RunView::example()
        };
        let reply = ResumedNodeView { verdict: "again", reason: Some("it had not completed") };
        let triage = ResumedNodeView::from(&ResumeDecision::Reuse);
        Self { run, resumed: IndexMap::from([("triage", triage), ("reply", reply)]) }
    }
}

/// Whether a node of a resumed run runs again.
#[derive(Serialize, ToSchema)]
#[schema(as = ResumedNode)]
pub struct ResumedNodeView<'a> {
    /// `kept` or `again`.
    pub verdict: &'static str,
    /// The reason why the node runs again.
    pub reason: Option<&'a str>,
}

impl<'a> From<&'a ResumeDecision> for ResumedNodeView<'a> {
    fn from(decision: &'a ResumeDecision) -> Self {
        match decision {
            ResumeDecision::Reuse => Self { verdict: "kept", reason: None },
            ResumeDecision::Rerun(reason) => Self { verdict: "again", reason: Some(reason) },
        }
    }
}

/// The outcome of a node.
#[derive(ToSchema)]
pub struct RunNode {
    /// `pending`, `running`, `succeeded`, `failed`, `skipped`, `cancelled` or `waiting`.
    pub status: String,
    /// The time when the node started.
    pub started_at: Option<DateTime<Utc>>,
    /// The time from start to end.
    pub duration_ms: Option<i64>,
    /// The outputs, if the node has succeeded.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// The reason why the node failed.
    pub error: Option<NodeError>,
    /// The inputs of a node that waits or has waited for a signal.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// Of an agent that waits: how often it has waited in this run.
    pub pause: Option<u32>,
    /// Of an agent that waits: the calls of its tools that a client answers.
    pub calls: Option<Vec<RunCall>>,
    /// Of an agent that had waited before the run ended: what it continues from if the run is resumed.
    #[schema(value_type = Option<Object>)]
    pub continuation: Option<Json>,
}

/// A call of a tool that a client answers.
#[derive(ToSchema)]
pub struct RunCall {
    /// The id, by which the signal answers it.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments, which fit the schema of the tool.
    #[schema(value_type = Object)]
    pub arguments: Json,
}

impl RunNode {
    /// The stored outcome of a node that has succeeded.
    fn example(outputs: &Value) -> Value {
        json!({
            "status": "succeeded",
            "started_at": dsrs_app::timestamp(example::time(0)),
            "duration_ms": 1000,
            "outputs": outputs,
            "error": null
        })
    }
}

/// The reason why a node failed.
#[derive(ToSchema)]
pub struct NodeError {
    /// An explanation of the error for people.
    pub detail: String,
    /// A stable, machine-readable code.
    pub code: String,
    /// The predictor that failed.
    pub predictor: Option<String>,
}

/// An entry in the list of runs.
#[derive(Serialize, ToSchema)]
#[schema(as = RunItem, examples(json!(RunItemView::example())))]
pub struct RunItemView<'a> {
    /// The id of the run.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// The status.
    pub status: &'static str,
    /// The reason why the run failed or was cancelled.
    pub error: Option<ProblemView<'a>>,
    /// Calls, tokens and cost.
    #[schema(value_type = UsageView)]
    pub usage: RawJson<'a>,
    /// The time when the run was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the run started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the run ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
    /// The time from start to end.
    pub duration_ms: Option<i64>,
    /// The caller's own names.
    #[serde(flatten)]
    pub labels: RunLabelsView<'a>,
    /// The scores of the run by name.
    pub scores: Vec<RunScoreView<'a>>,
}

impl<'a> From<&'a RunSummaryRow> for RunItemView<'a> {
    fn from(run: &'a RunSummaryRow) -> Self {
        Self {
            id: run.id,
            graph: &run.graph_name,
            version: run.graph_version,
            state_version: run.state_version,
            status: run.status.as_str(),
            error: run.error.as_deref().map(ProblemView::recorded),
            usage: (&run.usage).into(),
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            duration_ms: run.duration_ms,
            labels: (&run.labels).into(),
            scores: Vec::new(),
        }
    }
}

impl RunItemView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            graph: example::GRAPH,
            version: 1,
            state_version: 2,
            status: "succeeded",
            error: None,
            usage: example::raw(&UsageView::example()),
            created_at: example::time(0),
            started_at: Some(example::time(0)),
            finished_at: Some(example::time(2)),
            duration_ms: Some(2000),
            labels: RunLabelsView::example(),
            scores: vec![RunScoreView::example()],
        }
    }
}

/// A page of runs, newest first.
pub type RunPage = PageView<RunItemView<'static>>;

/// The data of a `gap` event: the ids of the first and the last event that are no longer stored.
#[derive(Serialize)]
pub struct GapView {
    /// The first id.
    pub from: u64,
    /// The last id.
    pub to: u64,
}

/// A server-sent event of a run. `event` is one of `run.started`, `node.started`, `node.delta`
/// (`{node, predictor, span, field, text}`), `node.retry` (`{node, predictor, span, attempt, reason}`:
/// the deltas with this span are void), `node.completed` (`{node, outputs, usage, duration_ms}`),
/// `node.failed`, `run.waiting`, `run.completed`, `run.failed`, `run.cancelled` and `gap` (`{from, to}`:
/// events that are no longer stored). `id` increases by one within a run. A comment is sent at least
/// every 15 s.
#[derive(ToSchema)]
pub struct RunEvents {
    /// The id, a number.
    pub id: Option<String>,
    /// The kind.
    pub event: String,
    /// A JSON document without line breaks.
    pub data: String,
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use dsrs_store::run::{RunStatus, RunStorage};

    use super::*;

    fn run() -> RunRow {
        let start = DateTime::from_timestamp_micros(1_764_352_000_250_001).unwrap_or_default();
        RunRow {
            id: Uuid::from_u128(7),
            graph_id: Uuid::from_u128(8),
            graph_name: "desk".to_owned(),
            graph_version: 2,
            state_version: 13,
            status: RunStatus::Succeeded,
            created_at: start,
            started_at: Some(start + TimeDelta::microseconds(1)),
            finished_at: Some(start + TimeDelta::seconds(2)),
            duration_ms: Some(1999),
            inputs: r#"{"ticket":"late"}"#.to_owned(),
            outputs: Some(r#"{"answer":"soon"}"#.to_owned()),
            error: None,
            usage: r#"{"lm_calls":1}"#.to_owned(),
            nodes: "{}".to_owned(),
            trace: r#"{"spans":[]}"#.to_owned(),
            created_by: "anonymous".to_owned(),
            labels: RunLabels::default(),
            storage: RunStorage::default(),
        }
    }

    #[test]
    fn the_answer_of_an_execution_is_that_of_its_view() {
        let session_id = Some("a \"session\"".to_owned());
        let labels =
            RunLabels { session_id, tags: Some(r#"["t"]"#.to_owned()), ..RunLabels::default() };
        let error = Some(r#"{"code":"timeout","detail":"late","status":504}"#.to_owned());
        let runs = [
            run(),
            RunRow { labels, started_at: Some(run().created_at), ..run() },
            RunRow {
                status: RunStatus::Waiting,
                outputs: None,
                finished_at: None,
                duration_ms: None,
                ..run()
            },
            RunRow { status: RunStatus::Failed, outputs: None, error, ..run() },
        ];
        for run in runs {
            for with_trace in [false, true] {
                let view =
                    serde_json::to_string(&RunView::executed(&run, with_trace)).unwrap_or_default();
                assert_eq!(executed_text(&run, with_trace), view);
            }
        }
    }
}
