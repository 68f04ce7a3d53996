//! Runs: executed at `/v1/graphs/{graph}/execute`, listed and read at `/v1/runs`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::protocol::accept::PrefersEvents;
use crate::protocol::answer;
use crate::protocol::body::{Document, PostedBody};
use crate::protocol::caller::Caller;
use crate::protocol::idempotency::{IdempotencyKey, KeyedRequest, hash_of, once};
use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query, plain_number};
use crate::protocol::raw_json::RawJson;
use crate::routes::feedback_filter;
use crate::routes::run_events::{self, StreamRequest};
use crate::views::{
    ExecuteBody, RunEvents, RunFeedbackView, RunItemView, RunPage, RunScoreView, RunView,
};
use dsrs_app::{App, ExecuteRequest, RequestId};
use dsrs_store::graph::GraphRef;
use dsrs_store::run::{RunFilter, RunStatus};
use dsrs_store::run_label::RunLabel;

/// The longest text that problems are searched for, in characters.
const LONGEST_PROBLEM_TEXT: usize = 200;

/// The most labels that a list is narrowed to.
const MOST_FILTERS: usize = 32;

/// Execute a graph
///
/// Runs the graph and answers the run when it has ended. The answer of a failed run is its problem,
/// which names `run_id`, `node` and `predictor`; the run is recorded with it. With
/// `Accept: text/event-stream` the answer is a stream of events, including the texts of fields as they
/// arrive. The data of the last event is the answer without streaming.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/execute", tag = "runs",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe"),
        ("X-Dsrs-Tags" = Option<String>, Header, description = "`tags`, separated by commas. The body takes precedence over all these headers"),
        ("X-Dsrs-Session-Id" = Option<String>, Header, description = "`session_id`"),
        ("X-Dsrs-User-Id" = Option<String>, Header, description = "`user_id`"),
        ("X-Dsrs-Metadata" = Option<String>, Header, description = "`metadata`, a JSON object as text")),
    request_body(content = ExecuteBody, example = json!(crate::routes::examples::execute())),
    responses(
        (status = 200, description = "The run, or its events", content(
            (RunView = "application/json"), (RunEvents = "text/event-stream"))),
        (status = 202, description = "The run, which waits for a signal", body = RunView,
            headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("run")),
        ("x-problems" = json!(["invalid_input", "state_mismatch", "unknown_model", "no_model",
        "missing_graph", "tools_unsupported", "tool_failed", "tool_unavailable", "program_failed", "sandbox_failed", "module_failed",
        "op_failed", "parse_error", "answer_incomplete", "answer_filtered", "provider_quota_exhausted",
        "constraint_failed", "reward_failed", "budget_spent", "invalid_value", "run_cancelled",
        "rate_limited", "lm_error", "timeout", "idempotency_key_reused", "idempotency_in_progress"])), ("x-runs-on" = json!("connection")))
)]
pub(crate) async fn run_execute(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    headers: (PrefersEvents, Result<LabelHeaders, ApiProblem>),
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document, permit }: PostedBody,
) -> Response {
    let (PrefersEvents(prefers_events), labels) = headers;
    let scope = caller.scope();
    let (request_id, place) = (caller.request_id.clone(), caller.place.clone());
    let request = move || {
        query?;
        Ok(ExecuteRequest { place, ..read_request(&document?, labels?, request_id)? })
    };
    let route = || format!("POST /v1/graphs/{}/execute", graph.escape_debug());
    if prefers_events {
        let (route, graph) = (route(), GraphRef::parse(&graph));
        let request = StreamRequest { key, route, body: bytes, graph, request: request() };
        return Box::pin(run_events::execute(app, caller, request)).await;
    }
    let keyed = match key.is_given() {
        true => KeyedRequest::new(&app, &caller, key, route(), || hash_of(&bytes)),
        false => None,
    };
    let (has_key, graph) = (keyed.is_some(), GraphRef::parse(&graph));
    let work = Box::pin(async move {
        let _permit = permit;
        let run = app.run_execute(&scope, &graph, request()?).await?;
        let response = run_events::finished_response(&run);
        Ok(if has_key { run_events::for_repeats(response, &run) } else { response })
    });
    once(keyed, work).await
}

/// Reads a request to execute a graph, whose headers may have labels, too.
pub(crate) fn read_request(
    document: &Document,
    headers: LabelHeaders,
    request_id: RequestId,
) -> Result<ExecuteRequest, ApiProblem> {
    let request = ExecuteRequest::read(&document.parsed, request_id)?;
    Ok(ExecuteRequest { labels: headers.or_body(request.labels), ..request })
}

