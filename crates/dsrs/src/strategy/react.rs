//! `react`: the LM reasons, calls tools and reads their results until it can answer (Yao et al. 2022;
//! DSPy's module of the same name). Two predictors: `action` decides each step, and `extract.predict`
//! writes the outputs from the steps.

mod agent;
mod pause;
mod prompt;
mod step;
mod typed;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use self::agent::{Agent, AgentLimits};
use super::chain_of_thought::with_reasoning;
use super::registry::StrategyRegistration;
use super::steps::{TRAJECTORY, with_steps};
use super::tools::{TOOLS, read_tools, tools_schema};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor, ToolDispatcher};
use crate::problem::{At, Problems};
use crate::signature::{SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

pub use typed::{Action, Extract, FurtherCall, ReAct, ReActBuilder, Trajectory, WithTrajectory};

const ACTION: &str = "action";
const EXTRACT: &str = "extract.predict";

/// The tool call that ends the steps.
const FINISH: &str = "finish";

#[derive(Facet)]
struct ReactConfig {
    /// The tools that the LM may call: the name of a built-in tool, or an object with exactly one of `builtin`, `http`,
    /// `graph`, `mcp` and `caller`.
    #[facet(dsrs::value_schema(tools_schema))]
    tools: Option<Payload>,
    #[facet(flatten)]
    limits: AgentLimits,
    /// Whether the steps are an additional output, `trajectory`.
    #[facet(default)]
    with_trajectory: bool,
}

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
        config_schema::<ReactConfig>()
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
        let config: ReactConfig = read_config(config, &at.key("config"))?;
        let mut problems = Problems::new();
        let toolbox = config.toolbox(env, &at.key("config").key(TOOLS), &mut problems);
        let signature = at.key("signature");
        problems.append(prompt::check_names(base, &signature).err().unwrap_or_default());
        let extract = with_reasoning(&prompt::extract(base), &signature);
        let (Ok(extract), true) = (&extract, problems.is_empty()) else {
            problems.append(extract.err().unwrap_or_default());
            return Err(problems);
        };
        let action = prompt::action(base, toolbox.specs());
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
            agent: Agent::new(toolbox, config.limits),
            with_trajectory: config.with_trajectory,
        }))
    }
}

impl ReactConfig {
    fn toolbox(&self, env: &dyn BuildEnv, at: &At<'_>, problems: &mut Problems) -> ToolDispatcher {
        let toolbox = ToolDispatcher::reserving(FINISH);
        match &self.tools {
            Some(tools) => read_tools(toolbox, env, tools, at, problems),
            None => toolbox,
        }
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
        let mut found = with_steps(&mut steps, TRAJECTORY, &input, ask).await?;
        found.shift_remove("reasoning");
        if self.with_trajectory {
            found.insert(TRAJECTORY.into(), steps.whole().into());
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

    fn parks(&self) -> bool {
        self.agent.waits_for_caller()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
