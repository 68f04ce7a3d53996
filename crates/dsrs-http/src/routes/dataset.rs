//! `/v1/datasets`: create, list, read, replace and delete datasets, and make them from runs.
//! `dataset_upload` reads uploads, `dataset_examples` returns examples.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::protocol::idempotency::{IdempotencyKey, KeyedRequest, once};
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::upload::{DatasetUploadKind, UploadedBody};
use crate::routes::dataset_upload::read_upload;
use crate::views::{
    ChangedDatasetView, DatasetBody, DatasetPage, DatasetVersionPage, DatasetVersionView,
    DatasetView, FromRunsBody, NewDataset,
};
use dsrs_app::{App, DatasetPut};

/// The kind of the tags of dataset versions.
const DATASET_TAG: char = 'd';

/// The `ETag` of a version of a dataset.
fn dataset_tag(id: Uuid, version: i32) -> ETag {
    ETag::of(DATASET_TAG, id, version)
}

/// Create a dataset
///
/// From examples, `{inputs, expected?, id?, split?}`, or from flat rows: then `inputs` and `expected`
/// name the members of a row. With `application/jsonl` (or `application/x-ndjson`) each line of the
/// body is an example or a row; with `text/csv` the body is a table with a header. For both, the
/// other members are query parameters. The settings `limits.dataset_bytes` and
/// `limits.dataset_examples` limit the body. The upload is stored completely or not at all; every
/// problem is reported with its place and line.
#[utoipa::path(
    post, path = "/v1/datasets", tag = "datasets",
    params(
        ("name" = Option<String>, Query, pattern = "^[a-z][a-z0-9_-]{0,62}$", description = "For JSON lines and CSV: as in the body"),
        ("description" = Option<String>, Query, description = "For JSON lines and CSV: as in the body"),
        ("inputs" = Option<String>, Query, description = "For JSON lines and CSV: as in the body, comma-separated; required for CSV"),
        ("expected" = Option<String>, Query, description = "For JSON lines and CSV: as in the body, comma-separated"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content(
        (NewDataset = "application/json", example = json!(crate::routes::examples::dataset())),
        (String = "application/jsonl"),
        (String = "text/csv"))),
    responses((status = 201, description = "The dataset, at version 1", body = ChangedDatasetView, headers(
        ("Location" = String, description = "The address of the dataset"),
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["already_exists", "idempotency_key_reused",
        "idempotency_in_progress"])))
)]
pub(crate) async fn dataset_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    query: Query,
    UploadedBody { hash, body, place, .. }: UploadedBody<DatasetUploadKind>,
) -> Response {
    // The options of lines and tables are query parameters: they are part of the request.
    let route = format!("POST /v1/datasets{}", query.written());
    let keyed = KeyedRequest::new(&app, &caller, key, route, || hash);
    let scope = caller.scope();
    let work = Box::pin(async move {
        let _place = place;
        let (request, examples) = read_upload(body?, query, app.limits.body_bytes).await?;
        let put = Box::pin(app.dataset_create(&scope, request, examples)).await?;
        Ok(created(&put))
    });
    once(keyed, work).await
}

/// Replace a dataset's examples
///
/// Creates the next version; earlier versions do not change. Accepts the same bodies as
/// `POST /v1/datasets`. If the examples are those of the newest version, no version is created. Never
/// creates a dataset.
#[utoipa::path(
    put, path = "/v1/datasets/{dataset}", tag = "datasets",
    params(
        ("name" = Option<String>, Query, pattern = "^[a-z][a-z0-9_-]{0,62}$", description = "For JSON lines and CSV: as in the body"),
        ("description" = Option<String>, Query, description = "For JSON lines and CSV: as in the body"),
        ("inputs" = Option<String>, Query, description = "For JSON lines and CSV: as in the body, comma-separated; required for CSV"),
        ("expected" = Option<String>, Query, description = "For JSON lines and CSV: as in the body, comma-separated"),
        ("If-Match" = Option<String>, Header, description = "Proceed only if this is the newest version")),
    request_body(content(
        (DatasetBody = "application/json", example = json!(crate::routes::examples::dataset())),
        (String = "application/jsonl"),
        (String = "text/csv"))),
    responses((status = 200, description = "The newest version", body = ChangedDatasetView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["name_mismatch", "precondition_failed"])))
)]
pub(crate) async fn dataset_put(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    if_match: IfMatch,
    query: Query,
    UploadedBody { body, place: _place, .. }: UploadedBody<DatasetUploadKind>,
) -> Result<Response, ApiProblem> {
    let precondition = if_match.precondition(&[DATASET_TAG]);
    let (request, examples) = read_upload(body?, query, app.limits.body_bytes).await?;
    let scope = caller.scope();
    let put = Box::pin(app.dataset_put(&scope, &name, request, examples, &precondition)).await?;
    Ok(changed(&put))
}

