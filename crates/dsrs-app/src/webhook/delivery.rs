//! Sends messages of webhooks. Every server claims messages that are due, makes one attempt at each, and records it.
//! A server that is killed between an attempt and its record leaves a message that another one sends again, with the
//! same id. May not know what the events mean.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use url::Url;
use uuid::Uuid;

use crate::clock::{now, timestamp};
use crate::json::JsonObject;
use crate::webhook::backoff::{chance, wait};
use crate::webhook::secret::SignedMessage;
use crate::{App, spawn_named};
use dsrs_config::WebhookConfig;
use dsrs_store::StoreError;
use dsrs_store::webhook_delivery::{self, AttemptOutcome, ClaimedDelivery};
use dsrs_tool::{WebhookAnswer, WebhookFailure};

/// The most attempts of one server at a time.
const CONCURRENT: usize = 64;

/// The most attempts for one webhook of one server at a time, before no more of its messages are claimed.
const CONCURRENT_OF_ONE: usize = 4;

/// How often a server looks for messages that are due.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The pause after a query that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The characters of a response or an error that the log shows.
const SHOWN: usize = 256;

/// The attempts in progress, by webhook: how many, and whether the webhook fails.
type Active = HashMap<Uuid, (usize, bool)>;

/// Sends messages until the server stops.
pub(crate) async fn send_always(app: Arc<App>) {
    let (sender, mut ended) = mpsc::channel(CONCURRENT);
    let mut active = Active::new();
    while !app.shutdown.is_draining() {
        while let Ok(webhook) = ended.try_recv() {
            end(&mut active, webhook);
        }
        let claimed = claim(&app, &active).await;
        let found = claimed.len();
        for delivery in claimed {
            let entry = active.entry(delivery.webhook_id).or_default();
            *entry = (entry.0 + 1, delivery.failing);
            let (app, sender) = (app.clone(), sender.clone());
            drop(spawn_named("a message of a webhook", async move {
                let webhook = delivery.webhook_id;
                attempt(&app, delivery).await;
                // The loop may have ended.
                let _ = sender.send(webhook).await;
            }));
        }
        // More may be due than one claim returns.
        if found > 0 {
            continue;
        }
        tokio::select! {
            () = sleep(POLL_INTERVAL) => {}
            () = app.deliveries_due.notified() => {}
            Some(webhook) = ended.recv() => end(&mut active, webhook),
            () = app.shutdown.draining() => {}
        }
    }
}

fn end(active: &mut Active, webhook: Uuid) {
    if let Some((count, _)) = active.get_mut(&webhook) {
        *count -= 1;
        if *count == 0 {
            active.remove(&webhook);
        }
    }
}

/// Messages that are due, as many as this server may have.
async fn claim(app: &App, active: &Active) -> Vec<ClaimedDelivery> {
    let count: usize = active.values().map(|(count, _)| count).sum();
    let free = CONCURRENT.saturating_sub(count);
    if free == 0 {
        return Vec::new();
    }
    // One attempt for a webhook that fails, a few for any other: a slow receiver must not have all places.
    let is_busy = |(count, failing): &(usize, bool)| *failing || *count >= CONCURRENT_OF_ONE;
    let busy: Vec<Uuid> =
        active.iter().filter(|(_, of_one)| is_busy(of_one)).map(|(id, _)| *id).collect();
    // Long enough for the attempt, and for its record while the database is slow.
    let lease = app.webhook_settings.timeout + app.worker.lease;
    let most = i64::try_from(free).unwrap_or(i64::MAX);
    match webhook_delivery::claim(&app.db, most, &busy, lease).await {
        Ok(claimed) => claimed,
        Err(error) => {
            log_error(&error, "could not look for messages of webhooks");
            sleep(PAUSE).await;
            Vec::new()
        }
    }
}

