//! `/v1/optimizers`: the optimizers of the server.

use axum::extract::Path;
use axum::response::Response;
use dsrs::optimize::{OptimizerFactory, optimizers};

use crate::protocol::answer;
use crate::protocol::page::{PageParams, PageRequest, slice};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::views::{OptimizerPage, OptimizerView};

/// List optimizers
///
/// In alphabetical order, each with the JSON Schema of its config.
#[utoipa::path(
    get, path = "/v1/optimizers", tag = "optimizations",
    params(PageParams),
    responses((status = 200, description = "A page", body = OptimizerPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn optimizer_list(mut query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "optimizers");
    query.close()?;
    let all: Vec<&dyn OptimizerFactory> = optimizers().collect();
    let (items, next) = slice(&all, &page, |optimizer| optimizer.name());
    Ok(answer::ok(&page.view(items.iter().copied().map(OptimizerView::from), next)))
}

/// Read an optimizer
#[utoipa::path(
    get, path = "/v1/optimizers/{name}", tag = "optimizations",
    params(("name" = String, Path, example = "labeled_few_shot", description = "The name of the optimizer")),
    responses((status = 200, description = "The optimizer", body = OptimizerView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn optimizer_get(
    Path(name): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = optimizers().find(|optimizer| optimizer.name() == name);
    let missing = || {
        let detail = format!("there is no optimizer `{name}`; GET /v1/optimizers lists them");
        ApiProblem::not_found(detail)
    };
    Ok(answer::ok(&OptimizerView::from(found.ok_or_else(missing)?)))
}
