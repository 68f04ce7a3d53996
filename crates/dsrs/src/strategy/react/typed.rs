//! `ReAct<S>`: the agent for a typed signature.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use facet::Facet;

use super::agent::{Agent, AgentRun, AgentSettings};
use super::ending::{Submission, reserved};
use super::prompt::ActionPrompt;
use super::{ACTION, EXTRACT, prompt};
use crate::module::{Module, Prediction};
use crate::predict::fields;
use crate::predict::{
    Ctx, Predict, PredictError, PredictErrorKind, Tool, ToolDispatcher, ToolOutput, function_tool,
};
use crate::problem::{At, Code, Problems};
use crate::reflect::{ReflectError, from_payload};
use crate::signature::{Data, Signature, SignatureSchema};
use crate::strategy::chain_of_thought::with_reasoning;
use crate::strategy::steps::{TRAJECTORY, with_steps};
use crate::strategy::{ChainOfThought, WithReasoning};
use crate::value::{Fields, Payload};

/// The signature of one step.
#[derive(dsrs::Signature)]
pub struct Action<I> {
    #[input(flatten)]
    input: I,
    /// the steps so far: thoughts, tool calls and their results
    #[input]
    trajectory: String,
    /// what you know, what is missing and what to do next
    #[output]
    next_thought: String,
    /// the name of exactly one tool
    #[output]
    next_tool_name: String,
    /// the arguments of that tool, as a JSON object
    #[output]
    next_tool_args: Option<HashMap<String, Payload>>,
    /// further tool calls to make at the same time; null if there are none
    #[output]
    more_tool_calls: Option<Vec<FurtherCall>>,
}

/// A call that is made at the same time as another.
#[derive(Clone, Debug, Facet)]
pub struct FurtherCall {
    /// The name of the tool.
    pub name: String,
    /// Its arguments.
    pub args: Option<HashMap<String, Payload>>,
}

/// The signature of the outputs, after the steps.
#[derive(dsrs::Signature)]
pub struct Extract<I, O> {
    #[input(flatten)]
    input: I,
    /// the steps so far: thoughts, tool calls and their results
    #[input]
    trajectory: String,
    #[output(flatten)]
    output: O,
}

/// The output with the steps.
#[derive(dsrs::Augmentation, Clone, Debug)]
#[augment(output, append, derive(PartialEq, Eq, Hash))]
pub struct Trajectory {
    /// the steps that led to the answer
    pub trajectory: String,
}

/// An agent: reasons, calls tools and reads their results until it can answer.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::{Ctx, Data, Module, ReAct, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// #[derive(Data)]
/// struct City {
///     name: String,
/// }
///
/// let agent = ReAct::<QA>::builder()
///     .tool("population", "How many people live in a city.", |city: City| async move {
///         match city.name.as_str() {
///             "Turku" => Ok(206_000),
///             other => Err(format!("nothing is known of {other}")),
///         }
///     })
///     .max_iters(5)
///     .build()
///     .unwrap();
///
/// # dsrs::block_on(async {
/// let lm = Arc::new(ScriptedLm::answering([
///     "[[ ## next_thought ## ]]\nI look it up.\n[[ ## next_tool_name ## ]]\npopulation\n\
///      [[ ## next_tool_args ## ]]\n{\"name\": \"Turku\"}",
///     "[[ ## next_thought ## ]]\nI know.\n[[ ## next_tool_name ## ]]\nfinish",
///     "[[ ## reasoning ## ]]\nIt was found.\n[[ ## answer ## ]]\n206000",
/// ]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let input = QAInput { question: "How many people live in Turku?".into() };
/// let result = agent.call(&ctx, input).await.unwrap();
/// assert_eq!(result.answer, "206000");
/// assert!(result.trajectory.contains("result: 206000"));
/// # });
/// ```
#[derive(Facet)]
pub struct ReAct<S: Signature> {
    /// Decides each step.
    pub action: Predict<Action<S::Input>>,
    /// Writes the outputs from the steps.
    pub extract: ChainOfThought<Extract<S::Input, S::Output>>,
    #[facet(opaque, dsrs::skip)]
    agent: Agent,
}

impl<S: Signature> ReAct<S> {
    /// A builder without tools.
    pub fn builder() -> ReActBuilder<S> {
        ReActBuilder {
            tools: Vec::new(),
            settings: AgentSettings::default(),
            submits: false,
            problems: Problems::new(),
            signature: PhantomData,
        }
    }
}

impl<S: Signature> Clone for ReAct<S> {
    fn clone(&self) -> Self {
        Self {
            action: self.action.clone(),
            extract: self.extract.clone(),
            agent: self.agent.clone(),
        }
    }
}

impl<S: Signature> Module for ReAct<S> {
    type Input = S::Input;
    type Output = WithTrajectory<S::Output>;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<Self::Output>, PredictError> {
        let input = fields(&input).map_err(|error| {
            let field = error.path.split(['.', '[']).next().unwrap_or_default().into();
            PredictError::new(PredictErrorKind::InvalidValue { field }, error.to_string())
        })?;
        let acted = self.agent.act(ctx, &self.action.predictor, None, &input).await?;
        let AgentRun { mut steps, outputs } = acted;
        if let Some(outputs) = outputs {
            let inner = typed_outputs::<S>(&outputs)
                .map_err(|error| PredictError::new(PredictErrorKind::Module, error.to_string()))?;
            let trajectory = steps.texts.whole();
            return Ok(Prediction::of(WithTrajectory { inner, trajectory }));
        }
        let extract = &self.extract.predict.predictor;
        let typed = |found: &Fields| {
            from_payload::<WithReasoning<ExtractOutput<S::Output>>>(&Payload::map(found.clone()))
        };
        let ask = |input| extract.forward_as(ctx, input, typed);
        let found = with_steps(&mut steps.texts, TRAJECTORY, &input, ask).await?;
        let inner = found.inner.output;
        Ok(Prediction::of(WithTrajectory { inner, trajectory: steps.texts.whole() }))
    }
}