/// Makes an attempt and records it. An attempt that cannot be recorded is made again later.
async fn attempt(app: &App, delivery: ClaimedDelivery) {
    let (at, begun) = (now(), Instant::now());
    let result = send(app, &delivery, at).await;
    let outcome = outcome(&app.webhook_settings, &delivery, &result);
    app.metrics.webhook_attempt(outcome.as_str());
    let entry = entry(at, begun.elapsed(), &result);
    let longest = app.webhook_settings.disable_after;
    match webhook_delivery::record(&app.db, &delivery, outcome, &entry, longest).await {
        Ok(true) => {}
        Ok(false) => tracing::debug!(id = %delivery.id, "another attempt has the message"),
        Err(error) => log_error(&error, "could not record an attempt for a webhook"),
    }
}

async fn send(
    app: &App,
    delivery: &ClaimedDelivery,
    at: DateTime<Utc>,
) -> Result<WebhookAnswer, WebhookFailure> {
    let url = Url::parse(&delivery.url)
        .map_err(|error| WebhookFailure::Failed(format!("the URL cannot be read: {error}")))?;
    let (id, body) = (delivery.id.to_string(), body(delivery));
    let message = SignedMessage { id: &id, timestamp: at.timestamp(), body: &body };
    let secrets = [Some(&*delivery.secret), delivery.previous_secret.as_deref()];
    let headers = [
        ("webhook-signature", message.signature(secrets.into_iter().flatten())),
        ("webhook-timestamp", at.timestamp().to_string()),
        ("webhook-id", id.clone()),
    ];
    app.webhook_client.post(url, &headers, body, app.webhook_settings.timeout).await
}

/// The message: the same for every attempt.
fn body(delivery: &ClaimedDelivery) -> String {
    let mut body = JsonObject::new();
    body.text("type", &delivery.event).text("timestamp", &timestamp(delivery.created_at));
    body.raw("data", &delivery.data);
    body.finish()
}

fn outcome(
    settings: &WebhookConfig,
    delivery: &ClaimedDelivery,
    result: &Result<WebhookAnswer, WebhookFailure>,
) -> AttemptOutcome {
    let number = u32::try_from(delivery.attempts).unwrap_or(u32::MAX).saturating_add(1);
    let retry_after = match result {
        Ok(answer) if is_success(answer) => return AttemptOutcome::Delivered,
        Ok(answer) if answer.status == 410 => return AttemptOutcome::Gone,
        Ok(answer) => answer.retry_after,
        Err(_) => None,
    };
    match number < settings.attempts {
        true => AttemptOutcome::Retry(wait(settings.first_retry, number, retry_after, chance())),
        false => AttemptOutcome::GivenUp,
    }
}

fn is_success(answer: &WebhookAnswer) -> bool {
    (200..300).contains(&answer.status)
}

/// The entry of an attempt in the log. It has no secret and no header.
fn entry(
    at: DateTime<Utc>,
    took: Duration,
    result: &Result<WebhookAnswer, WebhookFailure>,
) -> String {
    let mut entry = JsonObject::new();
    entry.shown_text("at", timestamp(at)).shown("duration_ms", took.as_millis());
    match result {
        Ok(answer) if is_success(answer) => {
            entry.shown("status_code", answer.status).raw("error", "null").raw("response", "null");
        }
        Ok(answer) => {
            let error = match answer.status {
                300..400 => "redirects are not followed",
                410 => "the receiver wants no more messages",
                _ => "the status is not 2xx",
            };
            let response = cut(&String::from_utf8_lossy(&answer.body));
            entry.shown("status_code", answer.status).text("error", error);
            entry.text("response", &response);
        }
        Err(failure) => {
            let error = cut(&failure.to_string());
            entry.raw("status_code", "null").text("error", &error).raw("response", "null");
        }
    }
    entry.finish()
}

fn cut(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(SHOWN).collect()
}

fn log_error(error: &StoreError, what: &'static str) {
    match error {
        StoreError::Unavailable { .. } => tracing::debug!(cause = error.cause(), what),
        _ => tracing::error!(cause = error.cause(), what),
    }
}
