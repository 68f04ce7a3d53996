//! Rewards of attempts, as configs define them. Knows nothing of searches and of how scoring works.

use futures_util::future::BoxFuture;

use super::config::{config_schema, described, member, schema};
use super::judging::{
    JUDGE, JudgedFields, JudgedKind, JudgedValues, ScoreFields, Scorer, judge_schema,
};
use super::search::RewardModel;
use super::{BuildEnv, ConfigRef, StoredGraphRef};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::read::Object;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// The member of a config with the reward.
pub(super) const REWARD: &str = "reward";

/// The references of a reward: a judge's strategy, or a stored graph.
pub(super) const REWARD_REFS: &[ConfigRef] = &[ConfigRef::Strategy(JUDGE), ConfigRef::Graph];

/// Scores the outputs of attempts.
pub(super) struct Reward(Scorer);

impl Reward {
    /// The config schema of a reward.
    pub(super) fn schema() -> Payload {
        let fed =
            "inputs are filled by name from those of the node and from the outputs of the attempt";
        let judge = judge_schema(fed, []);
        let expression = r#"{"type": "string", "description": "a Jinja expression over `inputs` and `outputs` that evaluates to a number, or true or false for 1 and 0"}"#;
        let pin = schema(&format!("{{{}}}", StoredGraphRef::SCHEMA_MEMBERS));
        let pin = pin.as_map().cloned().unwrap_or_default();
        let pin = pin.iter().map(|(name, member)| (name.as_ref(), member.clone()));
        let own = [
            ("expression", schema(expression)),
            (
                "judge",
                described(
                    judge,
                    "an LM that scores the attempt; with `predict` one LM call per attempt",
                ),
            ),
        ];
        let members: Vec<_> = own.into_iter().chain(pin).collect();
        let about = "the score of an attempt, higher is better: exactly one of `expression`, `judge` and `graph` (a stored graph with one number or bool as output, or one named `reward`)";
        let mut reward = config_schema(members, &[]).as_map().cloned().unwrap_or_default();
        // Members that select a version of a graph are a mistake without a graph.
        let alone = r#"{"version": ["graph"], "state_version": ["graph"], "id": ["graph"]}"#;
        reward.insert("dependentRequired".into(), schema(alone));
        described(Payload::map(reward), about)
    }

    /// Reads the reward of a config for outputs of a schema; the schema is `None` if it has problems of
    /// its own. `at` is the config's place.
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
        let mut given = kinds.into_iter().filter_map(|(kind, found)| Some((kind, found?)));
        let (Some((kind, found)), None) = (given.next(), given.next()) else {
            let detail = "a reward is exactly one of `expression`, `judge` and `graph`";
            problems.add(&at, Code::InvalidConfig, detail);
            return Err(problems);
        };
        let here = at.key(kind);
        let view = JudgedFields { schema, sight: JudgedKind::Attempt };
        let judging = match kind {
            "expression" => Scorer::expression(found, view, &here),
            "judge" => Scorer::judge(env, found, view, &here),
            _ => {
                let mut object = Object::open(reward, &at, &mut problems);
                let Some(pin) = object.as_mut().and_then(StoredGraphRef::read) else {
                    return Err(problems);
                };
                let wanted = ScoreFields { score: None, usual: REWARD, feedback: None };
                Scorer::graph(env, &pin, &wanted, view, &here)
            }
        };
        judging.map(Self)
    }

    /// The reward of the outputs of an attempt.
    async fn of(&self, ctx: &Ctx, inputs: &Fields, outputs: &Fields) -> Result<f64, PredictError> {
        let shown = JudgedValues { inputs, outputs, example: None };
        self.0.of(ctx, shown).await.map(|(score, _)| score)
    }

    /// How many attempts one scoring makes.
    pub(super) fn attempts(&self) -> usize {
        self.0.attempts()
    }

    /// A description of the reward for an LM.
    pub(super) fn describe(&self) -> String {
        self.0.describe()
    }

    /// The predictors of the judge.
    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.0.predictors()
    }

    /// The same, to change.
    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.0.predictors_mut()
    }
}

/// A reward of attempts at these inputs.
pub(super) struct RewardForInputs<'a> {
    pub(super) reward: &'a Reward,
    pub(super) inputs: &'a Fields,
}

impl RewardModel<Fields> for RewardForInputs<'_> {
    fn reward<'a>(
        &'a self,
        ctx: &'a Ctx,
        found: &'a Fields,
    ) -> BoxFuture<'a, Result<f64, PredictError>> {
        Box::pin(self.reward.of(ctx, self.inputs, found))
    }
}
