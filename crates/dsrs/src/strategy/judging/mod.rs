//! Scoring values by an expression, an LM or a stored graph: shared by rewards of attempts and metrics
//! of examples. Everything is checked when it is read. Knows nothing of searches, and of examples only
//! that they have expected values.

mod expression;
mod graph;
mod inputs;
mod lm;
mod values;

use std::sync::Arc;

use self::expression::ExpressionScorer;
use self::graph::GraphScorer;
pub(crate) use self::graph::ScoreFields;
pub(in crate::strategy) use self::lm::JUDGE;
pub(crate) use self::lm::JudgeConfig;
use self::lm::LmJudge;
#[cfg(feature = "optimize")]
pub(crate) use self::values::ExampleValues;
pub(crate) use self::values::{JudgedFields, JudgedKind, JudgedValues};
use super::{BuildEnv, GraphUnavailable, StoredGraphRef};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Type, TypeIR, brief};
use crate::value::{Fields, Payload};

/// What scores values: an expression, an LM or a stored graph.
pub(crate) enum Scorer {
    ExpressionScorer(ExpressionScorer),
    LmJudge(LmJudge),
    Graph(GraphScorer),
    /// A stored graph that no longer exists, and why.
    Gone(String),
}

/// A score on any scale, and feedback if there is any.
pub(crate) type Judgement = (f64, Option<Arc<str>>);

impl Scorer {
    /// An expression over the judged values.
    pub(crate) fn expression(
        source: &str,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        ExpressionScorer::read(source, view, at).map(Self::ExpressionScorer)
    }

    /// An LM that scores the judged values; `feedback` is its output with the reason, if there is one.
    pub(crate) fn judge(
        env: &dyn BuildEnv,
        judge: &JudgeConfig,
        feedback: Option<&str>,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        LmJudge::build(env, judge, feedback, view, at).map(Self::LmJudge)
    }

    /// A stored graph; `at` is the place of its name. A graph that has been deleted since the
    /// definition was written fails in execution.
    pub(crate) fn graph(
        env: &dyn BuildEnv,
        pin: &StoredGraphRef,
        wanted: &ScoreFields<'_>,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        match env.graph(pin) {
            Ok(module) => GraphScorer::of_module(pin, module, wanted, view, at).map(Self::Graph),
            Err(gone) if env.is_stored() && gone.code == Code::InvalidConfig => {
                Ok(Self::Gone(gone.detail))
            }
            Err(GraphUnavailable { code, detail }) => {
                Err(Problem { pointer: at.pointer(), code, detail }.into())
            }
        }
    }

    /// Scores the values.
    pub(crate) async fn of(
        &self,
        ctx: &Ctx,
        shown: JudgedValues<'_>,
    ) -> Result<Judgement, PredictError> {
        match self {
            Self::ExpressionScorer(formula) => formula.of(shown).map(|score| (score, None)),
            Self::LmJudge(judge) => judge.of(ctx, shown).await,
            Self::Graph(graph) => graph.of(ctx, shown).await,
            Self::Gone(reason) => Err(PredictError::new(PredictErrorKind::Missing, reason.clone())),
        }
    }

    /// Whether scoring may call an LM.
    #[cfg(feature = "optimize")]
    pub(crate) fn calls_lm(&self) -> bool {
        match self {
            Self::ExpressionScorer(_) | Self::Gone(_) => false,
            Self::LmJudge(judge) => judge.calls_lm(),
            Self::Graph(graph) => graph.calls_lm(),
        }
    }

    /// How many attempts one scoring makes.
    pub(in crate::strategy) fn attempts(&self) -> usize {
        match self {
            Self::ExpressionScorer(_) | Self::Gone(_) => 1,
            Self::LmJudge(judge) => judge.attempts(),
            Self::Graph(graph) => graph.attempts(),
        }
    }

    /// A description of the rule for an LM.
    pub(in crate::strategy) fn describe(&self) -> String {
        match self {
            Self::ExpressionScorer(formula) => formula.describe(),
            Self::LmJudge(judge) => judge.describe(),
            Self::Graph(graph) => graph.describe(),
            Self::Gone(reason) => reason.clone(),
        }
    }

    /// The predictors of an LM judge.
    pub(in crate::strategy) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        match self {
            Self::LmJudge(judge) => judge.predictors(),
            _ => Vec::new(),
        }
    }

    /// The same, to change.
    pub(in crate::strategy) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        match self {
            Self::LmJudge(judge) => judge.predictors_mut(),
            _ => Vec::new(),
        }
    }
}

/// The role of an output of a judge.
#[derive(Clone, Copy)]
enum JudgeOutput {
    Score,
    Feedback,
}

impl JudgeOutput {
    /// The type that it must have.
    fn ty(self) -> TypeIR {
        match self {
            Self::Score => TypeIR::Union([TypeIR::Float, TypeIR::Bool].into()),
            Self::Feedback => TypeIR::Union([TypeIR::Str, TypeIR::Null].into()),
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Score => "a score is a number or a bool",
            Self::Feedback => "feedback is a text",
        }
    }

    fn fits(self, schema: &SignatureSchema, field: &FieldSchema) -> bool {
        let wanted = Type::new(self.ty(), schema.defs.clone());
        schema.type_of(field).assignable_to(&wanted).is_ok()
    }

    /// Checks that the judge has an output of this name for this role.
    fn check(
        self,
        judge: &str,
        schema: &SignatureSchema,
        name: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        let Some(field) = schema.output(name) else {
            let known = || schema.outputs.iter().map(|field| field.name.as_ref());
            let hint = nearest(name, known())
                .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let detail =
                format!("{judge} has no output `{name}`; {hint}it has {}", listed(known()));
            return problems.add(at, Code::UnknownField, detail);
        };
        if !self.fits(schema, field) {
            let detail = format!("`{name}` is `{}`; {}", brief(&field.ty), self.describe());
            problems.add(at, Code::TypeMismatch, detail);
        }
    }
}

/// Reads the judgement from the outputs of a judge.
fn read_judgement(
    outputs: &Fields,
    score: &str,
    feedback: Option<&Arc<str>>,
) -> Result<Judgement, PredictError> {
    let number = match outputs.get(score) {
        Some(Payload::Int(found)) => *found as f64,
        Some(Payload::Float(found)) => *found,
        Some(Payload::Bool(found)) => f64::from(u8::from(*found)),
        other => {
            let kind = other.map_or("nothing", Payload::kind);
            return Err(judging_error(format!("the score `{score}` is {kind} and not a number")));
        }
    };
    let words = feedback.and_then(|name| match outputs.get(name) {
        Some(Payload::Str(words)) if !words.trim().is_empty() => Some(words.clone()),
        _ => None,
    });
    Ok((number, words))
}

/// The failure of a scoring.
pub(crate) fn judging_error(message: impl Into<String>) -> PredictError {
    PredictError::new(PredictErrorKind::Reward, message)
}
