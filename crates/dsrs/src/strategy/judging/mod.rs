//! Judging: how good values are, by an expression, an LM or a stored graph. What rewards of attempts
//! and metrics of examples share. Everything is checked when it is made. Knows nothing of searches,
//! and of examples only that something is expected of them.

mod feeds;
mod formula;
mod graded;
mod judge;
mod view;

use std::sync::Arc;

use self::formula::Formula;
use self::graded::Graded;
pub(crate) use self::graded::Wanted;
pub(in crate::strategy) use self::judge::JUDGE;
use self::judge::Judge;
pub(crate) use self::judge::judge_schema;
pub(crate) use self::view::{OfExample, Shown, Sight, View};
use super::{BuildEnv, GraphPin, NoGraph};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Type, TypeIR, brief};
use crate::value::{Fields, Payload};

/// Says how good values are.
pub(crate) enum Judging {
    Formula(Formula),
    Judge(Judge),
    Graph(Graded),
    /// A stored graph that was there when the definition was written, and why it is no more.
    Gone(String),
}

/// What was found: a number on whatever scale, and words if there are any.
pub(crate) struct Found {
    pub(crate) score: f64,
    pub(crate) feedback: Option<Arc<str>>,
}

impl Judging {
    /// An expression over what is in view.
    pub(crate) fn expression(
        source: &Payload,
        view: View<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        Formula::read(source, view, at).map(Self::Formula)
    }

    /// An LM that judges what is in view.
    pub(crate) fn judge(
        env: &dyn BuildEnv,
        judge: &Payload,
        view: View<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        Judge::read(env, judge, view, at).map(Self::Judge)
    }

    /// A stored graph; `at` is the place of its name. One that is gone since the definition was
    /// written fails in execution.
    pub(crate) fn graph(
        env: &dyn BuildEnv,
        pin: &GraphPin,
        wanted: &Wanted<'_>,
        view: View<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        match env.graph(pin) {
            Ok(module) => Graded::of_module(pin, module, wanted, view, at).map(Self::Graph),
            Err(gone) if env.is_stored() && gone.code == Code::InvalidConfig => {
                Ok(Self::Gone(gone.detail))
            }
            Err(NoGraph { code, detail }) => {
                Err(Problem { pointer: at.pointer(), code, detail }.into())
            }
        }
    }

    /// Judges.
    pub(crate) async fn of(&self, ctx: &Ctx, shown: Shown<'_>) -> Result<Found, PredictError> {
        match self {
            Self::Formula(formula) => {
                formula.of(shown).map(|score| Found { score, feedback: None })
            }
            Self::Judge(judge) => judge.of(ctx, shown).await,
            Self::Graph(graph) => graph.of(ctx, shown).await,
            Self::Gone(reason) => Err(PredictError::new(PredictErrorKind::Missing, reason.clone())),
        }
    }

    /// Whether judging may call an LM.
    pub(crate) fn calls_lm(&self) -> bool {
        match self {
            Self::Formula(_) | Self::Gone(_) => false,
            Self::Judge(judge) => judge.calls_lm(),
            Self::Graph(graph) => graph.calls_lm(),
        }
    }

    /// How many attempts judging makes.
    pub(in crate::strategy) fn attempts(&self) -> usize {
        match self {
            Self::Formula(_) | Self::Gone(_) => 1,
            Self::Judge(judge) => judge.attempts(),
            Self::Graph(graph) => graph.attempts(),
        }
    }

    /// What it judges by, for an LM.
    pub(in crate::strategy) fn told(&self) -> String {
        match self {
            Self::Formula(formula) => formula.told(),
            Self::Judge(judge) => judge.told(),
            Self::Graph(graph) => graph.told(),
            Self::Gone(reason) => reason.clone(),
        }
    }

    /// The predictors that judge.
    pub(in crate::strategy) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        match self {
            Self::Judge(judge) => judge.predictors(),
            _ => Vec::new(),
        }
    }

    /// The same, to change.
    pub(in crate::strategy) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        match self {
            Self::Judge(judge) => judge.predictors_mut(),
            _ => Vec::new(),
        }
    }
}

/// What an output is to say.
#[derive(Clone, Copy)]
enum Says {
    Score,
    Feedback,
}

impl Says {
    /// The types that it may be of.
    fn ty(self) -> TypeIR {
        match self {
            Self::Score => TypeIR::Union([TypeIR::Float, TypeIR::Bool].into()),
            Self::Feedback => TypeIR::Union([TypeIR::Str, TypeIR::Null].into()),
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Score => "a score is a number or a bool",
            Self::Feedback => "feedback is a text",
        }
    }

    fn fits(self, schema: &SignatureSchema, field: &FieldSchema) -> bool {
        let wanted = Type::new(self.ty(), schema.defs.clone());
        schema.type_of(field).assignable_to(&wanted).is_ok()
    }

    /// Checks that `who` has an output of this name that can say it.
    fn check(
        self,
        who: &str,
        schema: &SignatureSchema,
        name: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        let Some(field) = schema.output(name) else {
            let known = || schema.outputs.iter().map(|field| field.name.as_ref());
            let hint = nearest(name, known())
                .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let detail = format!("{who} has no output `{name}`; {hint}it has {}", listed(known()));
            return problems.add(at, Code::UnknownField, detail);
        };
        if !self.fits(schema, field) {
            let detail = format!("`{name}` is `{}`; {}", brief(&field.ty), self.told());
            problems.add(at, Code::TypeMismatch, detail);
        }
    }
}

/// What outputs say: the score as a number, and the feedback where one is wanted and there.
fn found(
    outputs: &Fields,
    score: &str,
    feedback: Option<&Arc<str>>,
) -> Result<Found, PredictError> {
    let number = match outputs.get(score) {
        Some(Payload::Int(found)) => *found as f64,
        Some(Payload::Float(found)) => *found,
        Some(Payload::Bool(found)) => f64::from(u8::from(*found)),
        other => {
            let kind = other.map_or("nothing", Payload::kind);
            return Err(unjudged(format!("the score `{score}` is {kind} and no number")));
        }
    };
    let words = feedback.and_then(|name| match outputs.get(name) {
        Some(Payload::Str(words)) if !words.trim().is_empty() => Some(words.clone()),
        _ => None,
    });
    Ok(Found { score: number, feedback: words })
}

/// What could not be judged.
pub(crate) fn unjudged(message: impl Into<String>) -> PredictError {
    PredictError::new(PredictErrorKind::Reward, message)
}
