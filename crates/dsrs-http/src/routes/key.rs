//! `/v1/keys`: keys of clients, created, listed, read and revoked.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use chrono::{DateTime, Utc};
use dsrs::problem::{At, Code};
use secrecy::ExposeSecret;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::idempotency::IdempotencyKey;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::status::ProblemCode;
use crate::views::{CreatedKeyView, KeyBody, KeyPage, KeyView};
use dsrs_api::key::{KeyRequest, KeyScope};
use dsrs_app::{App, AppError, CreatedKey, KeyAdministration};

/// The refusal of an `Idempotency-Key`.
const NO_IDEMPOTENCY_KEY: &str = "`POST /v1/keys` takes no `Idempotency-Key`: the answer shows a key and is not \
     stored; a repeat with the same name is answered `409 already_exists`";

/// Create a key
///
/// The answer is the only place where the key is shown: the server stores its SHA-256. As soon as there is a
/// key, the server answers no request without one; so the first key needs the scope `admin`. An
/// `Idempotency-Key` is refused, because answers to keyed requests are stored; names are unique, so that a repeat
/// creates no second key. A key with limits creates no keys.
#[utoipa::path(
    post, path = "/v1/keys", tag = "keys",
    request_body(content = KeyBody, example = json!(crate::routes::examples::key())),
    responses((status = 201, description = "The key", body = CreatedKeyView, headers(
        ("Location" = String, description = "The address of the key")))),
    extensions(("x-scope" = json!("admin")),
        ("x-problems" = json!(["not_found", "already_exists"])))
)]
pub(crate) async fn key_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    if key.is_given() {
        return Err(ApiProblem::parameter(NO_IDEMPOTENCY_KEY));
    }
    let now = app.db.now().await.map_err(AppError::from)?;
    let (request, mut problems) = document.request::<KeyRequest>()?;
    let end = request.expires_at.as_deref().map(|text| end_after(now, text));
    if end == Some(None) {
        let detail = "expected an RFC 3339 time in the future";
        problems.add(&At::Root.key("expires_at"), Code::InvalidValue, detail);
    }
    let needs_admin = problems.is_empty() && !app.access.requires_key().await?;
    if needs_admin && !request.scopes.contains(&KeyScope::Admin) {
        let detail =
            "the first key needs the scope `admin`: without it, no key could create another";
        problems.add(&At::Root.key("scopes"), Code::InvalidValue, detail);
    }
    problems.or(()).map_err(|found| ApiProblem::of(ProblemCode::InvalidRequest, found))?;
    let workspace = request.workspace.as_deref();
    let keys = KeyAdministration::open(&app.db, &caller.identity, workspace).await?;
    Ok(created(&keys.create(&request, end.flatten()).await?))
}

fn end_after(now: DateTime<Utc>, text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?.with_timezone(&Utc);
    Some(time).filter(|time| *time > now)
}

fn created(created: &CreatedKey) -> Response {
    let CreatedKey { key, text } = created;
    let view = CreatedKeyView { key: text.expose_secret(), about: KeyView::from(key) };
    let mut response = answer::json(StatusCode::CREATED, &view);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/keys/{}", key.row.id)) {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// List keys
///
/// Newest first, without their text, revoked and expired ones included.
#[utoipa::path(
    get, path = "/v1/keys", tag = "keys",
    params(
        ("workspace" = Option<String>, Query, description = "The name of the workspace. Default: the caller's"),
        PageParams),
    responses((status = 200, description = "A page", body = KeyPage)),
    extensions(("x-scope" = json!("admin")), ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn key_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "keys");
    let workspace = query.text("workspace");
    query.close()?;
    let keys = KeyAdministration::open(&app.db, &caller.identity, workspace.as_deref()).await?;
    Ok(page.respond(&keys.list(page.newest()?).await?, KeyView::from))
}

/// Read a key
///
/// Without its text.
#[utoipa::path(
    get, path = "/v1/keys/{id}", tag = "keys",
    params(("workspace" = Option<String>, Query, description = "The name of the workspace. Default: the caller's")),
    responses((status = 200, description = "The key", body = KeyView)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn key_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let workspace = query.text("workspace");
    query.close()?;
    let keys = KeyAdministration::open(&app.db, &caller.identity, workspace.as_deref()).await?;
    Ok(answer::ok(&KeyView::from(&keys.get(path::id(&id)?).await?)))
}

/// Revoke a key
///
/// No server admits the key any more. It stays listed. A key that is revoked stays as it is.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", tag = "keys",
    params(("workspace" = Option<String>, Query, description = "The name of the workspace. Default: the caller's")),
    responses((status = 204, description = "The key is revoked")),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn key_revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let workspace = query.text("workspace");
    query.close()?;
    let keys = KeyAdministration::open(&app.db, &caller.identity, workspace.as_deref()).await?;
    keys.revoke(path::id(&id)?).await?;
    Ok(answer::no_content())
}
