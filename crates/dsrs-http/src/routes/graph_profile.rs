//! `GET /v1/graphs/{graph}/profile`: where the time and the money of a graph go.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::routes::run::time;
use crate::views::GraphProfileView;
use dsrs_app::{App, ProfileRequest};
use dsrs_store::graph::GraphRef;

/// The time that is read if `since` is not given.
const DEFAULT_TIME: TimeDelta = TimeDelta::days(7);

/// Read the profile of a graph
///
/// For each node, over the recorded runs of a time: the 50th, 95th and 99th percentile of its duration, failures by code,
/// repairs of answers, requests to models, replies from caches, tokens and cost. It reads the newest 2000 runs, fewer
/// if they are very large; `is_sample` says whether there are others.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/profile", tag = "usage",
    params(
        ("since" = Option<String>, Query, description = "Of runs that were created at this time (RFC 3339) or later; 7 days before `until` if absent"),
        ("until" = Option<String>, Query, description = "Of runs that were created before this time (RFC 3339); now if absent"),
        ("version" = Option<u32>, Query, description = "Only of runs of this graph version")),
    responses((status = 200, description = "The profile", body = GraphProfileView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn graph_profile(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let until = query.read("until", "an RFC 3339 time", time).unwrap_or_else(Utc::now);
    let since = query.read("since", "an RFC 3339 time", time).unwrap_or_else(|| before(until));
    let version = query.number("version");
    query.close()?;
    let request = ProfileRequest { version, since, until };
    let graph = GraphRef::parse(&graph);
    let profile = app.graph_profile(&caller.scope(), &graph, request).await?;
    Ok(answer::ok(&GraphProfileView::of(request, &profile)))
}

fn before(until: DateTime<Utc>) -> DateTime<Utc> {
    until.checked_sub_signed(DEFAULT_TIME).unwrap_or(DateTime::<Utc>::MIN_UTC)
}
