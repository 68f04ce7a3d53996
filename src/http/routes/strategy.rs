//! `/v1/strategies`, `/v1/models`, `/v1/types/assignable`: what the server offers, and what it
//! makes of types and signatures without a graph.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::signature::{SignatureSchema, signature_to_payload};
use dsrs::strategy::{StrategyFactory, registry};
use dsrs::value::Payload;

use crate::app::App;
use crate::app::json::JsonObject;
use crate::config::ModelConfig;
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::page::{PageParams, PageRequest, slice};
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::views::{
    AssignableAnswer, AssignableRequest, ModelPage, PreviewAnswer, PreviewRequest, Strategy,
    StrategyPage,
};

/// List strategies
///
/// The registry of prompting strategies that nodes may name.
#[utoipa::path(
    get, path = "/v1/strategies", tag = "strategies",
    params(PageParams),
    responses((status = 200, description = "A page", body = StrategyPage))
)]
pub(crate) async fn strategy_list(mut query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "strategies");
    query.close()?;
    let all: Vec<&dyn StrategyFactory> = registry::list().collect();
    let (items, next) = slice(&all, &page, |strategy| strategy.name());
    let items = items.iter().map(|strategy| strategy_json(*strategy));
    Ok(page.answer(items, next))
}

/// Read a strategy
#[utoipa::path(
    get, path = "/v1/strategies/{name}", tag = "strategies",
    params(("name" = String, Path, description = "The strategy's name")),
    responses((status = 200, description = "The strategy", body = Strategy)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn strategy_get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    Ok(answer::ok(&RawJson::from(strategy_json(app.strategy_get(&name)?))))
}

/// Preview a strategy
///
/// The signature as the strategy transforms it, and each predictor's with its system prompt.
#[utoipa::path(
    post, path = "/v1/strategies/{name}/preview", tag = "strategies",
    params(("name" = String, Path, description = "The strategy's name")),
    request_body(content = PreviewRequest, example = json!(crate::http::routes::examples::preview())),
    responses((status = 200, description = "What it makes of the signature", body = PreviewAnswer)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn strategy_preview(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let preview = app.strategy_preview(&caller.scope(), &name, &document.parsed).await?;
    let mut predictors = JsonObject::new();
    for (path, predictor) in &preview.predictors {
        let mut object = JsonObject::with_capacity(1024);
        object.raw("schema", &schema_json(&predictor.schema)).text("system", &predictor.system);
        predictors.raw(path, &object.finish());
    }
    let mut object = JsonObject::with_capacity(2048);
    object.raw("schema", &schema_json(&preview.schema)).raw("predictors", &predictors.finish());
    Ok(answer::ok(&RawJson::from(object.finish())))
}

/// List models
///
/// The configured aliases, without their keys.
#[utoipa::path(
    get, path = "/v1/models", tag = "strategies",
    params(PageParams),
    responses((status = 200, description = "A page", body = ModelPage))
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
    let items = items.iter().map(|(alias, model)| model_json(alias, model, default == Some(alias)));
    Ok(page.answer(items, next))
}

/// Compare two types
///
/// Whether every value of `from` may be delivered where `to` is wanted, and where they part.
#[utoipa::path(
    post, path = "/v1/types/assignable", tag = "strategies",
    request_body(content = AssignableRequest, example = json!(crate::http::routes::examples::assignable())),
    responses((status = 200, description = "Whether, and why not", body = AssignableAnswer))
)]
pub(crate) async fn type_assignable(
    State(app): State<Arc<App>>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let found = app.type_assignable(&document.parsed)?;
    let mut object = JsonObject::new();
    object.shown("assignable", found.mismatch.is_none());
    object.text("from", &found.from).text("to", &found.to);
    if let Some((path, reason)) = &found.mismatch {
        object.text("path", path).text("reason", reason);
    }
    Ok(answer::ok(&RawJson::from(object.finish())))
}

fn strategy_json(strategy: &dyn StrategyFactory) -> String {
    let mut object = JsonObject::with_capacity(512);
    object.text("name", strategy.name()).text("description", strategy.description());
    object.raw("config_schema", &strategy.config_schema().to_json());
    object.shown("calls_lm", strategy.calls_lm());
    let quoted = |path: &&str| Payload::from(*path).to_json();
    object.list("predictors", strategy.predictors().iter().map(quoted));
    object.finish()
}

fn schema_json(schema: &SignatureSchema) -> String {
    signature_to_payload(schema).to_json()
}

fn model_json(alias: &str, model: &ModelConfig, default: bool) -> String {
    let number = |found: Option<f64>| found.map(|found| Payload::Float(found).to_json());
    let mut object = JsonObject::new();
    object.text("name", alias).text("provider", model.provider.as_str());
    object.text("model", &model.model).shown("default", default);
    object.raw_or_null("temperature", number(model.temperature).as_deref());
    object.raw_or_null("max_tokens", model.max_tokens.map(|n| n.to_string()).as_deref());
    object.raw_or_null("top_p", number(model.top_p).as_deref());
    object.raw_or_null("seed", model.seed.map(|n| n.to_string()).as_deref());
    let quoted = |word: &str| Payload::from(word).to_json();
    object.list("capabilities", model.capabilities.iter().map(|found| quoted(found.as_str())));
    object.text("constrain", model.constrain.as_str());
    object.list("fallback", model.fallback.iter().map(|alias| quoted(alias)));
    object.finish()
}
