//! `/v1/evaluations/{id}/events`: how far an evaluation has come, while it goes on. Looked up now and
//! then: what counts is where it stands, and nothing between is missed that matters.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use uuid::Uuid;

use crate::app::App;
use crate::http::protocol::answer;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::sse;
use crate::http::views::{EvaluationEvents, EvaluationProgressView, EvaluationView};
use crate::store::Scope;
use crate::store::evaluation::{EvaluationRow, Tally};
use crate::store::run::RunStatus;

/// How often is looked.
const LOOK: Duration = Duration::from_millis(500);

/// Follow an evaluation
///
/// Server-sent events: `evaluation.progress` whenever more examples have a score, and at the end, with
/// what `GET /v1/evaluations/{id}` answers, `evaluation.completed`, `evaluation.failed` or
/// `evaluation.cancelled`. They say where it stands, so whoever comes late or again misses nothing.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/events", tag = "evaluations",
    params(("id" = String, Path, description = "The evaluation's id")),
    responses((status = 200, description = "The events", body = EvaluationEvents,
        content_type = "text/event-stream")),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn evaluation_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let (id, scope) = (path::id(&id)?, caller.scope());
    let first = app.evaluation_get(&scope, id).await?;
    Ok(sse::respond(told(Following { app, scope, id, next: Some(first), told: None })))
}

/// One who follows.
struct Following {
    app: Arc<App>,
    scope: Scope,
    id: Uuid,
    /// What was looked up and is not told yet.
    next: Option<EvaluationRow>,
    /// What was told last; nothing follows the end.
    told: Option<(RunStatus, Tally)>,
}

fn told(following: Following) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold(following, |mut following| async move {
        if following.told.is_some_and(|(status, _)| status.has_ended()) {
            return None;
        }
        let row = following.news().await?;
        Some((Ok(event(&row)), following))
    })
}

impl Following {
    /// How it stands once that is other than what was told; `None` when it can no longer be read.
    async fn news(&mut self) -> Option<EvaluationRow> {
        loop {
            let row = match self.next.take() {
                Some(row) => row,
                None => {
                    tokio::time::sleep(LOOK).await;
                    self.app.evaluation_get(&self.scope, self.id).await.ok()?
                }
            };
            let stands = (row.status, row.tally);
            if self.told.replace(stands) != Some(stands) {
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
