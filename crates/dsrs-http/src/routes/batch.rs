//! Batches: started at `/v1/graphs/{graph}/batches`, listed and read at `/v1/batches`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use dsrs::problem::Problems;
use futures_util::stream;
use uuid::Uuid;

use crate::protocol::accept::prefers_lines;
use crate::protocol::answer;
use crate::protocol::body::parse;
use crate::protocol::caller::Caller;
use crate::protocol::idempotency::{AnswerSlot, IdempotencyKey, KeyedRequest, once};
use crate::protocol::json_items::BodyItems;
use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query, plain_number};
use crate::protocol::resource::{ById, ResourceRequest};
use crate::protocol::upload::{BatchUploadKind, SpooledBody, UploadFormat, UploadedBody};
use crate::routes::job::{self, JobResource};
use crate::views::{BatchBody, BatchPage, BatchResultPage, BatchResultView, BatchView};
use dsrs_app::run_request::{BATCH_CONCURRENCY, up_to};
use dsrs_app::{App, AppError, BatchRequest, Batches, Commit, RequestId, run_blocking};
use dsrs_store::graph::{GraphRef, VersionSelection};
use dsrs_store::run_label::RunLabels;
use dsrs_store::{ListQuery, Scope};

/// Results per read of a download.
const DOWNLOAD_PAGE: u32 = 50;

impl JobResource for Batches {
    const COLLECTION: &'static str = "batches";

    type View<'r> = BatchView<'r>;
}

/// Run a graph over many items
///
/// Each item holds the inputs of one run. The server checks all items against the graph before it
/// accepts the batch: an invalid item is reported with its place, `/items/N`, and nothing is stored.
/// With `application/jsonl` (or `application/x-ndjson`) each line of the body is an item, and the
/// options are query parameters. The setting `limits.batch_bytes` limits the body and
/// `limits.body_bytes` each item. A worker runs several items at the same time; a failed item does
/// not affect the others.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/batches", tag = "batches",
    params(
        ("version" = Option<i32>, Query, description = "For JSON lines: as in the body"),
        ("state_version" = Option<i32>, Query, description = "For JSON lines: as in the body"),
        ("timeout_ms" = Option<u64>, Query, description = "For JSON lines: as in the body"),
        ("concurrency" = Option<u32>, Query, minimum = 1, description = "For JSON lines: as in the body"),
        ("dedupe" = Option<bool>, Query, description = "For JSON lines: as in the body"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer"),
        ("X-Dsrs-Tags" = Option<String>, Header, description = "`tags`, separated by commas. The body takes precedence over all these headers"),
        ("X-Dsrs-Session-Id" = Option<String>, Header, description = "`session_id`"),
        ("X-Dsrs-User-Id" = Option<String>, Header, description = "`user_id`"),
        ("X-Dsrs-Metadata" = Option<String>, Header, description = "`metadata`, a JSON object as text")),
    request_body(content(
        (BatchBody = "application/json", example = json!(crate::routes::examples::batch())),
        (String = "application/jsonl"))),
    responses((status = 202, description = "The accepted batch", body = BatchView,
        headers(("Location" = String, description = "The address of the batch")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["invalid_input", "state_mismatch", "idempotency_key_reused",
        "idempotency_in_progress"])))
)]
pub(crate) async fn batch_start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    labels: Result<LabelHeaders, ApiProblem>,
    query: Query,
    UploadedBody { hash, body, place, .. }: UploadedBody<BatchUploadKind>,
) -> Response {
    // The options of JSON lines are query parameters: they are part of the request.
    let route = format!("POST /v1/graphs/{}/batches{}", graph.escape_debug(), query.written());
    let keyed = KeyedRequest::new(&app, &caller, key, route, || hash);
    let answer = AnswerSlot::of(keyed.as_ref()).answer(job::accepted::<Batches>);
    let commit = Commit::Now(answer);
    let (scope, request_id) = (caller.scope(), caller.request_id);
    let work = Box::pin(async move {
        let _place = place;
        let (mut request, items) = read_batch(&app, body?, query, request_id).await?;
        request.labels = labels?.or_body(request.labels);
        let graph = GraphRef::parse(&graph);
        let batch = Box::pin(app.batch_start(&scope, &graph, request, items, commit)).await?;
        Ok(job::accepted::<Batches>(&batch))
    });
    once(keyed, work).await
}

