//! Rewards: how good what an attempt gave is, as configs of strategies say it. Knows nothing of
//! searches, nor of how judging is done.

use futures_util::future::BoxFuture;

use super::config::{config_schema, described, member, schema};
use super::judging::{Judging, Shown, Sight, View, Wanted, judge_schema};
use super::search::Rewards;
use super::{BuildEnv, GraphPin};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::read::Object;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// The member of a config that holds it.
pub(super) const REWARD: &str = "reward";

/// Says how good outputs are.
pub(super) struct Reward(Judging);

impl Reward {
    /// What a config may say of it.
    pub(super) fn schema() -> Payload {
        let fed =
            "inputs are filled by name from those of the node and from the outputs of the attempt";
        let judge = judge_schema(fed, []);
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
        let view = View { schema, sight: Sight::Attempt };
        let judging = match kind {
            "expression" => Judging::expression(found, view, &here),
            "judge" => Judging::judge(env, found, view, &here),
            _ => {
                let mut object = Object::open(reward, &at, &mut problems);
                let Some(pin) = object.as_mut().and_then(GraphPin::read) else {
                    return Err(problems);
                };
                let wanted = Wanted { score: None, usual: REWARD, feedback: None };
                Judging::graph(env, &pin, &wanted, view, &here)
            }
        };
        judging.map(Self)
    }

    /// The reward of what an attempt gave.
    async fn of(&self, ctx: &Ctx, inputs: &Fields, outputs: &Fields) -> Result<f64, PredictError> {
        let shown = Shown { inputs, outputs, of_example: None };
        self.0.of(ctx, shown).await.map(|found| found.score)
    }

    /// How many attempts judging makes.
    pub(super) fn attempts(&self) -> usize {
        self.0.attempts()
    }

    /// What it rewards, for an LM.
    pub(super) fn told(&self) -> String {
        self.0.told()
    }

    /// The predictors that judge.
    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.0.predictors()
    }

    /// The same, to change.
    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.0.predictors_mut()
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
