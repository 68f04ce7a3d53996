//! Scoring by an LM: a signature with an output that is the score.

use std::sync::Arc;

use super::inputs::JudgeInputs;
use super::values::{JudgedFields, JudgedValues};
use super::{JudgeOutput, Judgement, read_judgement};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::read::{Object, shared_text};
use crate::signature::read_signature;
use crate::strategy::config::{config_schema, schema};
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

/// The config schema that [`LmJudge::read`] accepts; `fed` describes where inputs come from, and `more`
/// are further members.
pub(crate) fn judge_schema<'p>(
    fed: &str,
    more: impl IntoIterator<Item = (&'p str, Payload)>,
) -> Payload {
    let signature = format!(r#"{{"description": "the signature of the judge: {fed}"}}"#);
    let own = [
        ("signature", signature.as_str()),
        (
            "score",
            r#"{"type": "string", "description": "the output that is the score: a number, or a bool"}"#,
        ),
        (
            "strategy",
            r#"{"type": "string", "default": "predict", "description": "the strategy of the judge"}"#,
        ),
        ("config", r#"{"type": "object", "description": "the config of the strategy"}"#),
    ];
    let own = own.map(|(name, text)| (name, schema(text)));
    config_schema(own.into_iter().chain(more), &["signature", "score"])
}

impl LmJudge {
    pub(super) fn read(
        env: &dyn BuildEnv,
        judge: &Payload,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut scope = view.schema.map_or_else(TypeScope::new, |shown| shown.defs.clone().into());
        let Some(mut object) = Object::open(judge, at, &mut problems) else { return Err(problems) };
        let draft = object.required("signature", |payload, at, problems| {
            read_signature(payload, &mut scope, at, problems)
        });
        let score = object.required("score", shared_text);
        let feedback = object.optional("feedback", shared_text);
        let strategy = object.optional("strategy", shared_text);
        let config = object.optional("config", |config, _, _| Some(config));
        // Metrics read it themselves.
        object.ignore(&["scale"]);
        object.close();
        let strategy = strategy.as_deref().unwrap_or("predict");
        let (Some(draft), Some(score)) = (draft, score) else {
            problems.also(registry::check(strategy, config, at).err().unwrap_or_default());
            return Err(problems);
        };
        let base = Arc::new(draft.finish(scope.finish()));
        let module = registry::create(env, strategy, &base, config, at);
        let module = module.and_then(|made| check_parks(&*made, strategy, at).map(|()| made));
        let module = match module {
            Ok(module) => InnerModule::under(JUDGE, module),
            Err(found) => {
                problems.append(found);
                return Err(problems);
            }
        };
        JudgeOutput::Score.check(
            "the judge",
            module.schema(),
            &score,
            &at.key("score"),
            &mut problems,
        );
        if let Some(name) = &feedback {
            let place = at.key("feedback");
            JudgeOutput::Feedback.check("the judge", module.schema(), name, &place, &mut problems);
        }
        match JudgeInputs::between(view, module.schema(), &at.key("signature")) {
            Ok(feeds) if problems.is_empty() => Ok(Self { module, score, feedback, feeds }),
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
