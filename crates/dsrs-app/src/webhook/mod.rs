//! Webhooks: created, changed, deleted; their messages listed and replayed. `delivery` sends messages. The text of a
//! secret exists only in the answers to its creation and rotation. May not know HTTP.

mod backoff;
pub(crate) mod delivery;
mod secret;

use std::time::Duration;

use chrono::TimeDelta;
use dsrs::document::Change;
use dsrs::problem::{At, Code, Problems};
use dsrs_api::webhook::{WebhookEvent, WebhookSettings};
use url::Url;
use uuid::Uuid;

use crate::clock::now;
use crate::json::JsonObject;
use crate::precondition::Precondition;
use crate::{App, AppError, Invalid};
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::webhook::{self, MOST_WEBHOOKS, WebhookColumns, WebhookRow};
use dsrs_store::webhook_delivery::{self, DeliveryRow};
use dsrs_store::{ListQuery, Page, Scope, StoreError};
use secret::new_secret;

/// The event of a test message.
pub const TEST_EVENT: &str = "webhook.test";

/// How often a change is tried again if another one was made at the same time.
const TRIES: usize = 5;

/// A webhook with a new secret, which is shown once.
pub struct WebhookSecret {
    pub row: WebhookRow,
    pub secret: String,
}

impl App {
    pub async fn webhook_create(
        &self,
        scope: &Scope,
        new: Change<WebhookSettings>,
    ) -> Result<WebhookSecret, AppError> {
        let empty = WebhookColumns { enabled: true, ..WebhookColumns::default() };
        let settings = self.webhook_changed(scope, &empty, &new).await?;
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
        before: &WebhookColumns,
        change: &Change<WebhookSettings>,
    ) -> Result<WebhookColumns, AppError> {
        let changed = change.apply(&before.document());
        let mut changed = changed.map_err(|error| AppError::Internal(error.to_string()))?;
        let (root, mut problems) = (At::Root, change.problems().clone());
        if change.sets("url") {
            // A URL that cannot be read is reported already.
            let url =
                Url::parse(&changed.url).map_err(|error| AppError::Internal(error.to_string()))?;
            if let Err(refused) = self.webhook_client.admit(&url) {
                problems.add(&root.key("url"), Code::InvalidValue, refused);
            }
            changed.url = url.into();
        }
        let mut graph_id = before.graph_id;
        if change.sets("graph") {
            let found = self.webhook_graph(scope, changed.graph.as_deref(), &mut problems).await?;
            (graph_id, changed.graph) = found.unzip();
        }
        check_score(&changed, &mut problems);
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        let mut columns = WebhookColumns::of(changed, graph_id);
        if !change.sets("events") {
            // A newer release may have stored events that this one does not know.
            columns.events.clone_from(&before.events);
        }
        Ok(columns)
    }

    /// The graph of a filter: its id and its name.
    async fn webhook_graph(
        &self,
        scope: &Scope,
        graph: Option<&str>,
        problems: &mut Problems,
    ) -> Result<Option<(Uuid, String)>, AppError> {
        let Some(graph) = graph.map(GraphRef::parse) else { return Ok(None) };
        match graph::pin(scope, &self.db, &graph, VersionSelection::default()).await {
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
        change: Change<WebhookSettings>,
        precondition: &Precondition,
    ) -> Result<WebhookRow, AppError> {
        for _ in 0..TRIES {
            let seen = webhook::get(scope, &self.db, id).await?;
            precondition.check(id, seen.revision)?;
            let settings = self.webhook_changed(scope, &seen.settings, &change).await?;
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
    match (settings.events.contains(&WebhookEvent::ScoreBelow), settings.score.is_some()) {
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
