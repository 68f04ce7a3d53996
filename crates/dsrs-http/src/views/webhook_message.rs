//! The messages of webhooks in the OpenAPI document: what `data` of each event has. The store writes them as JSON, within
//! the statements of what they report; a test compares every message that it receives. Knows no route.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use super::{UsageView, example};
use crate::protocol::openapi_webhooks::WebhookMessage;
use dsrs_api::webhook::WebhookEvent;
use dsrs_app::TEST_EVENT;

/// A run that has ended, without its contents.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct RunMessageData {
    /// The id of the run.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: String,
    /// The id of the graph.
    pub graph_id: Uuid,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// The code of the problem; null if there is none.
    #[schema(required)]
    pub error_code: Option<String>,
    /// Calls, tokens and cost.
    pub usage: UsageView,
    /// The time when the run was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The time when the run started; null if it did not start.
    #[schema(format = DateTime, required)]
    pub started_at: Option<String>,
    /// The time when the run ended.
    #[schema(format = DateTime)]
    pub finished_at: String,
    /// The duration of the run, in milliseconds; null if it did not start.
    #[schema(minimum = 0, required)]
    pub duration_ms: Option<i64>,
}

/// An evaluation that has ended.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct EvaluationMessageData {
    /// The id of the evaluation.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: String,
    /// The id of the graph.
    pub graph_id: Uuid,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// The code of the problem; null if there is none.
    #[schema(required)]
    pub error_code: Option<String>,
    /// The mean score; null if no example has one.
    #[schema(required)]
    pub score: Option<f64>,
    /// The number of examples.
    #[schema(minimum = 0)]
    pub total: i32,
    /// Of these, how many have ended.
    #[schema(minimum = 0)]
    pub done: i32,
    /// Of these, how many failed.
    #[schema(minimum = 0)]
    pub failed: i32,
    /// Of these, how many have no score.
    #[schema(minimum = 0)]
    pub unmeasured: i32,
    /// Calls, tokens and cost of the runs.
    pub usage: UsageView,
    /// Calls, tokens and cost of the metric.
    pub judging_usage: UsageView,
    /// The time when the evaluation was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The time when the evaluation started; null if it did not start.
    #[schema(format = DateTime, required)]
    pub started_at: Option<String>,
    /// The time when the evaluation ended.
    #[schema(format = DateTime)]
    pub finished_at: String,
}

/// An optimization that has ended.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct OptimizationMessageData {
    /// The id of the optimization.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: String,
    /// The id of the graph.
    pub graph_id: Uuid,
    /// The graph version.
    pub version: i32,
    /// The state version.
    pub state_version: i32,
    /// `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// The code of the problem; null if there is none.
    #[schema(required)]
    pub error_code: Option<String>,
    /// The name of the optimizer.
    pub optimizer: String,
    /// Calls, tokens and cost.
    pub usage: UsageView,
    /// The time when the optimization was created.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The time when the optimization started; null if it did not start.
    #[schema(format = DateTime, required)]
    pub started_at: Option<String>,
    /// The time when the optimization ended.
    #[schema(format = DateTime)]
    pub finished_at: String,
}

/// A score of a run that is below the threshold of the webhook.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct ScoreMessageData {
    /// The id of the run.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: String,
    /// The id of the graph.
    pub graph_id: Uuid,
    /// The name of the score.
    pub metric: String,
    /// The score.
    pub score: f64,
    /// The threshold.
    pub below: f64,
}

/// The webhook that a client tests.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct TestMessageData {
    /// The id of the webhook.
    pub webhook: Uuid,
}

/// Adds the schemas of `data`.
pub(super) fn complete(schemas: &mut Map<String, Value>) {
    add::<RunMessageData>(schemas);
    add::<EvaluationMessageData>(schemas);
    add::<OptimizationMessageData>(schemas);
    add::<ScoreMessageData>(schemas);
    add::<TestMessageData>(schemas);
}

fn add<S: ToSchema>(schemas: &mut Map<String, Value>) {
    let schema: RefOr<Schema> = S::schema();
    schemas.insert(S::name().into_owned(), serde_json::to_value(schema).unwrap_or_default());
}

/// The message of every event, and that of a test.
pub(crate) fn webhook_messages() -> Vec<WebhookMessage> {
    let mut messages: Vec<WebhookMessage> = WebhookEvent::ALL.into_iter().map(message).collect();
    messages.push(WebhookMessage {
        event: TEST_EVENT,
        summary: "A test of the webhook",
        data: TestMessageData::name().into_owned(),
        example: json!({"webhook": example::ID}),
    });
    messages
}

fn message(event: WebhookEvent) -> WebhookMessage {
    let (summary, data, example) = match event {
        WebhookEvent::RunFinished => {
            ("A run has ended", RunMessageData::name(), run("succeeded", None))
        }
        WebhookEvent::RunFailed => {
            ("A run has failed", RunMessageData::name(), run("failed", Some("timeout")))
        }
        WebhookEvent::EvaluationFinished => {
            ("An evaluation has ended", EvaluationMessageData::name(), evaluation())
        }
        WebhookEvent::OptimizationFinished => {
            ("An optimization has ended", OptimizationMessageData::name(), optimization())
        }
        WebhookEvent::ScoreBelow => {
            ("A score of a run is below the threshold", ScoreMessageData::name(), score())
        }
    };
    WebhookMessage { event: event.as_str(), summary, data: data.into_owned(), example }
}

/// The members of every job that has ended.
fn ended(status: &str, error_code: Option<&str>) -> Value {
    json!({
        "id": example::ID, "graph": example::GRAPH, "graph_id": example::ID, "version": 3,
        "state_version": 5, "status": status, "error_code": error_code,
        "usage": UsageView::example(), "created_at": "2025-09-04T15:32:20.250000Z",
        "started_at": "2025-09-04T15:32:20.250412Z", "finished_at": "2025-09-04T15:33:20.250000Z",
    })
}

fn run(status: &str, error_code: Option<&str>) -> Value {
    let mut example = ended(status, error_code);
    example["duration_ms"] = json!(60_000);
    example
}

fn evaluation() -> Value {
    let mut example = ended("succeeded", None);
    let numbers = [("total", 20), ("done", 20), ("failed", 1), ("unmeasured", 0)];
    for (member, number) in numbers {
        example[member] = json!(number);
    }
    example["score"] = json!(0.85);
    example["judging_usage"] = json!(UsageView::default());
    example
}

fn optimization() -> Value {
    let mut example = ended("succeeded", None);
    example["optimizer"] = json!("labeled_few_shot");
    example
}

fn score() -> Value {
    json!({
        "id": example::ID, "graph": example::GRAPH, "graph_id": example::ID,
        "metric": "helpful", "score": 0.25, "below": 0.5,
    })
}
