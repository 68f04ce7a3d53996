//! `/v1/datasets/{dataset}/check`: do the examples of a dataset match a graph?

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::status::ProblemCode;
use crate::views::{DatasetCheckBody, FittingDatasetView};
use dsrs_app::{App, DatasetCheck};

/// Check that a dataset matches a graph
///
/// The inputs of each example must be valid inputs of a run, and each expected output must have the
/// type of that output. Nothing is stored. Evaluations and optimizations make the same check.
#[utoipa::path(
    post, path = "/v1/datasets/{dataset}/check", tag = "datasets",
    request_body(content = DatasetCheckBody, example = json!(crate::routes::examples::dataset_check())),
    responses((status = 200, description = "The dataset matches the graph", body = FittingDatasetView)),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["invalid_input"])))
)]
pub(crate) async fn dataset_check(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let (check, faults) = document.read(DatasetCheck::read)?;
    if !faults.is_empty() {
        return Err(ApiProblem::of(ProblemCode::InvalidRequest, faults));
    }
    let (pick, fitting) = Box::pin(app.dataset_check(&caller.scope(), &name, check)).await?;
    Ok(answer::ok(&FittingDatasetView::new(&pick, &fitting)))
}
