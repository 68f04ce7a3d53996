//! Webhooks: created, changed, deleted; their messages listed and replayed. `delivery` sends messages. The text of a
//! secret exists only in the answers to its creation and rotation. May not know HTTP.

mod backoff;
pub(crate) mod delivery;
mod secret;

use std::time::Duration;

use chrono::TimeDelta;
use dsrs::problem::{At, Code, Problems};
use url::Url;
use uuid::Uuid;

use crate::clock::now;
use crate::json::JsonObject;
use crate::key::PlainName;
use crate::precondition::Precondition;
use crate::{App, AppError, Invalid};
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::webhook::{self, MOST_WEBHOOKS, WebhookRow, WebhookSettings};
use dsrs_store::webhook_delivery::{self, DeliveryRow};
use dsrs_store::{ListQuery, Page, Scope, StoreError};
use secret::new_secret;

/// The event of a test message.
pub const TEST_EVENT: &str = "webhook.test";

/// How often a change is tried again if another one was made at the same time.
const TRIES: usize = 5;

/// An event that webhooks report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookEvent {
    /// A run has ended.
    RunFinished,
    RunFailed,
    /// An evaluation has ended.
    EvaluationFinished,
    /// An optimization has ended.
    OptimizationFinished,
    /// A score of a run is below a threshold.
    ScoreBelow,
}

impl WebhookEvent {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::RunFinished,
        Self::RunFailed,
        Self::EvaluationFinished,
        Self::OptimizationFinished,
        Self::ScoreBelow,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunFinished => "run.finished",
            Self::RunFailed => "run.failed",
            Self::EvaluationFinished => "evaluation.finished",
            Self::OptimizationFinished => "optimization.finished",
            Self::ScoreBelow => "score.below",
        }
    }
}

/// The threshold of `score.below`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreThreshold {
    /// The name of the score.
    pub metric: String,
    /// A lower score is reported.
    pub below: f64,
}

/// What a request sets of a webhook; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub name: Option<PlainName>,
    /// The destination.
    pub url: Option<Url>,
    /// The text for people.
    pub description: Option<String>,
    pub events: Option<Vec<WebhookEvent>>,
    /// The graph; the inner `None`: every graph.
    pub graph: Option<Option<GraphRef>>,
    /// The threshold; the inner `None`: none.
    pub score: Option<Option<ScoreThreshold>>,
    /// Whether it reports anything.
    pub enabled: Option<bool>,
    /// The problems found so far.
    pub faults: Problems,
}

/// A webhook with a new secret, which is shown once.
pub struct WebhookSecret {
    pub row: WebhookRow,
    pub secret: String,
}

impl App {
    pub async fn webhook_create(
        &self,
        scope: &Scope,
        new: WebhookChange,
    ) -> Result<WebhookSecret, AppError> {
        let empty = WebhookSettings {
            name: String::new(),
            url: String::new(),
            description: String::new(),
            events: Vec::new(),
            graph_id: None,
            graph_name: None,
            score_metric: None,
            score_below: None,
            enabled: true,
        };
        let settings = self.webhook_changed(scope, empty, &new).await?;
        let secret = new_secret()?;
        let created =
            webhook::create(scope, &self.db, Uuid::now_v7(), &settings, &secret, now()).await?;
        match created {
            Some(row) => Ok(WebhookSecret { row, secret }),
            None => {
                let detail =
                    format!("the workspace has {MOST_WEBHOOKS} webhooks, the most; delete one");
                let mut problems = Problems::new();
                problems.add(&At::Root, Code::TooLarge, detail);
                Err(AppError::invalid(Invalid::Request, problems))
            }
        }
    }

    /// The settings with a change, checked.
    async fn webhook_changed(
        &self,
        scope: &Scope,
        settings: WebhookSettings,
        change: &WebhookChange,
    ) -> Result<WebhookSettings, AppError> {
        let mut changed = settings;
        let (root, mut problems) = (At::Root, change.faults.clone());
        if let Some(name) = &change.name {
            changed.name = name.as_str().to_owned();
        }
        if let Some(url) = &change.url {
            if let Err(refused) = self.webhook_client.admit(url) {
                problems.add(&root.key("url"), Code::InvalidValue, refused);
            }
            changed.url = url.to_string();
        }
        if let Some(description) = &change.description {
            changed.description.clone_from(description);
        }
        if let Some(events) = &change.events {
            changed.events = events.iter().map(|event| event.as_str().to_owned()).collect();
        }
        if let Some(graph) = &change.graph {
            let found = self.webhook_graph(scope, graph.as_ref(), &mut problems).await?;
            (changed.graph_id, changed.graph_name) = found.unzip();
        }
        if let Some(score) = &change.score {
            let score = score.clone();
            (changed.score_metric, changed.score_below) =
                score.map(|score| (score.metric, score.below)).unzip();
        }
        changed.enabled = change.enabled.unwrap_or(changed.enabled);
        check_score(&changed, &mut problems);
        match problems.is_empty() {
            true => Ok(changed),
            false => Err(AppError::invalid(Invalid::Request, problems)),
        }
    }

