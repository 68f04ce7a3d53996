//! Scoring by an LM: a signature with an output that is the score.

use std::sync::Arc;

use facet::Facet;

use super::inputs::JudgeInputs;
use super::values::{JudgedFields, JudgedValues};
use super::{JudgeOutput, Judgement, read_judgement};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::read_signature;
use crate::strategy::inner_module::{InnerModule, check_parks};
use crate::strategy::{BuildEnv, registry};
use crate::types::TypeScope;
use crate::value::Payload;

/// The name under which the predictors of the judge are found.
pub(in crate::strategy) const JUDGE: &str = "judge";

/// An LM that scores.
pub(crate) struct LmJudge {
    module: InnerModule,
    score: Arc<str>,
    feedback: Option<Arc<str>>,
    feeds: JudgeInputs,
}

/// The settings of a judge.
#[derive(Facet)]
pub(crate) struct JudgeConfig {
    /// The signature of the judge, whose inputs are filled by name.
    pub(crate) signature: Payload,
    /// The output that is the score: a number, or a bool.
    pub(crate) score: String,
    /// The strategy of the judge.
    #[facet(default = "predict".to_owned())]
    pub(crate) strategy: String,
    /// The config of the strategy.
    #[facet(dsrs::object)]
    pub(crate) config: Option<Payload>,
}

impl LmJudge {
    /// Builds a judge; `feedback` is the output with the reason, if there is one.
    pub(super) fn build(
        env: &dyn BuildEnv,
        judge: &JudgeConfig,
        feedback: Option<&str>,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let module = judge.module(env, view, at, &mut problems);
        let Some(module) = module else { return Err(problems) };
        let check = |role: JudgeOutput, name: &str, place: &At<'_>, problems: &mut Problems| {
            role.check("the judge", module.schema(), name, place, problems);
        };
        check(JudgeOutput::Score, &judge.score, &at.key("score"), &mut problems);
        if let Some(name) = feedback {
            check(JudgeOutput::Feedback, name, &at.key("feedback"), &mut problems);
        }
        match JudgeInputs::between(view, module.schema(), &at.key("signature")) {
            Ok(feeds) if problems.is_empty() => {
                let (score, feedback) = (judge.score.as_str().into(), feedback.map(Arc::from));
                Ok(Self { module, score, feedback, feeds })
            }
            Ok(_) => Err(problems),
            Err(found) => {
                problems.append(found);
                Err(problems)
            }
        }
    }

    pub(super) async fn of(
        &self,
        ctx: &Ctx,
        shown: JudgedValues<'_>,
    ) -> Result<Judgement, PredictError> {
        let input = self.feeds.gather(shown)?;
        let judged = self.module.forward(ctx, input).await?;
        read_judgement(&judged, &self.score, self.feedback.as_ref())
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    #[cfg(feature = "optimize")]
    pub(super) fn calls_lm(&self) -> bool {
        !self.module.computes()
    }

    pub(super) fn describe(&self) -> String {
        let task = &self.module.schema().instructions;
        format!("the `{}` that a judge assigns with this instruction: {task}", self.score)
    }

    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }
}

impl JudgeConfig {
    /// Reports what is wrong with the signature in a config that cannot be read as a whole, beside its other problems.
    #[cfg(feature = "optimize")]
    pub(crate) fn check_signature(
        config: &Payload,
        view: JudgedFields<'_>,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        if let Some(signature) = config.as_map().and_then(|members| members.get("signature")) {
            read_signature(signature, &mut scope(view), &at.key("signature"), problems);
        }
    }

    fn module(
        &self,
        env: &dyn BuildEnv,
        view: JudgedFields<'_>,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<InnerModule> {
        let mut scope = scope(view);
        let (strategy, config) = (self.strategy.as_str(), self.config.as_ref());
        let draft = read_signature(&self.signature, &mut scope, &at.key("signature"), problems);
        let Some(draft) = draft else {
            problems.also(registry::check(strategy, config, at).err().unwrap_or_default());
            return None;
        };
        let base = Arc::new(draft.finish(scope.finish()));
        let module = registry::create(env, strategy, &base, config, at);
        let module = module.and_then(|made| check_parks(&*made, strategy, at).map(|()| made));
        let module = module.map_err(|found| problems.append(found)).ok()?;
        Some(InnerModule::under(JUDGE, module))
    }
}

/// The types that a signature of a judge may name: those of what it judges.
fn scope(view: JudgedFields<'_>) -> TypeScope {
    view.schema.map_or_else(TypeScope::new, |shown| shown.defs.clone().into())
}
