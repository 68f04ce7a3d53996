//! `/v1/evaluations/{id}/events`: the progress of a running evaluation. The row is polled: events
//! report the current counts, so a follower needs no intermediate ones.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::resource::{ById, ResourceRequest};
use crate::protocol::sse;
use crate::views::{EvaluationEvents, EvaluationProgressView, EvaluationView};
use dsrs_app::{App, CapacityShare, Evaluations};
use dsrs_store::Scope;
use dsrs_store::evaluation::{EvaluationRow, EvaluationTotals};
use dsrs_store::run::RunStatus;

const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Follow an evaluation
///
/// Server-sent events: `evaluation.progress` whenever more examples have a score. The last event,
/// `evaluation.completed`, `evaluation.failed` or `evaluation.cancelled`, carries the answer of
/// `GET /v1/evaluations/{id}`. Each event has the current counts, so a client that connects late
/// misses nothing.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/events", tag = "evaluations",
    responses((status = 200, description = "The events", body = EvaluationEvents,
        content_type = "text/event-stream")),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["rate_limited"])))
)]
pub(crate) async fn evaluation_events(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let permit = app.follower_place(&scope)?;
    let first = app.job_get::<Evaluations>(&scope, id).await?;
    let first = Some(first);
    let follower = EvaluationFollower { app, scope, id, first, sent: None, _permit: permit };
    Ok(sse::respond(changes(follower)))
}

/// A client that follows an evaluation.
struct EvaluationFollower {
    app: Arc<App>,
    scope: Scope,
    id: Uuid,
    /// The row that the request has read, for the first event.
    first: Option<EvaluationRow>,
    /// The state of the last event; no event follows the end.
    sent: Option<(RunStatus, EvaluationTotals)>,
    _permit: CapacityShare,
}

fn changes(follower: EvaluationFollower) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold(follower, |mut follower| async move {
        if follower.sent.is_some_and(|(status, _)| status.has_ended()) {
            return None;
        }
        let row = follower.next_change().await?;
        Some((Ok(event(&row)), follower))
    })
}

impl EvaluationFollower {
    /// The evaluation once it differs from the last event; `None` if it can no longer be read.
    async fn next_change(&mut self) -> Option<EvaluationRow> {
        loop {
            let row = match self.first.take() {
                Some(row) => row,
                None => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    self.app.job_get::<Evaluations>(&self.scope, self.id).await.ok()?
                }
            };
            let state = (row.status, row.tally);
            if self.sent.replace(state) != Some(state) {
                return Some(row);
            }
        }
    }
}

fn event(row: &EvaluationRow) -> Event {
    let kind = match row.status {
        RunStatus::Succeeded => "evaluation.completed",
        RunStatus::Failed => "evaluation.failed",
        RunStatus::Cancelled => "evaluation.cancelled",
        _ => {
            let progress = answer::to_text(&EvaluationProgressView::from(row));
            return Event::default().event("evaluation.progress").data(progress);
        }
    };
    Event::default().event(kind).data(answer::to_text(&EvaluationView::from(row)))
}
