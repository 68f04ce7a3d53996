//! The builder of typed predictors.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use super::cell::Predict;
use super::tool_dispatcher::ToolDispatcher;
use super::typed_demo::TypedDemo;
use super::{LmOverrides, PredictState, Tool, ToolOutput, function_tool};
use crate::problem::{At, Code, Problems};
use crate::signature::{Data, Signature};

impl<S: Signature> Predict<S> {
    /// A predictor with an instruction, demos, LM settings or tools.
    pub fn builder() -> PredictBuilder<S> {
        PredictBuilder::default()
    }
}

/// Builds a typed predictor.
#[must_use]
pub struct PredictBuilder<S: Signature> {
    state: PredictState,
    tools: ToolDispatcher,
    problems: Problems,
    signature: PhantomData<fn() -> S>,
}

impl<S: Signature> Default for PredictBuilder<S> {
    fn default() -> Self {
        let (state, tools) = (PredictState::default(), ToolDispatcher::default());
        Self { state, tools, problems: Problems::new(), signature: PhantomData }
    }
}

impl<S: Signature> PredictBuilder<S> {
    /// The task of the LM, instead of the signature's own instructions.
    pub fn instruction(mut self, text: impl Into<Arc<str>>) -> Self {
        self.state.instruction = Some(text.into());
        self
    }

    /// Adds a demo after the existing ones.
    pub fn demo(mut self, demo: &TypedDemo<S>) -> Self {
        let demos = At::Root.key("demos");
        let here = demos.index(self.state.demos.len());
        let demo = demo.to_state(&here, &mut self.problems);
        self.state.demos.push(demo);
        self
    }

    /// Sets the model and its settings.
    pub fn lm(mut self, lm: LmOverrides) -> Self {
        self.state.lm = lm;
        self
    }

    /// Adds an async function of a struct as a tool that the LM may call before it answers. The LM
    /// sees the errors of the function. The model must support native tool calls.
    ///
    /// ```
    /// use dsrs::{Data, Predict, Signature};
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
    /// let qa = Predict::<QA>::builder()
    ///     .tool("population", "How many people live in a city.", |city: City| async move {
    ///         match city.name.as_str() {
    ///             "Turku" => Ok(206_000),
    ///             other => Err(format!("{other} is unknown")),
    ///         }
    ///     })
    ///     .build()
    ///     .unwrap();
    /// # let _ = qa;
    /// ```
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
        match function_tool(name, description, function) {
            Ok(tool) => self.shared_tool(tool),
            Err(error) => self.without_tool(error.to_string()),
        }
    }

    /// Adds a tool of any kind.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        match self.tools.add(tool) {
            Ok(()) => self,
            Err(reason) => self.without_tool(reason),
        }
    }

    fn without_tool(mut self, reason: String) -> Self {
        self.problems.add(&At::Root.key("tools"), Code::InvalidConfig, reason);
        self
    }

    /// The predictor.
    ///
    /// # Errors
    /// Every demo value that does not fit, and every tool that cannot be offered to an LM.
    pub fn build(self) -> Result<Predict<S>, Problems> {
        self.problems.or(())?;
        let mut predict = Predict::new().with_tools(self.tools);
        predict.load_state(self.state)?;
        Ok(predict)
    }
}
