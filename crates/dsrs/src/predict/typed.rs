//! Typed demos and the builder of typed predictors: Rust values at the rim, plain data behind it.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use super::toolbox::Toolbox;
use super::{LmOverrides, Predict, PredictState, Tool, ToolOutput, function_tool, state};
use crate::problem::{At, Code, Problem, Problems};
use crate::reflect::{ReflectError, from_payload, to_payload};
use crate::signature::{Data, Signature};
use crate::value::{Fields, Payload};

/// A worked example of a typed signature.
#[derive(Debug, Clone)]
pub struct Demo<S: Signature> {
    /// Its inputs.
    pub input: S::Input,
    /// Its outputs, those that augmentations add included.
    pub output: S::Output,
}

/// A typed predictor on its way.
#[must_use]
pub struct PredictBuilder<S: Signature> {
    state: PredictState,
    tools: Toolbox,
    problems: Problems,
    signature: PhantomData<fn() -> S>,
}

impl<S: Signature> Default for PredictBuilder<S> {
    fn default() -> Self {
        let (state, tools) = (PredictState::default(), Toolbox::default());
        Self { state, tools, problems: Problems::new(), signature: PhantomData }
    }
}

impl<S: Signature> PredictBuilder<S> {
    /// What the LM is told to do, instead of the signature's own instructions.
    pub fn instruction(mut self, text: impl Into<Arc<str>>) -> Self {
        self.state.instruction = Some(text.into());
        self
    }

    /// Adds a worked example behind those there are.
    pub fn demo(mut self, demo: &Demo<S>) -> Self {
        let demos = At::Root.key("demos");
        let here = demos.index(self.state.demos.len());
        let input = side(&demo.input, &here.key("input"), &mut self.problems);
        let output = side(&demo.output, &here.key("output"), &mut self.problems);
        self.state.demos.push(state::Demo { input, output });
        self
    }

    /// Which model, and how.
    pub fn lm(mut self, lm: LmOverrides) -> Self {
        self.state.lm = lm;
        self
    }

    /// Adds an async function of a struct as a tool, which the LM may have called before it answers;
    /// what it fails with is told to the LM. The model has to have a way to be told of tools.
    ///
    /// ```
    /// use dsrs::facet::{self, Facet};
    /// use dsrs::{Predict, Signature};
    ///
    /// #[derive(Signature)]
    /// struct QA {
    ///     #[input]
    ///     question: String,
    ///     #[output]
    ///     answer: String,
    /// }
    ///
    /// #[derive(Facet)]
    /// struct City {
    ///     name: String,
    /// }
    ///
    /// let qa = Predict::<QA>::builder()
    ///     .tool("population", "How many people live in a city.", |city: City| async move {
    ///         match city.name.as_str() {
    ///             "Turku" => Ok(206_000),
    ///             other => Err(format!("nothing is known of {other}")),
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
    /// Every demo value that does not fit, and every tool that cannot be told to an LM.
    pub fn build(self) -> Result<Predict<S>, Problems> {
        self.problems.or(())?;
        let mut predict = Predict::new().with_tools(self.tools);
        predict.load_state(self.state)?;
        Ok(predict)
    }
}

fn side<T: Data>(value: &T, at: &At<'_>, problems: &mut Problems) -> Fields {
    match fields(value) {
        Ok(fields) => fields,
        Err(error) => {
            problems.push(misfit(at, &error));
            Fields::new()
        }
    }
}

/// A struct as named fields.
///
/// # Errors
/// When a value in it has no place in data, or it is no struct.
pub(crate) fn fields<T: Data>(value: &T) -> Result<Fields, ReflectError> {
    match to_payload(value)? {
        Payload::Map(members) => Ok(Arc::unwrap_or_clone(members)),
        _ => Err(ReflectError::new("is no struct with named fields")),
    }
}

/// Demos as Rust values; every one that does not fit is named.
pub(super) fn admit_typed<S: Signature>(
    demos: &[state::Demo],
    at: &At<'_>,
) -> Result<Vec<Demo<S>>, Problems> {
    let mut problems = Problems::new();
    let mut typed = Vec::with_capacity(demos.len());
    for (index, demo) in demos.iter().enumerate() {
        let here = at.index(index);
        let input = value::<S::Input>(&demo.input, &here.key("input"), &mut problems);
        let output = value::<S::Output>(&demo.output, &here.key("output"), &mut problems);
        typed.extend(input.zip(output).map(|(input, output)| Demo { input, output }));
    }
    problems.or(typed)
}

fn value<T: Data>(fields: &Fields, at: &At<'_>, problems: &mut Problems) -> Option<T> {
    let found = from_payload(&Payload::map(fields.clone()));
    found.map_err(|error| problems.push(misfit(at, &error))).ok()
}

fn misfit(at: &At<'_>, error: &ReflectError) -> Problem {
    Problem { pointer: at.pointer(), code: Code::WrongType, detail: error.to_string() }
}