    /// The graph of a filter: its id and its name.
    async fn webhook_graph(
        &self,
        scope: &Scope,
        graph: Option<&GraphRef>,
        problems: &mut Problems,
    ) -> Result<Option<(Uuid, String)>, AppError> {
        let Some(graph) = graph else { return Ok(None) };
        match graph::pin(scope, &self.db, graph, VersionSelection::default()).await {
            Ok(found) => Ok(Some((found.id, found.name))),
            Err(StoreError::NotFound { what, name }) => {
                let detail = format!("there is no {what} `{name}`");
                problems.add(&At::Root.key("graph"), Code::InvalidValue, detail);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// One page of the webhooks of the workspace, newest first.
    pub async fn webhook_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<WebhookRow>, AppError> {
        Ok(webhook::list(scope, &self.db, list).await?)
    }

    pub async fn webhook_get(&self, scope: &Scope, id: Uuid) -> Result<WebhookRow, AppError> {
        Ok(webhook::get(scope, &self.db, id).await?)
    }

    /// Changes a webhook. What the request does not name stays as it is, also if another request changes it at the
    /// same time.
    pub async fn webhook_change(
        &self,
        scope: &Scope,
        id: Uuid,
        change: WebhookChange,
        precondition: &Precondition,
    ) -> Result<WebhookRow, AppError> {
        for _ in 0..TRIES {
            let seen = webhook::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            let settings = self.webhook_changed(scope, seen.settings.clone(), &change).await?;
            if let Some(row) = webhook::update(scope, &self.db, &seen, &settings, now()).await? {
                self.deliveries_due.notify_one();
                return Ok(row);
            }
        }
        Err(busy())
    }

    pub async fn webhook_delete(
        &self,
        scope: &Scope,
        id: Uuid,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        loop {
            let seen = webhook::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            if webhook::delete(scope, &self.db, (id, seen.revision), now()).await? {
                return Ok(());
            }
        }
    }

    /// Replaces the secret of a webhook. The one before signs, too, for a time.
    pub async fn webhook_rotate(
        &self,
        scope: &Scope,
        id: Uuid,
        overlap: Duration,
        precondition: &Precondition,
    ) -> Result<WebhookSecret, AppError> {
        let overlap = TimeDelta::from_std(overlap).unwrap_or_default();
        let until = self.db.now().await? + overlap;
        let secret = new_secret()?;
        for _ in 0..TRIES {
            let seen = webhook::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            let named = (*precondition != Precondition::Any).then_some(seen.revision);
            let seen = (id, named);
            if let Some(row) =
                webhook::rotate_secret(scope, &self.db, seen, &secret, until, now()).await?
            {
                return Ok(WebhookSecret { row, secret });
            }
        }
        Err(busy())
    }

    /// Sends a webhook a message that reports nothing.
    pub async fn webhook_test(&self, scope: &Scope, id: Uuid) -> Result<DeliveryRow, AppError> {
        let mut data = JsonObject::new();
        data.text("webhook", &id.to_string());
        let row = webhook_delivery::add(scope, &self.db, id, TEST_EVENT, &data.finish()).await?;
        self.deliveries_due.notify_one();
        Ok(row)
    }

    /// One page of the messages of a webhook, newest first.
    pub async fn delivery_list(
        &self,
        scope: &Scope,
        webhook: Uuid,
        status: Option<&str>,
        list: ListQuery,
    ) -> Result<Page<DeliveryRow>, AppError> {
        webhook::get(scope, &self.db, webhook).await?;
        Ok(webhook_delivery::list(scope, &self.db, webhook, status, list).await?)
    }

    /// Sends a message again, whatever became of it.
    pub async fn delivery_replay(
        &self,
        scope: &Scope,
        webhook: Uuid,
        id: Uuid,
    ) -> Result<DeliveryRow, AppError> {
        webhook::get(scope, &self.db, webhook).await?;
        let row = webhook_delivery::replay(scope, &self.db, webhook, id).await?;
        self.deliveries_due.notify_one();
        Ok(row)
    }
}

fn busy() -> AppError {
    AppError::Unavailable("other requests change the webhook; try again".to_owned())
}

/// `score.below` and its threshold belong together.
fn check_score(settings: &WebhookSettings, problems: &mut Problems) {
    let root = At::Root;
    let has_event = settings.events.iter().any(|event| event == WebhookEvent::ScoreBelow.as_str());
    match (has_event, settings.score_metric.is_some()) {
        (true, false) => {
            let detail = "the event `score.below` needs `score`: a metric and a threshold";
            problems.add(&root.key("score"), Code::MissingField, detail);
        }
        (false, true) => {
            let detail = "`score` needs the event `score.below`";
            problems.add(&root.key("score"), Code::InvalidValue, detail);
        }
        _ => {}
    }
}
