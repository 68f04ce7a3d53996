//! A module inside another one: built by the registry from `{strategy, config?}`, with its predictors
//! under a name of their own. Does not know what the outer strategy does with it.

use std::sync::Arc;

use super::config::WrappedStrategy;
use super::{BuildEnv, DynModule, RecordedCall, Sources, registry};
use crate::predict::{Ctx, DynPredictor, PredictError, SignatureChecks};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Selection};

/// The name under which the predictors of the inner module are found.
pub(super) const MODULE: &str = "module";

/// How many attempts a call may make in total, including attempts within attempts: all of them may
/// wait for an LM at the same time.
const ATTEMPT_LIMIT: usize = 1_000;

/// A module inside another one.
pub(super) struct InnerModule {
    module: Box<dyn DynModule>,
    checks: SignatureChecks,
    paths: Vec<String>,
}

impl InnerModule {
    /// Puts the predictors of a module under a name: `name`, or `name.path`.
    pub(super) fn under(name: &str, mut module: Box<dyn DynModule>) -> Self {
        let mut paths = Vec::new();
        for (path, predictor) in module.predictors_mut() {
            let path = if path.is_empty() { name.to_owned() } else { format!("{name}.{path}") };
            predictor.set_path(path.as_str().into());
            paths.push(path);
        }
        let checks = SignatureChecks::of(module.schema());
        Self { module, checks, paths }
    }

    /// Builds the strategy in the member `module` of a config; `at` is the node's place.
    pub(super) fn build(
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        wrapped: &WrappedStrategy,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let WrappedStrategy { strategy, config } = wrapped;
        let (config_at, signature_at) = (at.key("config"), at.key("signature"));
        let here = config_at.key(MODULE);
        let module = registry::create(env, strategy, base, config.as_ref(), &here)
            .map_err(|problems| moved(problems, &here.key("signature"), &signature_at))?;
        check_parks(&*module, strategy, &here)?;
        Ok(Self::under(MODULE, module))
    }

    pub(super) fn schema(&self) -> &Arc<SignatureSchema> {
        self.module.schema()
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let handles = self.module.predictors().into_iter().map(|(_, predictor)| predictor);
        self.paths.iter().map(String::as_str).zip(handles).collect()
    }

    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let handles = self.module.predictors_mut().into_iter().map(|(_, predictor)| predictor);
        self.paths.iter().map(String::as_str).zip(handles).collect()
    }

    /// Whether it never waits.
    pub(super) fn computes(&self) -> bool {
        self.module.compute().is_some()
    }

    pub(super) fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        self.module.sources(call, part)
    }

    /// Runs it once; its inputs and outputs are checked.
    pub(super) async fn forward(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        self.checks.admit_inputs(&input)?;
        let outputs = self.module.forward(ctx, input).await?;
        self.checks.admit_outputs(&outputs)?;
        Ok(outputs)
    }
}

/// Refuses a strategy that parks the run inside another strategy; `at` is its place.
pub(super) fn check_parks(
    module: &dyn DynModule,
    strategy: &str,
    at: &At<'_>,
) -> Result<(), Problems> {
    if !module.parks() {
        return Ok(());
    }
    let pointer = at.key("strategy").pointer();
    let detail = format!(
        "a run that waits for a value can only resume from a node: make `{strategy}` a node of its own"
    );
    Err(Problem { pointer, code: Code::InvalidConfig, detail }.into())
}

/// Refuses a number of attempts, in the member `name` of a config, if the attempts within them add up to too many.
pub(super) fn check_attempts(
    (name, attempts): (&str, usize),
    within: usize,
    at: &At<'_>,
) -> Result<(), Problems> {
    let all = attempts.saturating_mul(within);
    if all <= ATTEMPT_LIMIT {
        return Ok(());
    }
    let pointer = at.key("config").key(name).pointer();
    let detail = format!(
        "{attempts} attempts with {within} attempts within each are {all}; at most {ATTEMPT_LIMIT} are \
         allowed"
    );
    Err(Problem { pointer, code: Code::TooLarge, detail }.into())
}

/// Moves problems that the inner strategy found in the signature to where the signature is written.
fn moved(problems: Problems, from: &At<'_>, to: &At<'_>) -> Problems {
    let (from, to) = (from.pointer(), to.pointer());
    problems.map(|mut problem| {
        if let Some(rest) = problem.pointer.strip_prefix(&from) {
            problem.pointer = format!("{to}{rest}");
        }
        problem
    })
}
