//! Rewards: how good what an attempt gave is, by an expression, an LM that judges, or a stored
//! graph. Everything about one is checked when the node is made. Knows nothing of searches.

mod expression;
mod feeds;
mod graph;
mod judge;

use futures_util::future::BoxFuture;

use self::expression::Formula;
use self::graph::Graded;
pub(super) use self::judge::JUDGE;
use self::judge::Judge;
use super::config::{config_schema, described, member, schema};
use super::search::Rewards;
use super::{BuildEnv, GraphPin, NoGraph};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::Object;
use crate::signature::SignatureSchema;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

/// The member of a config that holds it.
pub(super) const REWARD: &str = "reward";

/// Says how good outputs are.
pub(super) enum Reward {
    Formula(Formula),
    Judge(Judge),
    Graph(Graded),
    /// A stored graph that was there when the definition was written, and why it is no more.
    Gone(String),
}

impl Reward {
    /// What a config may say of it.
    pub(super) fn schema() -> Payload {
        let judge = config_schema(
            [
                (
                    "signature",
                    schema(
                        r#"{"description": "its signature: inputs are filled by name from those of the node and from the outputs of the attempt"}"#,
                    ),
                ),
                (
                    "score",
                    schema(
                        r#"{"type": "string", "description": "the output that is the reward: a number, or a bool"}"#,
                    ),
                ),
                (
                    "strategy",
                    schema(
                        r#"{"type": "string", "default": "predict", "description": "the strategy that it judges with"}"#,
                    ),
                ),
                (
                    "config",
                    schema(r#"{"type": "object", "description": "that strategy's config"}"#),
                ),
            ],
            &["signature", "score"],
        );
        let expression = r#"{"type": "string", "description": "a Jinja expression over `inputs` and `outputs` that gives a number, or true or false for 1 and 0"}"#;
        let pin = schema(&format!("{{{}}}", GraphPin::SCHEMA_MEMBERS));
        let pin = pin.as_map().cloned().unwrap_or_default();
        let pin = pin.iter().map(|(name, member)| (name.as_ref(), member.clone()));
        let own = [
            ("expression", schema(expression)),
            ("judge", described(judge, "an LM that judges; one LM call an attempt with `predict`")),
        ];
        let members: Vec<_> = own.into_iter().chain(pin).collect();
        let about = "how good an attempt is, higher is better: exactly one of `expression`, `judge` and `graph` (a stored graph with one number or bool as output, or one named `reward`)";
        let mut reward = config_schema(members, &[]).as_map().cloned().unwrap_or_default();
        // What only says which graph is meant is a mistake beside another kind.
        let alone = r#"{"version": ["graph"], "state_version": ["graph"], "id": ["graph"]}"#;
        reward.insert("dependentRequired".into(), schema(alone));
        described(Payload::map(reward), about)
    }

    /// Reads the reward of a config for outputs of a schema, which is `None` where it could not be
    /// made; `at` is the config's place.
    pub(super) fn read(
        env: &dyn BuildEnv,
        config: &Payload,
        schema: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let at = at.key(REWARD);
        let mut problems = Problems::new();
        let Some(reward) = member(config, REWARD) else {
            problems.add(&at, Code::MissingField, "`reward` is missing");
            return Err(problems);
        };
        let kinds = ["expression", "judge", "graph"].map(|kind| (kind, member(reward, kind)));
        let mut said = kinds.into_iter().filter_map(|(kind, found)| Some((kind, found?)));
        let (Some((kind, found)), None) = (said.next(), said.next()) else {
            let detail = "a reward is exactly one of `expression`, `judge` and `graph`";
            problems.add(&at, Code::InvalidConfig, detail);
            return Err(problems);
        };
        let here = at.key(kind);
        match kind {
            "expression" => Formula::read(found, schema, &here).map(Self::Formula),
            "judge" => Judge::read(env, found, schema, &here).map(Self::Judge),
            _ => {
                let mut object = Object::open(reward, &at, &mut problems);
                match object.as_mut().and_then(GraphPin::read) {
                    Some(pin) => Self::graph(env, &pin, schema, &here),
                    None => Err(problems),
                }
            }
        }
    }

    /// A stored graph. One that is gone since the definition was written fails in execution.
    fn graph(
        env: &dyn BuildEnv,
        pin: &GraphPin,
        schema: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        match env.graph(pin) {
            Ok(module) => Graded::of_module(pin, module, schema, at).map(Self::Graph),
            Err(gone) if env.is_stored() && gone.code == Code::InvalidConfig => {
                Ok(Self::Gone(gone.detail))
            }
            Err(NoGraph { code, detail }) => {
                Err(Problem { pointer: at.pointer(), code, detail }.into())
            }
        }
    }

    /// The reward of what an attempt gave.
    pub(super) async fn of(
        &self,
        ctx: &Ctx,
        inputs: &Fields,
        outputs: &Fields,
    ) -> Result<f64, PredictError> {
        match self {
            Self::Formula(formula) => formula.of(inputs, outputs),
            Self::Judge(judge) => judge.of(ctx, inputs, outputs).await,
            Self::Graph(graph) => graph.of(ctx, inputs, outputs).await,
            Self::Gone(reason) => Err(PredictError::new(PredictErrorKind::Missing, reason.clone())),
        }
    }

    /// How many attempts judging makes.
    pub(super) fn attempts(&self) -> usize {
        match self {
            Self::Formula(_) | Self::Gone(_) => 1,
            Self::Judge(judge) => judge.attempts(),
            Self::Graph(graph) => graph.attempts(),
        }
    }

    /// What it rewards, for an LM.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Formula(formula) => formula.told(),
            Self::Judge(judge) => judge.told(),
            Self::Graph(graph) => graph.told(),
            Self::Gone(reason) => reason.clone(),
        }
    }

    /// The predictors that judge.
    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        match self {
            Self::Judge(judge) => judge.predictors(),
            _ => Vec::new(),
        }
    }

    /// The same, to change.
    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        match self {
            Self::Judge(judge) => judge.predictors_mut(),
            _ => Vec::new(),
        }
    }
}

/// A reward of attempts at these inputs.
pub(super) struct Rewarded<'a> {
    pub(super) reward: &'a Reward,
    pub(super) inputs: &'a Fields,
}

impl Rewards<Fields> for Rewarded<'_> {
    fn reward<'a>(
        &'a self,
        ctx: &'a Ctx,
        found: &'a Fields,
    ) -> BoxFuture<'a, Result<f64, PredictError>> {
        Box::pin(self.reward.of(ctx, self.inputs, found))
    }
}

/// What a score may be.
fn score_type() -> TypeIR {
    TypeIR::Union([TypeIR::Float, TypeIR::Bool].into())
}

/// A score as a number.
fn score(found: Option<&Payload>) -> Result<f64, PredictError> {
    match found {
        Some(Payload::Int(score)) => Ok(*score as f64),
        Some(Payload::Float(score)) => Ok(*score),
        Some(Payload::Bool(score)) => Ok(f64::from(u8::from(*score))),
        other => {
            let kind = other.map_or("nothing", Payload::kind);
            Err(unjudged(format!("the reward of an attempt is {kind} and no number")))
        }
    }
}

/// An attempt that could not be judged.
fn unjudged(message: String) -> PredictError {
    PredictError::new(PredictErrorKind::Reward, message)
}
