//! `/v1/keys`: keys of clients, created, listed, read and revoked.

use dsrs_api::plain_name::PlainName;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use chrono::{DateTime, Utc};
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, list, number, text};
use dsrs::value::Payload;
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
use dsrs_app::{App, AppError, CreatedKey, KeyAdministration, KeyRequest};
use dsrs_store::key::KeyLimits;
use dsrs_store::key_scope::{KeyScope, KeyScopes};

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
    let (request, workspace) = read_request(&document, now)?;
    let is_first = !app.access.requires_key().await?;
    if is_first && !request.scopes.allow(KeyScope::Admin) {
        let detail =
            "the first key needs the scope `admin`: without it, no key could create another";
        let mut problems = Problems::new();
        problems.add(&At::Root.key("scopes"), Code::InvalidValue, detail);
        return Err(ApiProblem::of(ProblemCode::InvalidRequest, problems));
    }
    let keys = KeyAdministration::open(&app.db, &caller.identity, workspace.as_deref()).await?;
    Ok(created(&keys.create(&request).await?))
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

fn read_request(
    document: &Document,
    now: DateTime<Utc>,
) -> Result<(KeyRequest, Option<String>), ApiProblem> {
    let (read, problems) = document.read(|object| {
        let name = object.required("name", read_name);
        let scopes = object.required("scopes", read_scopes);
        let workspace = object.optional("workspace", text).map(str::to_owned);
        let end = |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
            read_end(payload, at, problems, now)
        };
        let expires_at = object.optional("expires_at", end);
        let limits = object.optional("limits", read_limits).unwrap_or_default();
        Some((KeyRequest { name: name?, scopes: scopes?, limits, expires_at }, workspace))
    })?;
    match problems.is_empty() {
        true => Ok(read),
        false => Err(ApiProblem::of(ProblemCode::InvalidRequest, problems)),
    }
}

/// Reads the name of a key or a workspace.
pub(crate) fn read_name(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<PlainName> {
    let found = PlainName::parse(text(payload, at, problems)?);
    if found.is_none() {
        problems.add(at, Code::InvalidName, format!("expected {}", PlainName::EXPECTED));
    }
    found
}

fn read_scopes(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<KeyScopes> {
    let scopes = list(payload, at, problems, |item, at, problems| {
        let word = text(item, at, problems)?;
        let found = KeyScope::parse(word);
        if found.is_none() {
            let known = KeyScope::ALL.map(KeyScope::as_str).join("`, `");
            problems.add(at, Code::InvalidValue, format!("expected one of `{known}`"));
        }
        found
    })?;
    if scopes.is_empty() && problems.is_empty() {
        problems.add(at, Code::InvalidValue, "expected at least one scope");
    }
    Some(scopes.into_iter().collect())
}

fn read_end(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let found = DateTime::parse_from_rfc3339(text(payload, at, problems)?).ok();
    let found = found.map(|time| time.with_timezone(&Utc)).filter(|time| *time > now);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, "expected an RFC 3339 time in the future");
    }
    found
}

fn read_limits(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<KeyLimits> {
    let mut object = Object::open(payload, at, problems)?;
    let limits = KeyLimits {
        requests_per_minute: object.optional("requests_per_minute", positive_count),
        runs_per_minute: object.optional("runs_per_minute", positive_count),
        concurrent_runs: object.optional("concurrent_runs", positive_count),
        tokens_per_day: object.optional("tokens_per_day", positive_count),
        cost_per_day: object.optional("cost_per_day", positive),
    };
    object.close();
    Some(limits)
}

fn positive_count(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i64> {
    let found = i64::try_from(count(payload, at, problems)?).ok().filter(|found| *found > 0);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, "expected 1 to 9223372036854775807");
    }
    found
}

fn positive(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = found.is_finite() && found > 0.0;
    if !fits {
        problems.add(at, Code::InvalidValue, "expected a number above 0");
    }
    fits.then_some(found)
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
    params(
        ("id" = String, Path, description = "The id of the key"),
        ("workspace" = Option<String>, Query, description = "The name of the workspace. Default: the caller's")),
    responses((status = 200, description = "The key", body = KeyView)),
    extensions(("x-scope" = json!("admin")), ("x-problems" = json!(["not_found"])))
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
    params(
        ("id" = String, Path, description = "The id of the key"),
        ("workspace" = Option<String>, Query, description = "The name of the workspace. Default: the caller's")),
    responses((status = 204, description = "The key is revoked")),
    extensions(("x-scope" = json!("admin")), ("x-problems" = json!(["not_found"])))
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
