//! Webhooks and the log of their messages.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::{DocumentPatch, NewDocument, SchemaPart};
use super::time::{timestamp, timestamp_or_null};
use super::{PageView, RawJson, example};
use dsrs_api::webhook::{ScoreThreshold, SecretRotation, WebhookEvent, WebhookSettings};
use dsrs_app::WebhookSecret;
use dsrs_store::webhook::WebhookRow;
use dsrs_store::webhook_delivery::DeliveryRow;

/// A webhook to be created.
pub type WebhookBody = NewDocument<WebhookSettings>;

/// A change of a webhook. What is absent stays as it is.
pub type WebhookPatch = DocumentPatch<WebhookSettings>;

/// An event that webhooks report.
pub type WebhookEventName = SchemaPart<WebhookEvent>;

/// The threshold of `score.below`.
type ScoreThresholdPart = SchemaPart<ScoreThreshold>;

/// The rotation of a secret.
pub type RotateSecretBody = SchemaPart<SecretRotation>;

/// A webhook, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook, examples(json!(WebhookView::example())))]
pub struct WebhookView<'a> {
    /// The id of the webhook.
    pub id: Uuid,
    /// The name.
    pub name: &'a str,
    /// The URL to which messages are sent.
    pub url: &'a str,
    /// A text for people.
    pub description: &'a str,
    /// The events that it reports.
    #[schema(value_type = Vec<WebhookEventName>)]
    pub events: &'a [String],
    /// The name of the graph whose events it reports; null: every graph.
    pub graph: Option<&'a str>,
    /// The id of that graph.
    pub graph_id: Option<Uuid>,
    /// The threshold of `score.below`.
    #[schema(value_type = Option<ScoreThresholdPart>)]
    pub score: Option<ScoreThreshold>,
    /// Whether it reports anything.
    pub enabled: bool,
    /// The reason why the server disabled the webhook: `failing` (every attempt failed for too long) or `gone` (the
    /// receiver answered 410); null if it did not.
    pub disabled_because: Option<&'a str>,
    /// Since when every attempt has failed; null if the newest one succeeded.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub failing_since: Option<DateTime<Utc>>,
    /// The time until which the previous secret signs messages, too; null if it does not.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// The time when the webhook was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when a client last changed the webhook.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
    /// The actor that created the webhook.
    pub created_by: &'a str,
}

impl<'a> From<&'a WebhookRow> for WebhookView<'a> {
    fn from(row: &'a WebhookRow) -> Self {
        let settings = &row.settings;
        let score = settings.score_metric.clone().zip(settings.score_below);
        Self {
            id: row.id,
            name: &settings.name,
            url: &settings.url,
            description: &settings.description,
            events: &settings.events,
            graph: settings.graph_name.as_deref(),
            graph_id: settings.graph_id,
            score: score.map(|(metric, below)| ScoreThreshold { metric, below }),
            enabled: settings.enabled,
            disabled_because: row.disabled_because.as_deref(),
            failing_since: row.failing_since,
            previous_secret_until: row.previous_secret_until,
            created_at: row.created_at,
            updated_at: row.updated_at,
            created_by: &row.created_by,
        }
    }
}

impl WebhookView<'static> {
    fn example() -> serde_json::Value {
        serde_json::json!({
            "id": example::ID,
            "name": "on-call",
            "url": "https://hooks.example.com/dsrs",
            "description": "",
            "events": ["run.failed", "evaluation.finished"],
            "graph": example::GRAPH,
            "graph_id": example::ID,
            "score": null,
            "enabled": true,
            "disabled_because": null,
            "failing_since": null,
            "previous_secret_until": null,
            "created_at": "2025-09-04T15:33:20.250Z",
            "updated_at": "2025-09-04T15:33:20.250Z",
            "created_by": example::CLIENT,
        })
    }
}

/// A page of webhooks, newest first.
pub type WebhookPage = PageView<WebhookView<'static>>;

