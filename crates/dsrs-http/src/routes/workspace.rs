//! `/v1/workspaces`: for administrators of the workspace `default`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::status::ProblemCode;
use crate::views::{WorkspaceBody, WorkspacePage, WorkspaceView};
use dsrs_app::App;

/// Refuses all but operators.
fn require_operator(caller: &Caller) -> Result<(), ApiProblem> {
    if caller.identity.is_operator() {
        return Ok(());
    }
    let detail = "workspaces are managed with an `admin` key of the workspace `default`";
    Err(ApiProblem::new(ProblemCode::Forbidden, detail))
}

/// Create a workspace
///
/// Nothing of one workspace is visible in another. Needs a key of the workspace `default`; create keys for
/// the new workspace with it.
#[utoipa::path(
    post, path = "/v1/workspaces", tag = "keys",
    request_body(content = WorkspaceBody, example = json!({"name": "team-a"})),
    responses((status = 201, description = "The workspace", body = WorkspaceView, headers(
        ("Location" = String, description = "The address of the workspace")))),
    extensions(("x-scope" = json!("admin")), ("x-problems" = json!(["already_exists"])))
)]
pub(crate) async fn workspace_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    require_operator(&caller)?;
    let request = document.complete()?;
    let row = dsrs_app::workspace_create(&caller.scope(), &app.db, &request).await?;
    let mut response = answer::json(StatusCode::CREATED, &WorkspaceView::from(&row));
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/workspaces/{}", row.name)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// List workspaces
///
/// Newest first. Needs a key of the workspace `default`.
#[utoipa::path(
    get, path = "/v1/workspaces", tag = "keys",
    params(PageParams),
    responses((status = 200, description = "A page", body = WorkspacePage)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn workspace_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    require_operator(&caller)?;
    let page = PageRequest::of("workspaces", query)?;
    let found = dsrs_app::workspace_list(&caller.scope(), &app.db, page.newest()?).await?;
    Ok(page.respond(&found, WorkspaceView::from))
}

/// Read a workspace
///
/// Needs a key of the workspace `default`.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace}", tag = "keys",
    responses((status = 200, description = "The workspace", body = WorkspaceView)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn workspace_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    require_operator(&caller)?;
    let row = dsrs_app::workspace_get(&caller.scope(), &app.db, &name).await?;
    Ok(answer::ok(&WorkspaceView::from(&row)))
}
