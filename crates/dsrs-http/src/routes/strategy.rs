//! `/v1/strategies`, `/v1/models`, `/v1/types/assignable`: the strategies and models of the server, and
//! types without a graph.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::strategy::{StrategyFactory, registry};

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::page::{PageParams, PageRequest, slice};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::views::{
    AssignableRequest, AssignableView, ModelPage, ModelView, PreviewRequest, PreviewView,
    StrategyPage, StrategyView,
};
use dsrs_app::App;
use dsrs_config::ModelConfig;

/// List strategies
///
/// The prompting strategies that nodes may use.
#[utoipa::path(
    get, path = "/v1/strategies", tag = "strategies",
    params(PageParams),
    responses((status = 200, description = "A page", body = StrategyPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn strategy_list(mut query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "strategies");
    query.close()?;
    let all: Vec<&'static dyn StrategyFactory> = registry::list().collect();
    let (items, next) = slice(&all, &page, |strategy| strategy.name());
    let items = items.iter().map(|strategy| StrategyView::from(*strategy));
    Ok(answer::ok(&page.view(items, next)))
}

/// Read a strategy
#[utoipa::path(
    get, path = "/v1/strategies/{name}", tag = "strategies",
    params(("name" = String, Path, example = "predict", description = "The name of the strategy")),
    responses((status = 200, description = "The strategy", body = StrategyView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn strategy_get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    Ok(answer::ok(&StrategyView::from(app.strategy_get(&name)?)))
}

/// Preview a strategy
///
/// The signature as the strategy transforms it, and each predictor with its signature and system
/// prompt.
#[utoipa::path(
    post, path = "/v1/strategies/{name}/preview", tag = "strategies",
    params(("name" = String, Path, example = "predict", description = "The name of the strategy")),
    request_body(content = PreviewRequest, example = json!(crate::routes::examples::preview())),
    responses((status = 200, description = "The strategy applied to the signature", body = PreviewView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn strategy_preview(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let preview = app.strategy_preview(&caller.scope(), &name, &document.parsed).await?;
    Ok(answer::ok(&PreviewView::from(&preview)))
}

/// List models
///
/// The configured aliases, without API keys.
#[utoipa::path(
    get, path = "/v1/models", tag = "strategies",
    params(PageParams),
    responses((status = 200, description = "A page", body = ModelPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn model_list(
    State(app): State<Arc<App>>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "models");
    query.close()?;
    let settings = &app.model_settings;
    let all: Vec<(&str, &ModelConfig)> = settings.iter().collect();
    let (items, next) = slice(&all, &page, |(alias, _)| *alias);
    let default = settings.default_alias();
    let items =
        items.iter().map(|(alias, model)| ModelView::new(alias, model, default == Some(alias)));
    Ok(answer::ok(&page.view(items, next)))
}

/// Compare two types
///
/// Whether every value of type `from` may be used as `to`, and the first difference if not.
#[utoipa::path(
    post, path = "/v1/types/assignable", tag = "strategies",
    request_body(content = AssignableRequest, example = json!(crate::routes::examples::assignable())),
    responses((status = 200, description = "The result", body = AssignableView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn type_assignable(
    State(app): State<Arc<App>>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let found = app.type_assignable(&document.parsed)?;
    Ok(answer::ok(&AssignableView::from(&found)))
}