/// List runs
///
/// Newest first, without inputs, outputs, nodes and trace. `metadata.KEY=VALUE` lists only runs whose metadata have this
/// member; all filters narrow the list together.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs",
    params(
        ("graph" = Option<String>, Query, description = "Only runs of this graph: name or id"),
        ("status" = Option<String>, Query, pattern = "^(queued|running|waiting|succeeded|failed|cancelled)$", description = "Only runs with this status"),
        ("since" = Option<String>, Query, description = "Created at this time (RFC 3339) or later"),
        ("until" = Option<String>, Query, description = "Created before this time (RFC 3339)"),
        ("version" = Option<u32>, Query, description = "Only runs of this graph version"),
        ("state_version" = Option<u32>, Query, description = "Only runs with this state version"),
        ("problem" = Option<String>, Query, min_length = 1, max_length = 200, pattern = "^[^\\u0000]+$", description = "Only runs whose problem contains this text, in any case"),
        ("tag" = Option<Vec<String>>, Query, description = "Only runs with this tag; given several times: with all of them"),
        ("session_id" = Option<String>, Query, min_length = 1, description = "Only runs of this session"),
        ("user_id" = Option<String>, Query, min_length = 1, description = "Only runs of this user"),
        ("error_code" = Option<String>, Query, min_length = 1, description = "Only runs that ended with this code, or have a node that did"),
        ("min_duration_ms" = Option<u64>, Query, description = "Only runs that took so long or longer"),
        ("max_duration_ms" = Option<u64>, Query, description = "Only runs that took so long or shorter"),
        ("score" = Option<String>, Query, pattern = "^[A-Za-z0-9._-]{1,64}$", description = "Only runs with a score of this name"),
        ("min_score" = Option<f64>, Query, minimum = 0, maximum = 1, description = "With `score`: one of this or more"),
        ("max_score" = Option<f64>, Query, minimum = 0, maximum = 1, description = "With `score`: one of this or less"),
        ("category" = Option<String>, Query, min_length = 1, max_length = 64, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$", description = "With `score`: one that is this category"),
        ("source" = Option<String>, Query, pattern = "^[A-Za-z0-9._-]{1,64}$", description = "With `score` or `corrected`: feedback from this source"),
        ("corrected" = Option<String>, Query, pattern = "^true$", description = "`true`: only runs with corrected outputs"),
        PageParams),
    responses((status = 200, description = "A page", body = RunPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn run_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "runs");
    let statuses = "queued, running, waiting, succeeded, failed or cancelled";
    let filter = RunFilter {
        graph: query.name("graph").map(|graph| GraphRef::parse(&graph)),
        status: query.read("status", statuses, RunStatus::parse),
        since: query.read("since", "an RFC 3339 time", time),
        until: query.read("until", "an RFC 3339 time", time),
        version: query.number("version"),
        state_version: query.number("state_version"),
        problem: query.read("problem", "a text of 1 to 200 characters", problem_text),
        labels: label_filters(&mut query),
        min_duration: query.read("min_duration_ms", "a number of milliseconds", plain_number),
        max_duration: query.read("max_duration_ms", "a number of milliseconds", plain_number),
        feedback: feedback_filter::read(&mut query),
    };
    query.close()?;
    let scope = caller.scope();
    let runs = app.run_list(&scope, &filter, page.newest()?).await?;
    let ids: Vec<Uuid> = runs.items.iter().map(|run| run.id).collect();
    let scores = app.run_scores(&scope, &ids).await?;
    Ok(page.respond(&runs, |run| {
        let scores = scores.get(&run.id).map_or(&[][..], Vec::as_slice);
        RunItemView { scores: RunScoreView::all(scores), ..RunItemView::from(run) }
    }))
}

/// Reads the labels that a list is narrowed to, those first that usually have the fewest runs.
pub(crate) fn label_filters(query: &mut Query) -> Vec<RunLabel> {
    let wanted = "a text that is not empty";
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut labels = Vec::new();
    labels.extend(query.read("session_id", wanted, text).map(RunLabel::session));
    for (name, value) in query.with_prefix("metadata.") {
        labels.push(RunLabel::metadata(&name, value));
    }
    labels.extend(query.read("user_id", wanted, text).map(RunLabel::user));
    labels.extend(query.read("error_code", wanted, text).map(RunLabel::error_code));
    labels.extend(query.all("tag").into_iter().map(RunLabel::tag));
    if labels.len() > MOST_FILTERS {
        query.refuse(&format!("at most {MOST_FILTERS} labels filter a list"));
        labels.truncate(MOST_FILTERS);
    }
    labels
}

/// Reads a text that problems are searched for.
pub fn problem_text(text: &str) -> Option<String> {
    (1..=LONGEST_PROBLEM_TEXT).contains(&text.chars().count()).then(|| text.to_owned())
}

/// Reads a time from a query.
pub fn time(text: &str) -> Option<DateTime<Utc>> {
    // A `+` that was not percent-encoded arrives as a space.
    let text = text.replace(' ', "+");
    DateTime::parse_from_rfc3339(&text).ok().map(|time| time.with_timezone(&Utc))
}

/// Read a run
///
/// Complete, with its trace; if the run has not ended, with its progress so far. Runs of deleted graphs
/// stay readable. A run that retention has moved to the archive has `archived: true`; lists do not have it.
/// With `include=provenance` the answer names the nodes, parameters, inputs and LM calls from which each
/// output comes, down to the field. Provenance is computed on demand.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs",
    params(("include" = Option<String>, Query, pattern = "^provenance(,provenance)*$", description = "`provenance`: the origin of each output")),
    responses((status = 200, description = "The run", body = RunView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn run_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let includes = query.read("include", "`provenance`", included);
    query.close()?;
    let scope = caller.scope();
    let (run, archived) = app.run_find(&scope, path::id(&id)?).await?;
    let run = Arc::new(run);
    let provenance = match includes {
        Some(()) => Some(Box::pin(app.run_provenance(&scope, run.clone())).await?),
        None => None,
    };
    let provenance = provenance.map(RawJson::from);
    let scores = app.run_scores(&scope, &[run.id]).await?;
    let feedback = scores.get(&run.id).map_or(&[][..], Vec::as_slice);
    let feedback = (!archived).then(|| RunFeedbackView::from(feedback));
    Ok(answer::ok(&RunView { provenance, archived, feedback, ..RunView::from(&*run) }))
}

/// Reads the comma-separated names of optional members; `provenance` is the only one.
fn included(words: &str) -> Option<()> {
    words.split(',').all(|word| word == "provenance").then_some(())
}
