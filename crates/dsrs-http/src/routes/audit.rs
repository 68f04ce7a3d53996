//! `/v1/audit`: who changed what.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::protocol::caller::Caller;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::routes::run::time;
use crate::views::{AuditEntryPage, AuditEntryView};
use dsrs_app::App;
use dsrs_store::audit::AuditFilter;

/// Read the audit log
///
/// The entries name who created, changed, activated, deleted, revoked or cancelled what in the caller's workspace,
/// newest first. Entries have no contents.
#[utoipa::path(
    get, path = "/v1/audit", tag = "keys",
    params(
        ("actor" = Option<String>, Query, description = "Only what this actor did"),
        ("kind" = Option<String>, Query, description = "Only things of this kind, such as `graph`"),
        ("since" = Option<String>, Query, description = "At this time (RFC 3339) or later"),
        ("until" = Option<String>, Query, description = "Before this time (RFC 3339)"),
        PageParams),
    responses((status = 200, description = "A page", body = AuditEntryPage)),
    extensions(("x-scope" = json!("admin")))
)]
pub(crate) async fn audit_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "audit");
    let filter = AuditFilter {
        actor: query.text("actor"),
        kind: query.text("kind"),
        since: query.read("since", "an RFC 3339 time", time),
        until: query.read("until", "an RFC 3339 time", time),
    };
    query.close()?;
    let found = app.audit_list(&caller.scope(), &filter, page.numbered()?).await?;
    Ok(page.respond(&found, AuditEntryView::from))
}
