//! A reward by an LM that judges: a signature of its own with an output that is the score.

use std::sync::Arc;

use super::feeds::Feeds;
use super::{score, score_type};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, listed, nearest, shared_text};
use crate::signature::{SignatureSchema, read_signature};
use crate::strategy::wrapped::{Wrapped, check_parks};
use crate::strategy::{BuildEnv, registry};
use crate::types::{Type, TypeScope, brief};
use crate::value::{Fields, Payload};

/// The name under which the judge's predictors are found.
pub(in crate::strategy) const JUDGE: &str = "judge";

/// An LM that judges.
pub(in crate::strategy) struct Judge {
    module: Wrapped,
    score: Arc<str>,
    feeds: Feeds,
}

impl Judge {
    pub(super) fn read(
        env: &dyn BuildEnv,
        judge: &Payload,
        node: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut scope = node.map_or_else(TypeScope::new, |node| node.defs.clone().into());
        let Some(mut object) = Object::open(judge, at, &mut problems) else { return Err(problems) };
        let draft = object.required("signature", |payload, at, problems| {
            read_signature(payload, &mut scope, at, problems)
        });
        let score = object.required("score", shared_text);
        let strategy = object.optional("strategy", shared_text);
        let config = object.optional("config", |config, _, _| Some(config));
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
            Ok(module) => Wrapped::under(JUDGE, module),
            Err(found) => {
                problems.extend(found);
                return Err(problems);
            }
        };
        check_score(module.schema(), &score, &at.key("score"), &mut problems);
        let feeds = match node {
            Some(node) => Feeds::between(node, module.schema(), &at.key("signature"))
                .map_err(|found| problems.extend(found)),
            None => Err(()),
        };
        match feeds {
            Ok(feeds) if problems.is_empty() => Ok(Self { module, score, feeds }),
            _ => Err(problems),
        }
    }

    pub(super) async fn of(
        &self,
        ctx: &Ctx,
        inputs: &Fields,
        outputs: &Fields,
    ) -> Result<f64, PredictError> {
        let input = self.feeds.gather(inputs, outputs)?;
        let judged = self.module.forward(ctx, input).await?;
        score(judged.get(&self.score))
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    pub(super) fn told(&self) -> String {
        let task = &self.module.schema().instructions;
        format!("the `{}` that a judge gives who is told: {task}", self.score)
    }

    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }
}

fn check_score(schema: &SignatureSchema, score: &str, at: &At<'_>, problems: &mut Problems) {
    let Some(field) = schema.output(score) else {
        let known = || schema.outputs.iter().map(|field| field.name.as_ref());
        let hint = nearest(score, known())
            .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        let detail = format!("the judge has no output `{score}`; {hint}it has {}", listed(known()));
        return problems.add(at, Code::UnknownField, detail);
    };
    let wanted = Type::new(score_type(), schema.defs.clone());
    if schema.type_of(field).assignable_to(&wanted).is_err() {
        let detail = format!("`{score}` is `{}`; a score is a number or a bool", brief(&field.ty));
        problems.add(at, Code::TypeMismatch, detail);
    }
}
