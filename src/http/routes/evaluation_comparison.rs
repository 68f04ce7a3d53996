//! `/v1/evaluations/{id}/comparison`: two evaluations beside each other.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::app::{App, Compared};
use crate::http::protocol::answer;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::page::{PageParams, PageRequest};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::Query;
use crate::http::protocol::raw_json::RawJson;
use crate::http::routes::evaluation::float;
use crate::http::views::EvaluationComparison;
use crate::store::evaluation::{EvaluationRow, PairRow};

/// Compare two evaluations
///
/// Example by example, matched by id: the mean scores of the examples that both have, what they gained,
/// and the 95 % confidence interval of that (a paired bootstrap, the same each time). A gain is certain
/// where `low` is more than 0. The pairs come in pages, the greatest losses first.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/comparison", tag = "evaluations",
    params(
        ("id" = String, Path, description = "The evaluation's id"),
        ("against" = String, Query, description = "The id of the evaluation before it"),
        PageParams),
    responses((status = 200, description = "Both, beside each other", body = EvaluationComparison)),
    extensions(("x-problems" = json!(["not_found", "not_comparable"])))
)]
pub(crate) async fn evaluation_comparison(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let against =
        query.required("against", "the id of an evaluation", |text| Uuid::try_parse(text).ok());
    let list = format!("comparison of {id} {}", against.unwrap_or_default());
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let against = against.unwrap_or_default();
    let compared = app.evaluation_compare(&caller.scope(), id, against).await?;
    Ok(answer::ok(&RawJson::from(comparison_json(&compared, &page))))
}

fn comparison_json(compared: &Compared, page: &PageRequest) -> String {
    let Compared { before, after, sum, pairs } = compared;
    let from: usize = page.number().unwrap_or(0);
    let shown: Vec<&PairRow> = pairs.iter().skip(from).take(page.limit as usize).collect();
    let end = from + shown.len();
    let mut object = JsonObject::with_capacity(512 + 128 * shown.len());
    object.raw("before", &side_json(before, sum.mean_before));
    object.raw("after", &side_json(after, sum.mean_after));
    object.shown("n", sum.n).raw("gain", &float(sum.gain));
    object.raw("low", &float(sum.low)).raw("high", &float(sum.high));
    object.shown("wins", sum.wins).shown("ties", sum.ties).shown("losses", sum.losses);
    object.list("pairs", shown.into_iter().map(pair_json));
    object.text_or_null("next_cursor", page.next((end < pairs.len()).then_some(end)).as_deref());
    object.finish()
}

fn side_json(row: &EvaluationRow, mean: f64) -> String {
    let mut object = JsonObject::with_capacity(512);
    object.shown_text("id", row.id).text("graph", &row.graph_name);
    object.shown("version", row.graph_version).shown("state_version", row.state_version);
    object.raw("dataset", &row.dataset).text("status", row.status.as_str());
    object.raw("mean_score", &float(mean));
    object.finish()
}

fn pair_json(pair: &PairRow) -> String {
    let mut object = JsonObject::new();
    object.text("example_id", &pair.example_id);
    object.raw("before", &float(pair.before)).raw("after", &float(pair.after));
    object.raw("gain", &float(pair.after - pair.before));
    object.finish()
}
