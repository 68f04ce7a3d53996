//! `/v1/runs/{id}/feedback`: scores, comments and corrected outputs, given, listed and deleted; and the mean scores of
//! a graph.

use dsrs_api::plain_name::PlainName;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, map, number, text};
use dsrs::value::Payload;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::routes::key::read_name;
use crate::routes::run::time;
use crate::views::{FeedbackBody, FeedbackPage, FeedbackView, GraphScoreView, GraphScoresView};
use dsrs_app::{App, FeedbackRequest, FeedbackScore, ONLINE, USER};
use dsrs_store::feedback::FeedbackRow;
use dsrs_store::feedback_summary::ScorePeriod;
use dsrs_store::graph::GraphRef;

/// The longest category, in characters.
const LONGEST_CATEGORY: usize = 64;

/// The longest id of a person, in characters.
const LONGEST_USER: usize = 200;

/// The longest comment, in characters.
const LONGEST_COMMENT: usize = 10_000;

/// Give feedback on a run
///
/// A score with a name, a comment, or corrected outputs, which may be some of the outputs of the graph and are
/// checked against their types. A score replaces the one of the same name, `source` and `user_id`; it has the same
/// id then, and the answer is `200`. A run takes feedback in any status, 1000 pieces at most; not in the archive. The
/// id may also be the one that the OpenAI-compatible routes answered: `chatcmpl-…`, `resp_…` or `msg_…`.
#[utoipa::path(
    post, path = "/v1/runs/{id}/feedback", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = FeedbackBody, example = json!(crate::routes::examples::feedback())),
    responses(
        (status = 201, description = "The feedback", body = FeedbackView),
        (status = 200, description = "The feedback, which has replaced an earlier one", body = FeedbackView)),
    extensions(("x-scope" = json!("execute")), ("x-problems" = json!(["not_found", "run_archived",
        "rate_limited", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn feedback_give(Path(id): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/runs/{}/feedback", id.escape_debug());
    let give = |posted: PostedRequest| async move {
        let run = path::run(&id)?;
        let request = read_request(&posted.document?)?;
        let answer = posted.slot.answer(stored);
        let row = posted.app.feedback_put(&posted.scope, run, request, answer).await?;
        Ok(stored(&row))
    };
    post.answer(path, give).await
}

fn stored(row: &FeedbackRow) -> Response {
    let is_new = row.created_at == row.updated_at;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    answer::json(status, &FeedbackView::from(row))
}

fn read_request(document: &Document) -> Result<FeedbackRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let source = object.optional("source", read_source);
        let score = read_score(object);
        let comment = object.optional("comment", |payload, at, problems| {
            bounded(payload, LONGEST_COMMENT, at, problems)
        });
        let outputs =
            object.optional("outputs", |payload, at, problems| map(payload, at, problems).cloned());
        let user_id = object.optional("user_id", |payload, at, problems| {
            plain(payload, LONGEST_USER, at, problems)
        });
        let says = ["score", "category", "comment", "outputs"];
        if !says.iter().any(|member| object.has(member)) {
            let detail = "expected `score`, `category`, `comment` or `outputs`";
            let at = object.at();
            object.problems().add(at, Code::MissingField, detail);
        }
        Some(FeedbackRequest {
            source: source.unwrap_or_else(|| USER.to_owned()),
            score,
            comment,
            outputs,
            user_id: user_id.unwrap_or_default(),
            faults: Problems::new(),
        })
    })?;
    request.faults = faults;
    Ok(request)
}

/// Reads `name` with `score` or `category`.
fn read_score(object: &mut Object<'_, '_, '_>) -> Option<(PlainName, FeedbackScore)> {
    let name = object.optional("name", read_name);
    let number = object.optional("score", read_fraction);
    let category = object.optional("category", |payload, at, problems| {
        plain(payload, LONGEST_CATEGORY, at, problems)
    });
    let (has_number, has_category) = (object.has("score"), object.has("category"));
    let has_score = has_number || has_category;
    if has_number && has_category {
        let detail = "a score is a number or a category, not both";
        add_at(object, "category", Code::InvalidValue, detail);
    }
    if has_score && !object.has("name") {
        add_at(object, "name", Code::MissingField, "a score needs a `name`");
    }
    if !has_score && object.has("name") {
        let detail = "only a `score` or a `category` has a name";
        add_at(object, "name", Code::InvalidValue, detail);
    }
    let score = number.map(FeedbackScore::Number).or(category.map(FeedbackScore::Category))?;
    Some((name?, score))
}

fn add_at(object: &mut Object<'_, '_, '_>, member: &str, code: Code, detail: &str) {
    let at = object.at();
    object.problems().add(&at.key(member), code, detail);
}

fn read_fraction(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = (0.0..=1.0).contains(&found);
    if !fits {
        problems.add(at, Code::InvalidValue, format!("expected 0 to 1, found {found}"));
    }
    fits.then_some(found)
}

fn read_source(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = read_name(payload, at, problems)?;
    if found.as_str() == ONLINE {
        let detail = format!("`{ONLINE}` is the source of scores that the server computes");
        problems.add(at, Code::InvalidValue, detail);
        return None;
    }
    Some(found.as_str().to_owned())
}

/// Reads a text of 1 to some characters.
fn bounded(payload: &Payload, most: usize, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = text(payload, at, problems)?;
    if !(1..=most).contains(&found.chars().count()) {
        problems.add(at, Code::InvalidValue, format!("expected 1 to {most} characters"));
        return None;
    }
    Some(found.to_owned())
}

/// The same without control characters.
fn plain(payload: &Payload, most: usize, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let found = bounded(payload, most, at, problems)?;
    if found.contains(char::is_control) {
        problems.add(at, Code::InvalidValue, "expected no control characters");
        return None;
    }
    Some(found)
}

/// List the feedback on a run
///
/// Newest first, scores of online evaluations included.
#[utoipa::path(
    get, path = "/v1/runs/{id}/feedback", tag = "runs",
    params(("id" = String, Path, description = "The id of the run"), PageParams),
    responses((status = 200, description = "A page", body = FeedbackPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn feedback_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let run = path::run(&id)?;
    let page = PageRequest::of(format!("feedback/{run}"), query)?;
    let found = app.feedback_list(&caller.scope(), run, page.newest()?).await?;
    Ok(page.respond(&found, FeedbackView::from))
}

/// Delete feedback
#[utoipa::path(
    delete, path = "/v1/runs/{id}/feedback/{feedback}", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("feedback" = String, Path, description = "The id of the feedback")),
    responses((status = 204, description = "The feedback is deleted")),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn feedback_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, feedback)): Path<(String, String)>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    app.feedback_delete(&caller.scope(), path::run(&id)?, path::id(&feedback)?).await?;
    Ok(answer::no_content())
}

/// Read the mean scores of a graph
///
/// By graph version, name and source, the newest version first; categories are counted. At most 1000 rows.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/scores", tag = "runs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("since" = Option<String>, Query, description = "Of runs that were created at this time (RFC 3339) or later"),
        ("until" = Option<String>, Query, description = "Of runs that were created before this time (RFC 3339)")),
    responses((status = 200, description = "The scores", body = GraphScoresView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn graph_scores(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let period = ScorePeriod {
        since: query.read("since", "an RFC 3339 time", time),
        until: query.read("until", "an RFC 3339 time", time),
    };
    query.close()?;
    let scores = app.graph_scores(&caller.scope(), &GraphRef::parse(&graph), period).await?;
    Ok(answer::ok(&GraphScoresView { items: scores.iter().map(GraphScoreView::from).collect() }))
}