/// Make examples from runs
///
/// Appends examples to the newest version, which creates the next version, or creates the dataset.
/// All runs must have succeeded and belong to one graph. The outputs of a run become its expected
/// outputs, except for `corrections`. With `expected: corrected`, the newest corrected outputs of the feedback on a
/// run take their place; the run may have failed, then, and its example has the id of the run. Examples that the dataset has already are counted, not added
/// again.
#[utoipa::path(
    post, path = "/v1/datasets/{dataset}/from-runs", tag = "datasets",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = FromRunsBody, example = json!(crate::routes::examples::from_runs())),
    responses(
        (status = 200, description = "The newest version", body = ChangedDatasetView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 201, description = "The dataset, at version 1", body = ChangedDatasetView, headers(
            ("Location" = String, description = "The address of the dataset"),
            ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn dataset_from_runs(Path(name): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/datasets/{}/from-runs", name.escape_debug());
    let add = |posted: PostedRequest| async move {
        let request = posted.document?.request()?;
        let put = Box::pin(posted.app.dataset_from_runs(&posted.scope, &name, request)).await?;
        Ok(if put.is_new { created(&put) } else { changed(&put) })
    };
    post.answer(path, add).await
}

/// List datasets
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/datasets", tag = "datasets",
    params(PageParams),
    responses((status = 200, description = "A page", body = DatasetPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn dataset_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("datasets", query)?;
    let found = app.dataset_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, DatasetView::from))
}

/// Read a dataset
///
/// The newest version, or the requested one. Its examples are at `…/examples`.
#[utoipa::path(
    get, path = "/v1/datasets/{dataset}", tag = "datasets",
    params(
        ("version" = Option<u32>, Query, description = "A version. Default: the newest"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this is still the version")),
    responses(
        (status = 200, description = "The dataset", body = DatasetView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn dataset_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let version = query.number("version");
    query.close()?;
    let row = app.dataset_get(&caller.scope(), &name, version).await?;
    let tag = dataset_tag(row.id, row.version.version);
    Ok(answer::fresh(&known, &tag, &DatasetView::from(&row)))
}

/// List the versions of a dataset
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/datasets/{dataset}/versions", tag = "datasets",
    params(PageParams),
    responses((status = 200, description = "A page", body = DatasetVersionPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn dataset_versions(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let id = app.dataset_get(&caller.scope(), &name, None).await?.id;
    let page = PageRequest::of(format!("dataset_versions/{id}"), query)?;
    let found = app.dataset_versions(&caller.scope(), id, page.numbered()?).await?;
    Ok(page.respond(&found, DatasetVersionView::from))
}

/// Delete a dataset
///
/// Jobs that use it continue. The name becomes available again.
#[utoipa::path(
    delete, path = "/v1/datasets/{dataset}", tag = "datasets",
    params(("If-Match" = Option<String>, Header, description = "Proceed only if this is the newest version")),
    responses((status = 204, description = "The dataset was deleted")),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn dataset_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let precondition = if_match.precondition(&[DATASET_TAG]);
    app.dataset_delete(&caller.scope(), &name, &precondition).await?;
    Ok(answer::no_content())
}

fn created(put: &DatasetPut) -> Response {
    let location = format!("/v1/datasets/{}", put.row.name);
    answer::created(&location, &tag_of(put), &ChangedDatasetView::from(put))
}

fn changed(put: &DatasetPut) -> Response {
    answer::tagged(&tag_of(put), &ChangedDatasetView::from(put))
}

fn tag_of(put: &DatasetPut) -> ETag {
    dataset_tag(put.row.id, put.row.version.version)
}
