//! Background runs: started at `/v1/graphs/{graph}/runs`; cancelled, resumed and signalled under
//! `/v1/runs/{id}`.

use axum::extract::Path;
use axum::response::Response;
use dsrs::problem::Problems;
use dsrs::read::shared_text;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::resource::ById;
use crate::routes::job::{self, JobResource};
use crate::routes::run::read_request;
use crate::views::{ExecuteBody, ResumeBody, ResumedRunView, RunView, SignalBody};
use dsrs_app::run_request::{millis, read_pick};
use dsrs_app::{BackgroundRuns, RequestId, ResumeOutcome, ResumeRequest, SignalRequest};
use dsrs_store::graph::GraphRef;

impl JobResource for BackgroundRuns {
    const COLLECTION: &'static str = "runs";

    type View<'r> = RunView<'r>;
}

/// Run a graph in the background
///
/// Answers as soon as the run is stored, with its address. A worker executes it; if that worker
/// fails, another continues after the completed nodes. `trace` has no effect: a run that is read always
/// has its trace.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/runs", tag = "runs",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe"),
        ("X-Dsrs-Tags" = Option<String>, Header, description = "`tags`, separated by commas. The body takes precedence over all these headers"),
        ("X-Dsrs-Session-Id" = Option<String>, Header, description = "`session_id`"),
        ("X-Dsrs-User-Id" = Option<String>, Header, description = "`user_id`"),
        ("X-Dsrs-Metadata" = Option<String>, Header, description = "`metadata`, a JSON object as text")),
    request_body(content = ExecuteBody, example = json!(crate::routes::examples::execute())),
    responses((status = 202, description = "The queued run", body = RunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["invalid_input", "state_mismatch", "rate_limited",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn run_start(
    Path(graph): Path<String>,
    labels: Result<LabelHeaders, ApiProblem>,
    post: KeyedPost,
) -> Response {
    let accept = |graph: GraphRef, posted: PostedRequest, commit| async move {
        let request = read_request(&posted.document?, labels?, posted.request_id)?;
        Ok(posted.app.run_start(&posted.scope, &graph, request, commit).await?)
    };
    job::start::<BackgroundRuns, _>(graph, post, accept).await
}

/// Cancel a run
///
/// A queued or waiting run is cancelled at once. The worker of a running one, on any server, cancels it
/// with its requests to models. Answers the run once it has ended. If the worker does not react in
/// time, the answer is the run with its current status; it ends when its lease expires.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs",
    responses((status = 200, description = "The run", body = RunView)),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["run_finished"])))
)]
pub(crate) async fn run_cancel(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::cancel::<BackgroundRuns>(request).await
}

/// Resume a run
///
/// Continues a run that failed or was cancelled after its completed nodes. Its cost so far stays in
/// the record. With another `version` or `state_version`, a completed node counts if its strategy,
/// signature, config, LM settings, predictor state and sources are the same; `resumed` lists the
/// nodes.
#[utoipa::path(
    post, path = "/v1/runs/{id}/resume", tag = "runs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = ResumeBody, example = json!(crate::routes::examples::resume())),
    responses((status = 202, description = "The queued run", body = ResumedRunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["invalid_input", "state_mismatch", "run_finished", "run_unfinished",
        "rate_limited", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn run_resume(Path(id): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/runs/{}/resume", id.escape_debug());
    let resume = |posted: PostedRequest| async move {
        let id = path::id(&id)?;
        let request = read_resume(&posted.document?, posted.request_id)?;
        let answer = posted.slot.answer(resumed);
        Ok(resumed(&posted.app.run_resume(&posted.scope, id, request, answer).await?))
    };
    post.answer(path, resume).await
}

fn resumed(outcome: &ResumeOutcome) -> Response {
    let address = job::address::<BackgroundRuns>(outcome.run.id);
    answer::accepted(&address, &ResumedRunView::from(outcome))
}

/// Signal a run
///
/// Sends a waiting node its value: the outputs of a node `await`, which are checked against its
/// signature, or the answers to the `calls` of a `react` with tools of the caller. The run continues
/// with it.
#[utoipa::path(
    post, path = "/v1/runs/{id}/signal", tag = "runs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = SignalBody, example = json!(crate::routes::examples::signal())),
    responses((status = 202, description = "The queued run", body = RunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["invalid_input", "run_finished", "run_unfinished", "node_not_waiting",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn run_signal(Path(id): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/runs/{}/signal", id.escape_debug());
    let signal = |posted: PostedRequest| async move {
        let id = path::id(&id)?;
        let request = read_signal(&posted.document?)?;
        let answer = posted.slot.answer(job::accepted::<BackgroundRuns>);
        let run = posted.app.run_signal(&posted.scope, id, request, answer).await?;
        Ok(job::accepted::<BackgroundRuns>(&run))
    };
    post.answer(path, signal).await
}

fn read_signal(document: &Document) -> Result<SignalRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let node = object.required("node", shared_text);
        let value = object.required("value", |payload, _, _| Some(payload.clone()));
        Some(SignalRequest { node: node?, value: value?, faults: Problems::new() })
    })?;
    request.faults = faults;
    Ok(request)
}

fn read_resume(document: &Document, request_id: RequestId) -> Result<ResumeRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let pick = read_pick(object);
        let timeout = object.optional("timeout_ms", millis);
        Some(ResumeRequest { pick: pick?, timeout, request_id, faults: Problems::new() })
    })?;
    request.faults = faults;
    Ok(request)
}
