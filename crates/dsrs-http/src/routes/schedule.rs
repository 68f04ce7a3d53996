//! Schedules at `/v1/schedules`, and their firings.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{ETag, IfMatch};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::{ById, ResourceRequest};
use crate::views::{
    FiringPage, FiringView, ScheduleBody, SchedulePage, SchedulePatch, ScheduleView,
};
use dsrs::document::Change;
use dsrs_api::schedule::ScheduleSettings;
use dsrs_app::{App, ScheduleWithTimes};

/// The kind of the tags of schedules.
const SCHEDULE_TAG: char = 't';

fn tag_of(schedule: &ScheduleWithTimes) -> ETag {
    ETag::of(SCHEDULE_TAG, schedule.row.id, schedule.row.revision)
}

/// Create a schedule
///
/// Starts work at times of a calendar: at each time the request that `request` is the body of, as
/// `POST /v1/graphs/{graph}/runs` (`batches`, `evaluations`, `optimizations`), once over all servers. The request is
/// checked now as that route checks it. The work is that of the key that created or last changed the schedule.
#[utoipa::path(
    post, path = "/v1/schedules", tag = "schedules",
    request_body(content = ScheduleBody, example = json!(crate::routes::examples::schedule())),
    responses((status = 201, description = "The schedule", body = ScheduleView, headers(
        ("Location" = String, description = "The address of the schedule"),
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["already_exists", "invalid_input", "state_mismatch"])))
)]
pub(crate) async fn schedule_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let change = read_new(&document)?;
    let created = Box::pin(app.schedule_create(&caller.identity, &change)).await?;
    let address = format!("/v1/schedules/{}", created.row.id);
    Ok(answer::created(&address, &tag_of(&created), &ScheduleView::from(&created)))
}

/// Reads a new schedule. A member that is missing or wrong is a problem of the change.
pub fn read_new(document: &Document) -> Result<Change<ScheduleSettings>, ApiProblem> {
    document.draft()
}

/// Reads a change.
pub fn read_patch(document: &Document) -> Result<Change<ScheduleSettings>, ApiProblem> {
    document.patch()
}

/// List schedules
///
/// Newest first, each with its next times.
#[utoipa::path(
    get, path = "/v1/schedules", tag = "schedules", params(PageParams),
    responses((status = 200, description = "A page", body = SchedulePage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn schedule_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("schedules", query)?;
    let found = app.schedule_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, |schedule: &ScheduleWithTimes| ScheduleView::from(schedule)))
}

/// Read a schedule
///
/// With its next times.
#[utoipa::path(
    get, path = "/v1/schedules/{id}", tag = "schedules",
    responses((status = 200, description = "The schedule", body = ScheduleView, headers(
        ("ETag" = String, description = "The revision: changes of clients count, times do not")))),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn schedule_get(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let found = app.schedule_get(&scope, resource).await?;
    Ok(answer::tagged(&tag_of(&found), &ScheduleView::from(&found)))
}

/// Change a schedule
///
/// Members that the body does not name stay as they are; `request` is replaced as a whole. From now on the work is that
/// of the key of this request. A schedule that is disabled leaves out the times that wait for earlier work; enabling
/// it does not catch up what it missed.
#[utoipa::path(
    patch, path = "/v1/schedules/{id}", tag = "schedules",
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    request_body(content = SchedulePatch, example = json!({"cron": "0 3 * * 1-5"})),
    responses((status = 200, description = "The schedule", body = ScheduleView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["already_exists", "precondition_failed", "invalid_input", "state_mismatch"])))
)]
pub(crate) async fn schedule_patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let change = read_patch(&document)?;
    let precondition = if_match.precondition(&[SCHEDULE_TAG]);
    let changing = app.schedule_change(&caller.identity, id, &change, &precondition);
    let changed = Box::pin(changing).await?;
    Ok(answer::tagged(&tag_of(&changed), &ScheduleView::from(&changed)))
}

/// Delete a schedule
///
/// Work that it has started continues.
#[utoipa::path(
    delete, path = "/v1/schedules/{id}", tag = "schedules",
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    responses((status = 204, description = "The schedule is deleted")),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn schedule_delete(
    if_match: IfMatch,
    _: NoQuery,
    request: ById,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    app.schedule_delete(&scope, resource, &if_match.precondition(&[SCHEDULE_TAG])).await?;
    Ok(answer::no_content())
}

/// Fire a schedule
///
/// Starts its work now, also if it is disabled or earlier work is in progress.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/fire", tag = "schedules",
    responses((status = 202, description = "The firing", body = FiringView)),
    extensions(("x-scope" = json!("execute")))
)]
pub(crate) async fn schedule_fire(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.schedule_fire(&scope, resource).await?;
    let address = format!("/v1/schedules/{resource}/firings");
    Ok(answer::accepted(&address, &FiringView::from(&row)))
}

/// List the firings of a schedule
///
/// Newest first, each with what it has started, or why it has not.
#[utoipa::path(
    get, path = "/v1/schedules/{id}/firings", tag = "schedules",
    params(PageParams),
    responses((status = 200, description = "A page", body = FiringPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn firing_list(request: ById, query: Query) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let page = PageRequest::of(format!("firings of {id}"), query)?;
    let found = app.firing_list(&scope, id, page.newest()?).await?;
    Ok(page.respond(&found, FiringView::from))
}