/// A webhook with a new secret.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookWithSecret, examples(json!(WebhookSecretView::example())))]
pub struct WebhookSecretView<'a> {
    /// The secret, which signs messages. It is shown only in this answer.
    pub secret: &'a str,
    /// The webhook.
    #[serde(flatten)]
    pub webhook: WebhookView<'a>,
}

impl<'a> From<&'a WebhookSecret> for WebhookSecretView<'a> {
    fn from(found: &'a WebhookSecret) -> Self {
        Self { secret: &found.secret, webhook: WebhookView::from(&found.row) }
    }
}

impl WebhookSecretView<'static> {
    fn example() -> serde_json::Value {
        let mut example = WebhookView::example();
        example["secret"] = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD".into();
        example
    }
}

/// A message for a webhook, with its newest attempts.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery, examples(json!(DeliveryView::example())))]
pub struct DeliveryView<'a> {
    /// The id of the event: `webhook-id` of the message.
    pub id: Uuid,
    /// The webhook.
    pub webhook_id: Uuid,
    /// The event: `type` of the message.
    pub event: &'a str,
    /// `data` of the message.
    #[schema(value_type = Object)]
    pub data: RawJson<'a>,
    /// `pending`, `succeeded` or `failed`.
    pub status: &'a str,
    /// The number of attempts since it was written or replayed.
    pub attempts: i32,
    /// The newest attempts, the oldest first; at most 20.
    #[schema(value_type = Vec<DeliveryAttemptView>)]
    pub log: Vec<RawJson<'a>>,
    /// The number of times that the message was replayed.
    pub replays: i32,
    /// The time when the next attempt begins; null if there is none. An attempt in progress has until then.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// The time when the event happened: `timestamp` of the message.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the message was delivered or given up; null if it is pending.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub finished_at: Option<DateTime<Utc>>,
}

/// An attempt at a message.
#[derive(ToSchema)]
#[schema(as = DeliveryAttempt)]
#[allow(dead_code, reason = "describes a document that is stored as text")]
pub struct DeliveryAttemptView {
    /// The time when the attempt began.
    #[schema(format = DateTime)]
    pub at: String,
    /// The duration of the attempt, in milliseconds.
    #[schema(minimum = 0)]
    pub duration_ms: u64,
    /// The status of the response; null if there was none.
    #[schema(required)]
    pub status_code: Option<u16>,
    /// The reason why the attempt failed; null if it succeeded.
    #[schema(required)]
    pub error: Option<String>,
    /// The first 256 characters of the response, if it failed.
    #[schema(required)]
    pub response: Option<String>,
}

impl<'a> From<&'a DeliveryRow> for DeliveryView<'a> {
    fn from(row: &'a DeliveryRow) -> Self {
        Self {
            id: row.id,
            webhook_id: row.webhook_id,
            event: &row.event,
            data: row.data.as_str().into(),
            status: &row.status,
            attempts: row.attempts,
            log: row.log.iter().map(|entry| entry.as_str().into()).collect(),
            replays: row.replays,
            next_attempt_at: row.next_attempt_at,
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

impl DeliveryView<'static> {
    fn example() -> serde_json::Value {
        let attempt = serde_json::json!({
            "at": "2025-09-04T15:33:21.000Z", "duration_ms": 42, "status_code": 503,
            "error": "the status is not 2xx", "response": "try later",
        });
        serde_json::json!({
            "id": example::ID,
            "webhook_id": example::ID,
            "event": "run.failed",
            "data": {"id": example::ID, "graph": example::GRAPH, "status": "failed", "error_code": "timeout"},
            "status": "pending",
            "attempts": 1,
            "log": [attempt],
            "replays": 0,
            "next_attempt_at": "2025-09-04T15:33:26.250Z",
            "created_at": "2025-09-04T15:33:20.250Z",
            "finished_at": null,
        })
    }
}

/// A page of messages, newest first.
pub type DeliveryPage = PageView<DeliveryView<'static>>;
