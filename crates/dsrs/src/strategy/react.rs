//! `react`: the LM reasons, calls tools and reads their results until it can answer (Yao et al. 2022;
//! DSPy's modules `ReAct` and `ReActV2`). Two predictors: `action` decides each step, and `extract.predict`
//! writes the outputs from the steps, unless `action` submits them. A third, `compact`, may summarize old steps.

mod agent;
mod compaction;
mod ending;
mod pause;
mod prompt;
mod reply;
mod step;
mod steps;
mod typed;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use self::agent::{Agent, AgentLimits, AgentRun, AgentSettings};
use self::compaction::{Compaction, Compactor};
use self::ending::{Submission, reserved};
use self::prompt::ActionPrompt;
use super::chain_of_thought::with_reasoning;
use super::registry::StrategyRegistration;
use super::steps::{TRAJECTORY, with_steps};
use super::tools::{TOOLS, read_tools, tools_schema};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor, ToolDispatcher};
use crate::problem::{At, Code, Problems};
use crate::signature::{SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

pub use typed::{Action, Extract, FurtherCall, ReAct, ReActBuilder, Trajectory, WithTrajectory};

const ACTION: &str = "action";
const EXTRACT: &str = "extract.predict";
const COMPACT: &str = "compact";

/// The tool call that ends the steps.
const FINISH: &str = "finish";

/// The tool call that ends them with the outputs.
const SUBMIT: &str = "submit";

#[derive(Facet)]
struct ReactConfig {
    /// The tools that the LM may call: the name of a built-in tool, or an object with exactly one of `builtin`, `http`,
    /// `graph`, `mcp` and `caller`.
    #[facet(dsrs::value_schema(tools_schema))]
    tools: Option<Payload>,
    #[facet(flatten)]
    limits: AgentLimits,
    /// Whether the steps are turns of the conversation, with native tool calls and their results, if the alias of the model
    /// has the capability `tools`. By default they are a text in the input `trajectory`.
    #[facet(default)]
    turns: bool,
    /// Whether the LM ends the steps by the call `submit`, whose arguments are the outputs. By default another predictor
    /// writes the outputs from the steps.
    #[facet(default)]
    submit: bool,
    /// The names of tools that end the steps: after a call that succeeds, there is no further step.
    stop_at_tools: Option<Vec<String>>,
    /// Replaces old steps by a summary, which the predictor `compact` writes. By default the oldest steps are left out if they
    /// exceed the context of the model.
    compact: Option<Compaction>,
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
        let stop_at = config.stop_at(&toolbox, env, &at.key("config"), &mut problems);
        let signature = at.key("signature");
        problems.append(prompt::check_names(base, &signature).err().unwrap_or_default());
        if config.compact.is_some() {
            prompt::check_name(base, compaction::STEPS, &signature, &mut problems);
            prompt::check_name(base, compaction::SUMMARY, &signature, &mut problems);
        }
        let extract = with_reasoning(&prompt::extract(base), &signature);
        let (Ok(extract), true) = (&extract, problems.is_empty()) else {
            problems.append(extract.err().unwrap_or_default());
            return Err(problems);
        };
        let submission = config.submit.then(|| Submission::of(base.clone(), |_| Ok(())));
        let action = action(base, &toolbox, submission.as_ref(), config.turns);
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
            action,
            extract: SchemaPredictor::new(extract.clone().into(), EXTRACT),
            compact: config.compact.map(|compaction| (compaction::predictor(base), compaction)),
            agent: Agent::new(toolbox, config.settings(stop_at), submission),
            with_trajectory: config.with_trajectory,
        }))
    }
}

impl ReactConfig {
    fn toolbox(&self, env: &dyn BuildEnv, at: &At<'_>, problems: &mut Problems) -> ToolDispatcher {
        let toolbox = ToolDispatcher::reserving(reserved(self.submit));
        match &self.tools {
            Some(tools) => read_tools(toolbox, env, tools, at, problems),
            None => toolbox,
        }
    }

    /// The tools that end the steps. Those of a server may be missing by now.
    fn stop_at(
        &self,
        toolbox: &ToolDispatcher,
        env: &dyn BuildEnv,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Vec<Arc<str>> {
        let names = self.stop_at_tools.iter().flatten();
        for (index, name) in names.clone().enumerate() {
            if let Err(reason) = toolbox.check_known(name)
                && !env.is_stored()
                && problems.is_empty()
            {
                let at = at.key("stop_at_tools");
                problems.add(&at.index(index), Code::InvalidConfig, reason);
            }
        }
        names.map(|name| name.as_str().into()).collect()
    }

    fn settings(&self, stop_at_tools: Vec<Arc<str>>) -> AgentSettings {
        AgentSettings { limits: self.limits, turns: self.turns, stop_at_tools }
    }
}

/// The predictor of the steps.
fn action(
    base: &SignatureSchema,
    toolbox: &ToolDispatcher,
    submission: Option<&Submission>,
    turns: bool,
) -> SchemaPredictor {
    let prompt = ActionPrompt { base, toolbox, submission, turns };
    let action = SchemaPredictor::new(prompt.schema().into(), ACTION);
    match prompt.layout() {
        Some(layout) => action.with_step_turns(layout),
        None => action,
    }
}

struct ReactModule {
    schema: Arc<SignatureSchema>,
    action: SchemaPredictor,
    extract: SchemaPredictor,
    /// The predictor of summaries, and when it is called.
    compact: Option<(SchemaPredictor, Compaction)>,
    agent: Agent,
    with_trajectory: bool,
}

impl ReactModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let compactor = self.compact.as_ref();
        let compactor = compactor
            .map(|(predictor, compaction)| Compactor { predictor, compaction: *compaction });
        let acted = self.agent.act(ctx, &self.action, compactor, &input).await?;
        let AgentRun { mut steps, outputs } = acted;
        let ask = |input| self.extract.forward(ctx, input);
        let mut found = match outputs {
            Some(outputs) => outputs,
            None => with_steps(&mut steps.texts, TRAJECTORY, &input, ask).await?,
        };
        found.shift_remove("reasoning");
        if self.with_trajectory {
            found.insert(TRAJECTORY.into(), steps.texts.whole().into());
        }
        Ok(found)
    }
}

impl DynModule for ReactModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let compact = self.compact.iter().map(|(predictor, _)| (COMPACT, predictor as _));
        [(ACTION, &self.action as _), (EXTRACT, &self.extract as _)]
            .into_iter()
            .chain(compact)
            .collect()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let compact = self.compact.iter_mut().map(|(predictor, _)| (COMPACT, predictor as _));
        [(ACTION, &mut self.action as _), (EXTRACT, &mut self.extract as _)]
            .into_iter()
            .chain(compact)
            .collect()
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
