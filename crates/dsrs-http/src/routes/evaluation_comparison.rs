//! `/v1/evaluations/{id}/comparison`: compares two evaluations.

use axum::response::Response;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::protocol::resource::{ById, ResourceRequest};
use crate::views::EvaluationComparisonView;

/// Compare two evaluations
///
/// Matches examples by their ids. The answer has the mean scores of the examples that both
/// evaluations have, the mean gain and its 95 % confidence interval (a deterministic paired
/// bootstrap). A gain is significant if `low` is above 0. `pairs` is paged, the greatest losses first.
#[utoipa::path(
    get, path = "/v1/evaluations/{id}/comparison", tag = "evaluations",
    params(
        ("against" = Uuid, Query, description = "The id of the evaluation to compare against"),
        PageParams),
    responses((status = 200, description = "The comparison", body = EvaluationComparisonView)),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["not_comparable"])))
)]
pub(crate) async fn evaluation_comparison(
    request: ById,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let against =
        query.required("against", "the id of an evaluation", |text| Uuid::try_parse(text).ok());
    let list = format!("comparison of {id} {}", against.unwrap_or_default());
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let against = against.unwrap_or_default();
    let compared = app.evaluation_compare(&scope, id, against).await?;
    let from = page.numbered::<usize>()?.after.unwrap_or(0);
    let pairs = compared.pairs.get(from..).unwrap_or_default();
    let shown = pairs.get(..page.limit as usize).unwrap_or(pairs);
    let next = page.next((shown.len() < pairs.len()).then_some(from + shown.len()));
    Ok(answer::ok(&EvaluationComparisonView::new(&compared, shown, next)))
}
