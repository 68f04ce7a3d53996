//! Indexes of passages at `/v1/indexes`: created from a dataset, built in the background, searched, deleted.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::views::{
    FoundPassagesView, IndexBody, IndexBuildBody, IndexPage, IndexView, SearchBody,
};
use dsrs_app::{App, Commit, IndexWithBuilds};

/// Create an index
///
/// Each example of a dataset is a passage. The index is built in the background, and answers searches once its first build
/// has succeeded: by words (BM25), and by meaning if `model` names an embedding model. The tool `search` of a node finds
/// passages in it.
#[utoipa::path(
    post, path = "/v1/indexes", tag = "indexes",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = IndexBody, example = json!(crate::routes::examples::index())),
    responses((status = 202, description = "The index; its first build is queued", body = IndexView,
        headers(("Location" = String, description = "The address of the index")))),
    extensions(("x-scope" = json!("write")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["already_exists", "forbidden", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn index_create(post: KeyedPost) -> Response {
    let start = |posted: PostedRequest| async move {
        let commit = Commit::Now(posted.slot.clone().answer(accepted));
        let request = posted.document?.request()?;
        let created =
            posted.app.index_create(&posted.scope, request, posted.request_id, commit).await?;
        Ok(accepted(&created))
    };
    post.answer("/v1/indexes".to_owned(), start).await
}

fn accepted(index: &IndexWithBuilds) -> Response {
    answer::accepted(&format!("/v1/indexes/{}", index.row.name), &IndexView::from(index))
}

/// Build an index again
///
/// Of the newest version of its dataset, or of the version that `version` names. Passages that have not changed are not
/// indexed again. The build before answers searches until the new one has succeeded.
#[utoipa::path(
    post, path = "/v1/indexes/{index}/builds", tag = "indexes",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = IndexBuildBody, example = json!({"version": 1})),
    responses((status = 202, description = "The index; the build is queued", body = IndexView,
        headers(("Location" = String, description = "The address of the index")))),
    extensions(("x-scope" = json!("write")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["run_unfinished", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn index_build(Path(index): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/indexes/{}/builds", index.escape_debug());
    let start = |posted: PostedRequest| async move {
        let commit = Commit::Now(posted.slot.clone().answer(accepted));
        let (scope, request) = (posted.scope, posted.document?.complete()?);
        let started = posted.app.index_rebuild(&scope, &index, request, posted.request_id, commit);
        Ok(accepted(&started.await?))
    };
    post.answer(path, start).await
}

/// List indexes
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/indexes", tag = "indexes", params(PageParams),
    responses((status = 200, description = "A page", body = IndexPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn index_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("indexes", query)?;
    let found = app.index_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, IndexView::from))
}

/// Read an index
///
/// With the progress of its newest build.
#[utoipa::path(
    get, path = "/v1/indexes/{index}", tag = "indexes",
    responses((status = 200, description = "The index", body = IndexView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn index_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(index): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = app.index_get(&caller.scope(), &index).await?;
    Ok(answer::ok(&IndexView::from(&found)))
}

/// Cancel the build of an index
///
/// The build before continues to answer searches.
#[utoipa::path(
    post, path = "/v1/indexes/{index}/cancel", tag = "indexes",
    responses((status = 200, description = "The index", body = IndexView)),
    extensions(("x-scope" = json!("write")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["run_finished"])))
)]
pub(crate) async fn index_cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(index): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = app.index_cancel(&caller.scope(), &index).await?;
    Ok(answer::ok(&IndexView::from(&found)))
}

/// Delete an index
///
/// With its passages; the dataset remains. Nodes that search the index fail from then on.
#[utoipa::path(
    delete, path = "/v1/indexes/{index}", tag = "indexes",
    responses((status = 204, description = "The index is deleted")),
    extensions(("x-scope" = json!("write")))
)]
pub(crate) async fn index_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(index): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    app.index_delete(&caller.scope(), &index).await?;
    Ok(answer::no_content())
}

/// Search an index
///
/// The best passages, the best first. With vectors, the vector of the query is a request to the embedding model.
#[utoipa::path(
    post, path = "/v1/indexes/{index}/search", tag = "indexes",
    request_body(content = SearchBody, example = json!({"query": "how do I cancel?", "k": 3})),
    responses((status = 200, description = "The passages", body = FoundPassagesView)),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["run_unfinished", "not_comparable", "rate_limited"])))
)]
pub(crate) async fn index_search(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(index): Path<String>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let found = app.index_search(&caller.scope(), &index, document.request()?).await?;
    Ok(answer::ok(&FoundPassagesView::from(&*found)))
}
