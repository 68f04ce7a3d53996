//! Evaluations: started at a graph; listed, read and cancelled at `/v1/evaluations`.
//! `evaluation_comparison` compares two, `evaluation_events` reports the progress of one.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::protocol::caller::Caller;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageKey, PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query, plain_number};
use crate::protocol::resource::{ById, ResourceRequest};
use crate::routes::job::{self, JobResource};
use crate::views::{
    EvaluationBody, EvaluationPage, EvaluationResultPage, EvaluationResultView, EvaluationView,
};
use dsrs_app::{App, EvaluationRequest, Evaluations};
use dsrs_store::evaluation::{ResultCursor, ResultFilter};
use dsrs_store::graph::GraphRef;

impl JobResource for Evaluations {
    const COLLECTION: &'static str = "evaluations";

    type View<'r> = EvaluationView<'r>;
}

/// Evaluate a graph on a dataset
///
/// The graph runs on each example, and the metric scores its outputs from 0 to 1. Later changes of
/// the graph, the state or the dataset do not affect the evaluation. The server checks the request
/// first: the metric and every example must match the graph (`/dataset/examples/N/…`, at most 100
/// problems). A failed example counts as 0; `results?failed=true` lists failed examples. With
/// `max_errors` the evaluation fails once more than that many examples have failed. An example whose run fails because
/// of the provider, the time or a budget is unmeasured: it is tried once more at the end, and does not count. If more
/// than `max_unmeasured` stay so, the evaluation fails with `too_many_unmeasured`.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/evaluations", tag = "evaluations",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = EvaluationBody, example = json!(crate::routes::examples::evaluation())),
    responses((status = 202, description = "The accepted evaluation", body = EvaluationView,
        headers(("Location" = String, description = "The address of the evaluation")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["invalid_input", "state_mismatch", "idempotency_key_reused",
        "idempotency_in_progress"])))
)]
pub(crate) async fn evaluation_start(Path(graph): Path<String>, post: KeyedPost) -> Response {
    let accept = |graph: GraphRef, posted: PostedRequest, commit| async move {
        let most = posted.app.worker.evaluation_concurrency;
        let request = EvaluationRequest::read(&posted.document?.parsed, most, posted.request_id)?;
        Ok(posted.app.evaluation_start(&posted.scope, &graph, request, commit).await?)
    };
    job::start::<Evaluations, _>(graph, post, accept).await
}

/// List evaluations
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/evaluations", tag = "evaluations",
    params(
        ("graph" = Option<String>, Query, description = "Only evaluations of this graph: its name or id"),
        PageParams),
    responses((status = 200, description = "A page", body = EvaluationPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn evaluation_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = query.name("graph");
    let list = format!("evaluations {}", graph.as_deref().unwrap_or_default());
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let graph = graph.map(|graph| GraphRef::parse(&graph));
    let found = app.evaluation_list(&caller.scope(), graph.as_ref(), page.newest()?).await?;
    Ok(page.respond(&found, EvaluationView::from))
}

/// Read an evaluation
///
/// The status, the mean score and the cost so far. An evaluation has `succeeded` once all examples
/// have ended, even if some of them failed.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}", tag = "evaluations",
    responses((status = 200, description = "The evaluation", body = EvaluationView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn evaluation_get(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::get::<Evaluations>(request).await
}

/// Cancel an evaluation
///
/// Running examples are stopped together with their requests to models and have no result; existing
/// results remain. Returns the evaluation once it has ended. If its worker does not respond, returns
/// the evaluation as it is; it ends when the lease of the worker expires.
#[utoipa::path(
    post, path = "/v1/evaluations/{id}/cancel", tag = "evaluations",
    responses((status = 200, description = "The evaluation", body = EvaluationView)),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["run_finished"])))
)]
pub(crate) async fn evaluation_cancel(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::cancel::<Evaluations>(request).await
}

/// Read the results of an evaluation
///
/// The results of the examples that have ended, in the order of the dataset or with the lowest scores
/// first.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/results", tag = "evaluations",
    params(
        ("failed" = Option<bool>, Query, description = "`true`: only examples that failed and have the score 0; `false`: only examples without an error"),
        ("unmeasured" = Option<bool>, Query, description = "`true`: only examples without a score; `false`: only others"),
        ("order" = Option<String>, Query, pattern = "^(examples|worst)$", description = "`examples` (default): the order of the dataset; `worst`: lowest scores first; without examples that have none"),
        PageParams),
    responses((status = 200, description = "A page", body = EvaluationResultPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn evaluation_results(
    request: ById,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let failed = query.read("failed", "true or false", |text| text.parse::<bool>().ok());
    let unmeasured = query.read("unmeasured", "true or false", |text| text.parse::<bool>().ok());
    let worst_first = query.read("order", "`examples` or `worst`", |text| match text {
        "examples" => Some(false),
        "worst" => Some(true),
        _ => None,
    });
    let worst_first = worst_first.unwrap_or(false);
    let wanted = ResultFilter { failed, unmeasured, worst_first };
    let list = format!("results of {id} {failed:?} {unmeasured:?} {worst_first}");
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    app.job_get::<Evaluations>(&scope, id).await?;
    let found = app.evaluation_results(&scope, id, wanted, page.list(result_key_of)?).await?;
    Ok(page.respond(&found, EvaluationResultView::from))
}

impl PageKey for ResultCursor {
    fn page_key(&self) -> String {
        format!("{} {}", self.position, self.score)
    }
}

/// Reads the key of a result within a page.
pub fn result_key_of(key: &str) -> Option<ResultCursor> {
    let (position, score) = key.split_once(' ')?;
    let score = score.parse().ok().filter(|score: &f64| score.is_finite())?;
    Some(ResultCursor { position: plain_number(position)?, score })
}
