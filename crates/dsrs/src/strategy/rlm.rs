//! `rlm`: the inputs are variables of a sandbox, and the LM writes programs that read them and ask an LM about parts, until
//! one submits the outputs (recursive language models, Zhang et al. 2025; DSPy's `RLM`). Three predictors:
//! `generate_action` writes the programs, `llm_query` answers their prompts, and `extract` writes the outputs if no program
//! has submitted them.

mod prompt;
mod queries;
mod rounds;
mod submission;
mod variables;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::programs::{ProgramFunctions, check_variables, no_sandbox};
use super::react::Trajectory;
use super::registry::StrategyRegistration;
use super::tools::{TOOLS, read_tools, refuse_caller_tools, tools_schema};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor, ToolDispatcher};
use crate::problem::{At, Code, Problems};
use crate::sandbox::Sandbox;
use crate::signature::{SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

const ACTION: &str = "generate_action";
const EXTRACT: &str = "extract";

/// The functions that every program has. The predictor that answers prompts has the name of the first.
const LLM_QUERY: &str = "llm_query";
const LLM_QUERY_BATCHED: &str = "llm_query_batched";
const SUBMIT: &str = "SUBMIT";

/// The names that no tool and no input has.
const RESERVED: [&str; 4] = [LLM_QUERY, LLM_QUERY_BATCHED, SUBMIT, "print"];

#[derive(Facet)]
struct RlmConfig {
    #[facet(flatten)]
    limits: RlmLimits,
    /// The alias of the model that answers the prompts of programs, unless the state of `llm_query` names one. Default: the
    /// model of the node.
    sub_lm: Option<String>,
    /// Tools that programs call as functions, as those of `react`.
    #[facet(dsrs::value_schema(tools_schema))]
    tools: Option<Payload>,
    /// Whether the programs and their outputs are an additional output, `trajectory`.
    #[facet(default)]
    with_trajectory: bool,
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, Facet)]
struct RlmLimits {
    /// The most programs.
    #[facet(default = 20, dsrs::minimum(1), dsrs::maximum(100))]
    max_iters: usize,
    /// The most prompts that the programs send, all together.
    #[facet(default = 50, dsrs::maximum(1_000))]
    max_llm_calls: usize,
    /// The most prompts of `llm_query_batched` at the same time.
    #[facet(default = 8, dsrs::minimum(1), dsrs::maximum(64))]
    max_parallel: usize,
    /// The most characters of the output of one program that the LM sees.
    #[facet(default = 10_000, dsrs::minimum(100), dsrs::maximum(100_000))]
    max_output_chars: usize,
    /// The most characters of each input that the LM sees before it writes a program.
    #[facet(default = 500, dsrs::maximum(10_000))]
    preview_chars: usize,
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "rlm"
    }

    fn description(&self) -> &'static str {
        "For inputs that are too long for a prompt: they are variables of a sandbox, and the LM writes programs that read \
         them, ask an LM about parts of them, and submit the outputs. One LM call per program, up to `max_iters`, one per \
         prompt of a program, up to `max_llm_calls`, and one if no program submits."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<RlmConfig>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[ACTION, LLM_QUERY, EXTRACT]
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
        let config: RlmConfig = read_config(config, &at.key("config"))?;
        let mut problems = Problems::new();
        let functions = config.functions(env, &at.key("config"), &mut problems);
        let sandbox = env.sandbox();
        if sandbox.is_none() && !env.is_stored() {
            problems.push(no_sandbox(at));
        }
        config.check_model(env, &at.key("config"), &mut problems);
        let signature = at.key("signature");
        let names = RESERVED.into_iter().chain(functions.names().map(|name| &**name));
        check_variables(&base.inputs, names, &signature, &mut problems);
        prompt::check_names(base, config.with_trajectory, &signature, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Box::new(RlmModule::new(base, config, functions, sandbox)))
    }
}

impl RlmConfig {
    fn functions(
        &self,
        env: &dyn BuildEnv,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> ProgramFunctions {
        let Some(tools) = &self.tools else { return ProgramFunctions::default() };
        let at = at.key(TOOLS);
        let tools = read_tools(ToolDispatcher::default(), env, tools, &at, problems);
        refuse_caller_tools(&tools, &at, problems);
        ProgramFunctions::of(&tools, &RESERVED, env.is_stored(), &at, problems)
    }

    fn check_model(&self, env: &dyn BuildEnv, at: &At<'_>, problems: &mut Problems) {
        if let Some(alias) = self.sub_lm.as_deref().filter(|alias| !env.knows_model(alias)) {
            let detail = format!("no model `{alias}` is configured");
            problems.add(&at.key("sub_lm"), Code::UnknownModel, detail);
        }
    }
}

struct RlmModule {
    /// The outputs that programs submit.
    base: Arc<SignatureSchema>,
    schema: Arc<SignatureSchema>,
    action: SchemaPredictor,
    query: SchemaPredictor,
    extract: SchemaPredictor,
    functions: ProgramFunctions,
    sandbox: Option<Arc<dyn Sandbox>>,
    sub_lm: Option<Arc<str>>,
    limits: RlmLimits,
    with_trajectory: bool,
}

impl RlmModule {
    fn new(
        base: &Arc<SignatureSchema>,
        config: RlmConfig,
        functions: ProgramFunctions,
        sandbox: Option<Arc<dyn Sandbox>>,
    ) -> Self {
        let RlmConfig { limits, sub_lm, with_trajectory, .. } = config;
        let mut schema = SignatureSchema::clone(base);
        if with_trajectory {
            schema.outputs.extend(added_outputs::<Trajectory>());
        }
        let action = prompt::action(base, &functions, &limits);
        let tools = functions.names().cloned().collect();
        Self {
            base: base.clone(),
            schema: schema.into(),
            action: SchemaPredictor::new(action.into(), ACTION).with_tool_names(tools),
            query: SchemaPredictor::new(prompt::query().into(), LLM_QUERY),
            extract: SchemaPredictor::new(prompt::extract(base).into(), EXTRACT),
            functions,
            sandbox,
            sub_lm: sub_lm.map(Into::into),
            limits,
            with_trajectory,
        }
    }
}

impl DynModule for RlmModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![(ACTION, &self.action), (LLM_QUERY, &self.query), (EXTRACT, &self.extract)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![(ACTION, &mut self.action), (LLM_QUERY, &mut self.query), (EXTRACT, &mut self.extract)]
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
