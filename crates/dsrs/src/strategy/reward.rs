//! Rewards of attempts, as configs define them. Knows nothing of searches and of how scoring works.

use facet::Facet;
use futures_util::future::BoxFuture;

use super::judging::{
    JUDGE, JudgeConfig, JudgedFields, JudgedKind, JudgedValues, ScoreFields, Scorer,
};
use super::search::RewardModel;
use super::{BuildEnv, ConfigRef, GraphPin};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::score::Score;
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// The member of a config with the reward.
pub(super) const REWARD: &str = "reward";

/// The references of a reward: a judge's strategy, or a stored graph.
pub(super) const REWARD_REFS: &[ConfigRef] = &[ConfigRef::Strategy(JUDGE), ConfigRef::Graph];

/// Scores the outputs of attempts.
pub(super) struct Reward(Scorer);

/// The settings of a reward, which is exactly one of the first three.
#[derive(Facet)]
#[facet(dsrs::keywords(ALONE))]
pub(super) struct RewardConfig {
    /// A Jinja expression over `inputs` and `outputs` that evaluates to a number, or true or false for 1 and 0.
    expression: Option<String>,
    /// An LM that scores the attempt. Its inputs are filled by name from those of the node and from the outputs of the
    /// attempt. With `predict` one LM call per attempt.
    judge: Option<JudgeConfig>,
    /// The name of a stored graph.
    graph: Option<String>,
    #[facet(flatten)]
    pin: GraphPin,
}

/// Members that select a version of a graph are a mistake without a graph.
const ALONE: &str = r#"{"dependentRequired": {"version": ["graph"], "state_version": ["graph"],
    "id": ["graph"]}}"#;

impl Reward {
    /// Builds the reward of a config for outputs of a schema; the schema is `None` if it has problems of
    /// its own. `at` is the config's place.
    pub(super) fn build(
        env: &dyn BuildEnv,
        config: RewardConfig,
        schema: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let at = at.key(REWARD);
        let view = JudgedFields { schema, sight: JudgedKind::Attempt };
        let scorer = match (config.expression, config.judge, config.graph) {
            (Some(source), None, None) => Scorer::expression(&source, view, &at.key("expression")),
            (None, Some(judge), None) => Scorer::judge(env, &judge, None, view, &at.key("judge")),
            (None, None, Some(graph)) => {
                let wanted = ScoreFields { score: None, usual: REWARD, feedback: None };
                Scorer::graph(env, &config.pin.of(&graph), &wanted, view, &at.key("graph"))
            }
            _ => {
                let detail = "a reward is exactly one of `expression`, `judge` and `graph`".into();
                let (pointer, code) = (at.pointer(), Code::InvalidConfig);
                Err(Problem { pointer, code, detail }.into())
            }
        };
        scorer.map(Self)
    }

    /// The reward of the outputs of an attempt.
    async fn of(
        &self,
        ctx: &Ctx,
        inputs: &Fields,
        outputs: &Fields,
    ) -> Result<Score, PredictError> {
        let shown = JudgedValues { inputs, outputs, example: None };
        self.0.of(ctx, shown).await.map(|(score, _)| score.into())
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
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(self.reward.of(ctx, self.inputs, found))
    }
}
