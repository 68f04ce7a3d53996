//! `code_act`: the LM acts by programs that call tools as functions, until it has what the outputs need (Wang et al. 2024;
//! DSPy's `CodeAct`). Two predictors: `codeact` writes the programs, `extractor.predict` the outputs.

mod prompt;
mod rounds;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::chain_of_thought::with_reasoning;
use super::programs::{ProgramFunctions, check_variables, no_sandbox};
use super::react::Trajectory;
use super::registry::StrategyRegistration;
use super::tools::{TOOLS, read_tools, refuse_caller_tools, tools_schema};
use super::{BuildEnv, ConfigRef, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor, ToolDispatcher};
use crate::problem::{At, Problems};
use crate::sandbox::Sandbox;
use crate::signature::{SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

const ACTION: &str = "codeact";
const EXTRACT: &str = "extractor.predict";

/// The names that no tool and no input has.
const RESERVED: [&str; 1] = ["print"];

#[derive(Facet)]
struct CodeActConfig {
    /// The tools that programs call as functions, as those of `react`.
    #[facet(dsrs::value_schema(tools_schema))]
    tools: Option<Payload>,
    #[facet(flatten)]
    limits: CodeActLimits,
    /// Whether the programs and their outputs are an additional output, `trajectory`.
    #[facet(default)]
    with_trajectory: bool,
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, Facet)]
struct CodeActLimits {
    /// The most programs.
    #[facet(default = 5, dsrs::minimum(1), dsrs::maximum(100))]
    max_iters: usize,
    /// The most characters of the output of one program that the LM sees.
    #[facet(default = 10_000, dsrs::minimum(100), dsrs::maximum(100_000))]
    max_output_chars: usize,
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "code_act"
    }

    fn description(&self) -> &'static str {
        "An agent that acts by programs: the LM writes Python that calls tools as functions and reads their results, until \
         it can answer. One LM call per program, up to `max_iters`, and one for the outputs."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<CodeActConfig>()
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
        let config: CodeActConfig = read_config(config, &at.key("config"))?;
        let mut problems = Problems::new();
        let functions = config.functions(env, &at.key("config"), &mut problems);
        let sandbox = env.sandbox();
        if sandbox.is_none() && !env.is_stored() {
            problems.push(no_sandbox(at));
        }
        let signature = at.key("signature");
        let names = RESERVED.into_iter().chain(functions.names().map(|name| &**name));
        check_variables(&base.inputs, names, &signature, &mut problems);
        prompt::check_names(base, &signature, &mut problems);
        let extract = with_reasoning(&prompt::extract(base), &signature);
        match extract {
            Ok(extract) if problems.is_empty() => {
                Ok(Box::new(CodeActModule::new(base, extract, config, functions, sandbox)))
            }
            extract => {
                problems.append(extract.err().unwrap_or_default());
                Err(problems)
            }
        }
    }
}

impl CodeActConfig {
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
}

struct CodeActModule {
    schema: Arc<SignatureSchema>,
    action: SchemaPredictor,
    extract: SchemaPredictor,
    functions: ProgramFunctions,
    sandbox: Option<Arc<dyn Sandbox>>,
    limits: CodeActLimits,
    with_trajectory: bool,
}

impl CodeActModule {
    fn new(
        base: &Arc<SignatureSchema>,
        extract: SignatureSchema,
        config: CodeActConfig,
        functions: ProgramFunctions,
        sandbox: Option<Arc<dyn Sandbox>>,
    ) -> Self {
        let CodeActConfig { limits, with_trajectory, .. } = config;
        let mut schema = SignatureSchema::clone(base);
        if with_trajectory {
            schema.outputs.extend(added_outputs::<Trajectory>());
        }
        let action = prompt::action(base, &functions, &limits);
        let tools = functions.names().cloned().collect();
        Self {
            schema: schema.into(),
            action: SchemaPredictor::new(action.into(), ACTION).with_tool_names(tools),
            extract: SchemaPredictor::new(extract.into(), EXTRACT),
            functions,
            sandbox,
            limits,
            with_trajectory,
        }
    }
}

impl DynModule for CodeActModule {
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
