//! Webhooks: the settings that clients give them.

use facet::Facet;
use serde::Serialize;

use crate::plain_name::PLAIN_NAME;
use crate::web_address::WEB_ADDRESS;
use dsrs::document::word_of;

/// The settings of a webhook.
#[derive(Clone, Debug, PartialEq, Facet)]
pub struct WebhookSettings {
    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`; no other webhook of the workspace has it.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: String,
    /// The URL to which messages are sent: an `http` or `https` URL that the server's `webhooks.allow` lists.
    #[facet(dsrs::text(&WEB_ADDRESS))]
    pub url: String,
    /// A text for people. Default: empty.
    #[facet(default, dsrs::length(0, 500))]
    pub description: String,
    /// The events that the webhook reports.
    #[facet(dsrs::distinct("event"))]
    pub events: Vec<WebhookEvent>,
    /// The name or id of a graph, whose events alone are reported. Null: those of every graph.
    pub graph: Option<String>,
    /// The threshold of `score.below`, which needs it. Null: none.
    pub score: Option<ScoreThreshold>,
    /// Whether the webhook reports anything. Default: `true`. `false` pauses it: no events are written for it, and its
    /// messages wait. `true` also enables a webhook that the server disabled.
    #[facet(default = true)]
    pub enabled: bool,
}

/// An event that webhooks report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(dsrs::schema("WebhookEventName"))]
#[repr(u8)]
pub enum WebhookEvent {
    /// A run has ended, with any status.
    #[facet(rename = "run.finished")]
    RunFinished,
    /// A run has failed.
    #[facet(rename = "run.failed")]
    RunFailed,
    /// An evaluation has ended, with any status.
    #[facet(rename = "evaluation.finished")]
    EvaluationFinished,
    /// An optimization has ended, with any status.
    #[facet(rename = "optimization.finished")]
    OptimizationFinished,
    /// A score of a run is below the threshold.
    #[facet(rename = "score.below")]
    ScoreBelow,
}

impl WebhookEvent {
    /// Every event.
    pub const ALL: [Self; 5] = [
        Self::RunFinished,
        Self::RunFailed,
        Self::EvaluationFinished,
        Self::OptimizationFinished,
        Self::ScoreBelow,
    ];

    /// The name of the event in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(&self)
    }
}

/// The threshold of `score.below`.
#[derive(Clone, Debug, PartialEq, Facet, Serialize)]
pub struct ScoreThreshold {
    /// The name of the score.
    #[facet(dsrs::length(1, 128))]
    pub metric: String,
    /// The threshold: a lower score is reported.
    pub below: f64,
}

/// The rotation of a secret.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("RotateSecretBody"))]
pub struct SecretRotation {
    /// The number of seconds that the previous secret signs messages, too. Default: 86400.
    #[facet(default = 86_400, dsrs::maximum(604_800))]
    pub overlap_s: u64,
}
