//! `/v1/datasets/{dataset}/examples`: pages of examples, or all in one download.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use uuid::Uuid;

use crate::protocol::accept::prefers_lines;
use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::views::{DatasetExamplePage, DatasetExampleView};
use dsrs_api::dataset::{SPLIT, is_split};
use dsrs_app::{App, AppError, example_line};
use dsrs_store::Scope;
use dsrs_store::dataset_example::{ExampleRow, PageLimits};

/// The greatest size of a page, whatever its limit of examples.
const PAGE_BYTES: i64 = 16 << 20;

/// Examples per read of a download.
const DOWNLOAD: PageLimits = PageLimits { count: 500, bytes: 1 << 20 };

/// Read the examples of a dataset
///
/// In their order. With `Accept: application/jsonl` (or `application/x-ndjson`) or `format=jsonl`, all
/// examples are one download, one per line. The download can be uploaded again; `content_hash` is its
/// SHA-256.
#[utoipa::path(
    get, path = "/v1/datasets/{dataset}/examples", tag = "datasets",
    params(
        ("version" = Option<u32>, Query, description = "A version. Default: the newest"),
        ("split" = Option<String>, Query, description = "Only examples of this split"),
        ("format" = Option<String>, Query, pattern = "^jsonl$", description = "`jsonl` for one download of all examples"),
        PageParams),
    responses((status = 200, description = "A page, or all examples", content(
        (DatasetExamplePage = "application/json"), (String = "application/jsonl")))),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn dataset_examples(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let scope = caller.scope();
    let version = query.number("version");
    let split = query.read("split", SPLIT.expected, |text| is_split(text).then(|| text.to_owned()));
    let lines = query.read("format", "`jsonl`", |text| (text == "jsonl").then_some(()));
    if lines.is_some() || prefers_lines(&headers) {
        query.close()?;
        let row = app.dataset_get(&scope, &name, version).await?;
        let version = (row.id, row.version.version);
        return Ok(download(Download { app, scope, version, split }));
    }
    let row = app.dataset_get(&scope, &name, version).await?;
    let version = (row.id, row.version.version);
    let part = split.as_deref().unwrap_or_default();
    let page = PageRequest::of(format!("examples {}.{} {part}", row.id, version.1), query)?;
    let after = page.numbered()?.after.unwrap_or(-1);
    // One more than the page holds: it shows whether another page follows.
    let room = PageLimits { count: i64::from(page.limit) + 1, bytes: PAGE_BYTES };
    let mut rows = app.dataset_examples(&scope, version, split.as_deref(), after, room).await?;
    let more = rows.len() > page.limit as usize || fill(&rows);
    rows.truncate(page.limit as usize);
    let last = rows.last().map(|row| row.position).filter(|_| more);
    Ok(answer::ok(&page.view(rows.iter().map(DatasetExampleView::from), last)))
}

/// Whether these examples fill a page by their size, so that more may follow.
fn fill(rows: &[ExampleRow]) -> bool {
    let size = rows.iter().map(|row| example_line(row).len()).sum::<usize>();
    i64::try_from(size).is_ok_and(|size| size >= PAGE_BYTES)
}

/// A download of all examples of a version.
struct Download {
    app: Arc<App>,
    scope: Scope,
    version: (Uuid, i32),
    split: Option<String>,
}

/// The examples as JSON lines. More are read when the client has received the previous ones.
fn download(download: Download) -> Response {
    let lines = stream::try_unfold((download, -1), |(download, after)| async move {
        let Download { app, scope, version, split } = &download;
        let rows = app.dataset_examples(scope, *version, split.as_deref(), after, DOWNLOAD).await?;
        let Some(last) = rows.last().map(|row| row.position) else {
            return Ok::<_, AppError>(None);
        };
        let lines = rows.iter().map(|row| example_line(row) + "\n");
        Ok(Some((Bytes::from(lines.collect::<String>()), (download, last))))
    });
    let mut response = Response::new(Body::from_stream(lines));
    let lines = HeaderValue::from_static("application/jsonl");
    response.headers_mut().insert(header::CONTENT_TYPE, lines);
    response
}
