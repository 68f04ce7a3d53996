//! Evaluations: started at a graph; listed, read and cancelled at `/v1/evaluations`.
//! `evaluation_comparison` compares two, `evaluation_events` reports the progress of one.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{boolean, count};
use dsrs::value::Payload;

use crate::app::{App, DatasetRef, EvaluationRequest};
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::page::{PageKey, PageParams, PageRequest};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query, plain_number};
use crate::http::routes::batch::at_most;
use crate::http::routes::run::{millis, read_pick};
use crate::http::views::{
    EvaluationBody, EvaluationPage, EvaluationResultPage, EvaluationResultView, EvaluationView,
};
use crate::store::evaluation::{EvaluationRow, ResultCursor, ResultFilter};
use crate::store::graph::GraphRef;

/// Evaluate a graph on a dataset
///
/// The graph runs on each example, and the metric scores its outputs from 0 to 1. Later changes of
/// the graph, the state or the dataset do not affect the evaluation. The server checks the request
/// first: the metric and every example must match the graph (`/dataset/examples/N/…`, at most 100
/// problems). A failed example counts as 0; `results?failed=true` lists failed examples. With
/// `max_errors` the evaluation fails once more than that many examples have failed.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/evaluations", tag = "evaluations",
    params(
        ("graph" = String, Path, description = "The name or id of the graph"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = EvaluationBody, example = json!(crate::http::routes::examples::evaluation())),
    responses((status = 202, description = "The accepted evaluation", body = EvaluationView,
        headers(("Location" = String, description = "The address of the evaluation")))),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "state_mismatch",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn evaluation_start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/graphs/{}/evaluations", graph.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let request_id = caller.request_id.clone();
    let work = Box::pin(async move {
        query?;
        let most = verb.worker.evaluation_concurrency;
        let request = read_request(&document?, most, request_id)?;
        let graph = GraphRef::parse(&graph);
        let evaluation = Box::pin(verb.evaluation_start(&scope, &graph, request)).await?;
        Ok(accepted(&evaluation))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

fn read_request(
    document: &Document,
    most: u32,
    request_id: Arc<str>,
) -> Result<EvaluationRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let dataset = object.required("dataset", DatasetRef::read);
        let metric = object.required("metric", |payload, _, _| Some(payload.clone()));
        let pick = read_pick(object);
        let timeout = object.optional("timeout_ms", millis);
        let concurrency = object.optional("concurrency", |payload, at, problems| {
            at_most(payload, most, "worker.evaluation_concurrency", at, problems)
        });
        let max_errors = object.optional("max_errors", whole);
        let record = object.optional("record", boolean);
        Some(EvaluationRequest {
            dataset: dataset?,
            metric: metric?,
            pick: pick?,
            concurrency,
            max_errors,
            timeout,
            record: record.unwrap_or(false),
            request_id,
            faults: Problems::new(),
        })
    })?;
    request.faults = faults;
    Ok(request)
}

fn whole(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = i32::try_from(count(payload, at, problems)?).ok();
    if found.is_none() {
        problems.add(at, Code::InvalidValue, format!("expected at most {}", i32::MAX));
    }
    found
}

/// List evaluations
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/evaluations", tag = "evaluations",
    params(
        ("graph" = Option<String>, Query, description = "Only evaluations of this graph: its name or id"),
        PageParams),
    responses((status = 200, description = "One page", body = EvaluationPage))
)]
pub(crate) async fn evaluation_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = query.text("graph");
    let list = format!("evaluations {}", graph.as_deref().unwrap_or_default());
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let graph = graph.map(|graph| GraphRef::parse(&graph));
    let found = app.evaluation_list(&caller.scope(), graph.as_ref(), page.newest()).await?;
    Ok(page.respond(&found, EvaluationView::from))
}

/// Read an evaluation
///
/// Its status, the mean score and the cost so far. An evaluation has `succeeded` once all examples
/// have ended, even if some of them failed.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}", tag = "evaluations",
    params(("id" = String, Path, description = "The id of the evaluation")),
    responses((status = 200, description = "The evaluation", body = EvaluationView)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn evaluation_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let evaluation = app.evaluation_get(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&EvaluationView::from(&evaluation)))
}

/// Cancel an evaluation
///
/// Running examples are stopped together with their requests to models and have no result; existing
/// results remain. Returns the evaluation once it has ended. If its worker does not respond, returns
/// the evaluation as it is; it ends when the lease of the worker expires.
#[utoipa::path(
    post, path = "/v1/evaluations/{id}/cancel", tag = "evaluations",
    params(("id" = String, Path, description = "The id of the evaluation")),
    responses((status = 200, description = "The evaluation", body = EvaluationView)),
    extensions(("x-problems" = json!(["not_found", "run_finished"])))
)]
pub(crate) async fn evaluation_cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let evaluation = app.evaluation_cancel(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&EvaluationView::from(&evaluation)))
}

/// Read the results of an evaluation
///
/// The results of the examples that have ended, in the order of the dataset or with the lowest scores
/// first.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/results", tag = "evaluations",
    params(
        ("id" = String, Path, description = "The id of the evaluation"),
        ("failed" = Option<bool>, Query, description = "`true`: only failed examples; `false`: only others"),
        ("order" = Option<String>, Query, description = "`examples` (default): the order of the dataset; `worst`: lowest scores first"),
        PageParams),
    responses((status = 200, description = "One page", body = EvaluationResultPage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn evaluation_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let (id, scope) = (path::id(&id)?, caller.scope());
    let failed = query.read("failed", "true or false", |text| text.parse::<bool>().ok());
    let worst_first = query.read("order", "`examples` or `worst`", |text| match text {
        "examples" => Some(false),
        "worst" => Some(true),
        _ => None,
    });
    let wanted = ResultFilter { failed, worst_first: worst_first.unwrap_or(false) };
    let list = format!("results of {id} {failed:?} {}", wanted.worst_first);
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    app.evaluation_get(&scope, id).await?;
    let found = app.evaluation_results(&scope, id, wanted, page.list(result_key_of)).await?;
    Ok(page.respond(&found, EvaluationResultView::from))
}

impl PageKey for ResultCursor {
    fn page_key(&self) -> String {
        format!("{} {}", self.position, self.score)
    }
}

fn result_key_of(key: &str) -> Option<ResultCursor> {
    let (position, score) = key.split_once(' ')?;
    Some(ResultCursor { position: plain_number(position)?, score: score.parse().ok()? })
}

/// The answer to an evaluation that a worker will run, with its address.
fn accepted(evaluation: &EvaluationRow) -> Response {
    let location = format!("/v1/evaluations/{}", evaluation.id);
    answer::accepted(&location, &EvaluationView::from(evaluation))
}