async fn read_batch(
    app: &App,
    body: SpooledBody,
    query: Query,
    request_id: RequestId,
) -> Result<(BatchRequest, BodyItems), ApiProblem> {
    let (form, most) = (body.form, app.worker.batch_concurrency);
    let mut items = BodyItems::of(body, "items", app.limits.body_bytes);
    if form == UploadFormat::Lines {
        return Ok((read_query(query, most, request_id)?, items));
    }
    query.close()?;
    let read = run_blocking(move || items.options().map(|options| (options, items))).await;
    let broken = || AppError::Internal("reading a body was interrupted".to_owned());
    let (options, items) = read.ok_or_else(broken)??;
    let options = parse(options.as_bytes())?;
    Ok((BatchRequest::read(&options.parsed, most, request_id)?, items))
}

/// The options of a batch of lines.
fn read_query(
    mut query: Query,
    most: u32,
    request_id: RequestId,
) -> Result<BatchRequest, ApiProblem> {
    let pick = VersionSelection {
        version: query.number("version"),
        state_version: query.number("state_version"),
    };
    let positive = |text: &str| plain_number(text).filter(|millis: &u64| *millis > 0);
    let timeout = query.read("timeout_ms", "1 or more milliseconds", positive);
    let in_range = |text: &str| plain_number(text).filter(|n: &u32| (1..=most).contains(n));
    let concurrency = query.read("concurrency", &up_to(most, BATCH_CONCURRENCY), in_range);
    let flag = |text: &str| text.parse::<bool>().ok();
    let dedupe = query.read("dedupe", "true or false", flag);
    query.close()?;
    Ok(BatchRequest {
        pick,
        timeout: timeout.map(std::time::Duration::from_millis),
        concurrency: concurrency.and_then(|count| i32::try_from(count).ok()),
        dedupe: dedupe.unwrap_or(false),
        labels: RunLabels::default(),
        request_id,
        faults: Problems::new(),
    })
}

/// List batches
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/batches", tag = "batches",
    params(PageParams),
    responses((status = 200, description = "A page", body = BatchPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn batch_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("batches", query)?;
    let found = app.batch_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, BatchView::from))
}

/// Read a batch
///
/// The status, the number of items in each state, and the cost so far. A batch has `succeeded` once
/// all items have ended, even if some of them failed.
#[utoipa::path(
    get, path = "/v1/batches/{id}", tag = "batches",
    responses((status = 200, description = "The batch", body = BatchView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn batch_get(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::get::<Batches>(request).await
}

/// Cancel a batch
///
/// Running items are stopped together with their requests to models; items that have not started do
/// not run; existing results remain. Returns the batch once it has ended. If its worker does not
/// respond, returns the batch as it is; it ends when the lease of the worker expires.
#[utoipa::path(
    post, path = "/v1/batches/{id}/cancel", tag = "batches",
    responses((status = 200, description = "The batch", body = BatchView)),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["run_finished"])))
)]
pub(crate) async fn batch_cancel(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::cancel::<Batches>(request).await
}

/// Read the results of a batch
///
/// In the order of the items, including items that have not ended. With `Accept: application/jsonl`
/// (or `application/x-ndjson`) all results are one download, one per line.
#[utoipa::path(
    get, path = "/v1/batches/{id}/results", tag = "batches",
    params(PageParams),
    responses((status = 200, description = "A page, or all results", content(
        (BatchResultPage = "application/json"), (String = "application/jsonl")))),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn batch_results(
    request: ById,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    if prefers_lines(&headers) {
        query.close()?;
        let batch = app.job_get::<Batches>(&scope, id).await?;
        return Ok(download(Download { app, scope, id, ended: batch.status.has_ended() }));
    }
    let page = PageRequest::of(format!("results of {id}"), query)?;
    let batch = app.job_get::<Batches>(&scope, id).await?;
    let found = app.batch_results(&scope, id, page.numbered()?).await?;
    let ended = batch.status.has_ended();
    Ok(page.respond(&found, |row| BatchResultView::new(row, ended)))
}

/// A download of all results of a batch.
struct Download {
    app: Arc<App>,
    scope: Scope,
    id: Uuid,
    ended: bool,
}

/// The results as JSON lines. A page is read when the client has received the previous one.
fn download(download: Download) -> Response {
    let lines = stream::try_unfold((download, Some(None)), |(download, next)| async move {
        let Some(after) = next else { return Ok::<_, AppError>(None) };
        let Download { app, scope, id, ended } = &download;
        let page = app.batch_results(scope, *id, ListQuery::new(after, DOWNLOAD_PAGE)).await?;
        let lines = page.items.iter().map(|row| BatchResultView::new(row, *ended));
        let lines = answer::json_lines(lines);
        Ok(Some((lines, (download, page.next.map(Some)))))
    });
    let mut response = Response::new(Body::from_stream(lines));
    let lines = HeaderValue::from_static("application/jsonl");
    response.headers_mut().insert(header::CONTENT_TYPE, lines);
    response
}
