//! A small optimizer: it tries instructions for one predictor of a module, which it reaches by
//! path, and keeps the best. It knows the module's types only for its inputs and the score.

use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::module::named_predictors_mut;
use dsrs::predict::PredictState;
use dsrs::problem::At;
use dsrs::{Ctx, Module};

/// An input, and how good an output is for it, from 0 to 1.
pub type Case<M> = (<M as Module>::Input, Box<dyn Fn(&<M as Module>::Output) -> f64 + Send + Sync>);

/// Tries every instruction at `path`, keeps the best in the module, and gives its mean score.
///
/// # Errors
/// When the module has no predictor at `path`, or a run fails.
pub async fn tune<M>(
    module: &mut M,
    ctx: &Ctx,
    path: &str,
    instructions: &[&str],
    cases: &[Case<M>],
) -> Result<f64, String>
where
    M: Module + Facet<'static>,
    M::Input: Clone,
{
    let mut best = (score(module, ctx, cases).await?, state(module, path)?);
    for instruction in instructions {
        let tried = PredictState { instruction: Some(Arc::from(*instruction)), ..best.1.clone() };
        load(module, path, tried.clone())?;
        let reached = score(module, ctx, cases).await?;
        if reached > best.0 {
            best = (reached, tried);
        }
    }
    load(module, path, best.1)?;
    Ok(best.0)
}

async fn score<M: Module>(module: &M, ctx: &Ctx, cases: &[Case<M>]) -> Result<f64, String>
where
    M::Input: Clone,
{
    let mut sum = 0.0;
    for (input, judge) in cases {
        let result = module.call(ctx, input.clone()).await.map_err(|error| error.to_string())?;
        sum += judge(&result);
    }
    Ok(sum / cases.len() as f64)
}

fn state<M: Facet<'static>>(module: &mut M, path: &str) -> Result<PredictState, String> {
    let mut found = named_predictors_mut(module).map_err(|error| error.to_string())?;
    let found = found.iter_mut().find(|(known, _)| known == path);
    let (_, predictor) = found.ok_or_else(|| format!("there is no predictor `{path}`"))?;
    Ok(predictor.state().clone())
}

fn load<M: Facet<'static>>(module: &mut M, path: &str, state: PredictState) -> Result<(), String> {
    let found = named_predictors_mut(module).map_err(|error| error.to_string())?;
    let mut at_path = found.into_iter().filter(|(known, _)| known == path);
    let (_, predictor) = at_path.next().ok_or_else(|| format!("there is no predictor `{path}`"))?;
    predictor.load_state(state, &At::Root).map_err(|problems| problems.to_string())
}
