//! `react`: the LM reasons, calls tools and reads their results until it can answer (Yao et al. 2022;
//! DSPy's module of the same name). Two predictors: `action` decides each step, and `extract.predict`
//! writes the outputs from the steps.

mod agent;
mod prompt;
mod steps;
mod typed;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use self::agent::{Agent, AgentLimits, with_steps};
use super::chain_of_thought::with_reasoning;
use super::registry::StrategyRegistration;
use super::tools::{TOOLS, TOOLS_SCHEMA, read_tools};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor, ToolDispatcher};
use crate::problem::{At, Problems};
use crate::read::{Object, boolean, count};
use crate::signature::{SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

pub use typed::{Action, Extract, FurtherCall, ReAct, ReActBuilder, Trajectory, WithTrajectory};

const ACTION: &str = "action";
const EXTRACT: &str = "extract.predict";

/// The tool call that ends the steps.
const FINISH: &str = "finish";

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "react"
    }

    fn description(&self) -> &'static str {
        "An agent: the LM reasons, calls tools and reads their results, step by step, until it can \
         answer. One LM call per step, up to `max_iters`, and one for the outputs."
    }

    fn config_schema(&self) -> Payload {
        let schema = format!(
            r#"{{"type": "object", "properties": {{
                "tools": {TOOLS_SCHEMA},
                "max_iters": {{"type": "integer", "minimum": 1, "maximum": 100, "default": 10,
                    "description": "the most steps"}},
                "max_parallel": {{"type": "integer", "minimum": 1, "maximum": 64, "default": 8,
                    "description": "the most tool calls at the same time"}},
                "with_trajectory": {{"type": "boolean", "default": false,
                    "description": "whether the steps are an additional output, `trajectory`"}}
            }}, "additionalProperties": false}}"#
        );
        // A constant: the registry's tests compile it.
        Payload::from_json(&schema).unwrap_or_default()
    }

    fn predictors(&self) -> &[&'static str] {
        &[ACTION, EXTRACT]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::Each(TOOLS, &[ConfigRef::Graph])]
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let mut problems = Problems::new();
        let config = ReactConfig::read(env, config, &at.key("config"), &mut problems);
        let signature = at.key("signature");
        problems.append(prompt::check_names(base, &signature).err().unwrap_or_default());
        let extract = with_reasoning(&prompt::extract(base), &signature);
        let (Some(config), Ok(extract), true) = (config, &extract, problems.is_empty()) else {
            problems.append(extract.err().unwrap_or_default());
            return Err(problems);
        };
        let action = prompt::action(base, config.toolbox.specs());
        let schema = match config.with_trajectory {
            true => {
                let mut schema = SignatureSchema::clone(base);
                schema.outputs.extend(added_outputs::<Trajectory>());
                schema.into()
            }
            false => base.clone(),
        };
        Ok(Box::new(ReactModule {
            schema,
            action: SchemaPredictor::new(action.into(), ACTION),
            extract: SchemaPredictor::new(extract.clone().into(), EXTRACT),
            agent: Agent::new(config.toolbox, config.limits),
            with_trajectory: config.with_trajectory,
        }))
    }
}

struct ReactConfig {
    toolbox: ToolDispatcher,
    limits: AgentLimits,
    with_trajectory: bool,
}

impl ReactConfig {
    fn read(
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let mut object = Object::open(config, at, problems)?;
        let none = || ToolDispatcher::reserving(FINISH);
        let toolbox = object.optional(TOOLS, |list, at, problems| {
            Some(read_tools(none(), env, list, at, problems))
        });
        let usual = AgentLimits::default();
        let mut limit = |name, usual| {
            let found = object.optional(name, count).and_then(|found| usize::try_from(found).ok());
            found.map_or(usual, |found| found.max(1))
        };
        let limits = AgentLimits {
            max_iters: limit("max_iters", usual.max_iters),
            max_parallel: limit("max_parallel", usual.max_parallel),
        };
        let with_trajectory = object.optional("with_trajectory", boolean).unwrap_or_default();
        object.close();
        Some(Self { toolbox: toolbox.unwrap_or_else(none), limits, with_trajectory })
    }
}

struct ReactModule {
    schema: Arc<SignatureSchema>,
    action: SchemaPredictor,
    extract: SchemaPredictor,
    agent: Agent,
    with_trajectory: bool,
}

impl ReactModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let mut steps = self.agent.act(ctx, &self.action, &input).await?;
        let ask = |input| self.extract.forward(ctx, input);
        let mut found = with_steps(&mut steps, &input, ask).await?;
        found.shift_remove("reasoning");
        if self.with_trajectory {
            found.insert(prompt::TRAJECTORY.into(), steps.whole().into());
        }
        Ok(found)
    }
}

impl DynModule for ReactModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![(ACTION, &self.action), (EXTRACT, &self.extract)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![(ACTION, &mut self.action), (EXTRACT, &mut self.extract)]
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