/// Submitted outputs as a Rust value.
fn typed_outputs<S: Signature>(outputs: &Fields) -> Result<S::Output, ReflectError> {
    from_payload::<S::Output>(&Payload::map(outputs.clone()))
}

/// Builds a [`ReAct`].
#[must_use]
pub struct ReActBuilder<S: Signature> {
    tools: Vec<Arc<dyn Tool>>,
    settings: AgentSettings,
    submits: bool,
    problems: Problems,
    signature: PhantomData<fn() -> S>,
}

impl<S: Signature> ReActBuilder<S> {
    /// Adds an async function of a struct as a tool; the LM sees its errors.
    pub fn tool<A, R, E, Running>(
        self,
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        function: impl Fn(A) -> Running + Send + Sync + 'static,
    ) -> Self
    where
        A: Data,
        R: ToolOutput + 'static,
        E: Display + 'static,
        Running: Future<Output = Result<R, E>> + Send + 'static,
    {
        self.with(function_tool(name, description, function))
    }

    /// Adds a tool of any kind.
    pub fn shared_tool(self, tool: Arc<dyn Tool>) -> Self {
        self.with(Ok(tool))
    }

    fn with(mut self, tool: Result<Arc<dyn Tool>, ReflectError>) -> Self {
        match tool {
            Ok(tool) => self.tools.push(tool),
            Err(error) => {
                self.problems.add(&At::Root.key("tools"), Code::InvalidConfig, error.to_string());
            }
        }
        self
    }

    /// Makes the steps turns of the conversation, with native tool calls and their results, where the model has the
    /// capability [`tools`](crate::lm::Model::tools).
    pub const fn turns(mut self) -> Self {
        self.settings.turns = true;
        self
    }

    /// Makes the LM end the steps by the call `submit`, whose arguments are the outputs.
    pub const fn submit(mut self) -> Self {
        self.submits = true;
        self
    }

    /// Makes a tool end the steps: after a call that succeeds, there is no further step.
    pub fn stop_at_tool(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.stop_at_tools.push(name.into());
        self
    }

    /// The tokens of prompts and answers after which there are no more steps; no limit by default.
    pub const fn max_step_tokens(mut self, most: u64) -> Self {
        self.settings.limits.max_step_tokens = Some(most);
        self
    }

    /// The most steps; 10 by default.
    pub const fn max_iters(mut self, most: usize) -> Self {
        self.settings.limits.max_iters = most;
        self
    }

    /// The most tool calls at the same time; 8 by default.
    pub fn max_parallel(mut self, most: usize) -> Self {
        self.settings.limits.max_parallel = most.max(1);
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// Tools that cannot be described to an LM or share a name, and fields of the signature with the
    /// name of an added field.
    pub fn build(mut self) -> Result<ReAct<S>, Problems> {
        let base = SignatureSchema::of::<S>();
        let toolbox = self.toolbox();
        self.problems.append(prompt::check_names(&base, &At::Root).err().unwrap_or_default());
        let extract = with_reasoning(&prompt::extract(&base), &At::Root);
        let extract = match extract {
            Ok(extract) if self.problems.is_empty() => extract,
            outcome => {
                self.problems.append(outcome.err().unwrap_or_default());
                return Err(self.problems);
            }
        };
        let accept = |outputs: &Fields| {
            typed_outputs::<S>(outputs).map(|_| ()).map_err(|error| error.to_string())
        };
        let submission = self.submits.then(|| Submission::of(base.clone(), accept));
        let (submission_ref, turns) = (submission.as_ref(), self.settings.turns);
        let prompt =
            ActionPrompt { base: &base, toolbox: &toolbox, submission: submission_ref, turns };
        let action = Predict::over(prompt.schema().into(), ACTION).with_tool_names(toolbox.names());
        let action = match prompt.layout() {
            Some(layout) => action.with_step_turns(layout),
            None => action,
        };
        Ok(ReAct {
            action,
            extract: ChainOfThought { predict: Predict::over(extract.into(), EXTRACT) },
            agent: Agent::new(toolbox, self.settings, submission),
        })
    }

    /// The tools, with a problem for each that cannot be one.
    fn toolbox(&mut self) -> ToolDispatcher {
        let mut toolbox = ToolDispatcher::reserving(reserved(self.submits));
        for tool in std::mem::take(&mut self.tools) {
            if let Err(reason) = toolbox.add(tool) {
                self.problems.add(&At::Root.key("tools"), Code::InvalidConfig, reason);
            }
        }
        for name in &self.settings.stop_at_tools {
            if let Err(reason) = toolbox.check_known(name) {
                self.problems.add(&At::Root.key("stop_at_tools"), Code::InvalidConfig, reason);
            }
        }
        toolbox
    }
}
