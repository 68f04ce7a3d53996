//! A graph as a module: what makes a stored graph a node of another, a tool or a reward. Its
//! predictors are open under the names of its nodes.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};

use super::GraphState;
use super::program::Program;
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::{BuildEnv, DynModule, InnerAsserts, RecordedCall, Sources};
use crate::value::{Fields, Payload, Selection};

/// A graph that is used as one module.
pub struct GraphModule {
    program: Program,
    schema: Arc<SignatureSchema>,
    paths: Vec<Arc<str>>,
}

impl GraphModule {
    /// Makes a module of a graph document, tuned by a state.
    ///
    /// # Errors
    /// Everything that is wrong with the document, and then with the state: its paths and values,
    /// with pointers as in `{path: {instruction, demos, lm}}`.
    pub fn new(
        document: &Payload,
        state: &GraphState,
        env: &dyn BuildEnv,
    ) -> Result<Self, Problems> {
        let program = Program::from_document(document, env)?;
        let mut problems = Problems::new();
        for (name, _) in program.graph().nodes().filter(|(_, node)| node.module.parks()) {
            let detail = format!(
                "`{name}` waits for a value from outside; such a graph can be run, but be no part \
                 of another"
            );
            problems.add(&At::Root.key("nodes").key(name), Code::InvalidConfig, detail);
        }
        let mut module = Self::untuned(program);
        module.program.check_paths(state, &At::Root, &mut problems);
        for (path, predictor) in module.predictors_mut() {
            if let Some(wanted) = state.0.get(path) {
                let loaded = predictor.load_state(wanted.clone(), &At::Root.key(path));
                problems.append(loaded.err().unwrap_or_default());
            }
        }
        problems.or(module)
    }

    /// A module of an unshared program, so that its predictors can be changed.
    fn untuned(mut program: Program) -> Self {
        let schema = Arc::new(program.signature());
        let found = program.predictors().into_iter();
        let paths: Vec<Arc<str>> = found.map(|(path, _)| path.into()).collect();
        for (path, predictor) in paths.iter().zip(program.predictors_mut()) {
            predictor.set_path(path.clone());
        }
        Self { program, schema, paths }
    }
}

impl Program {
    /// The inputs and outputs of the graph as a signature.
    #[must_use]
    pub fn signature(&self) -> SignatureSchema {
        let graph = self.graph();
        let outputs = graph.outputs();
        SignatureSchema {
            instructions: graph.description().unwrap_or_default().into(),
            inputs: graph.inputs().cloned().collect(),
            outputs: outputs
                .map(|(name, out)| FieldSchema::of(name.clone(), out.ty.ir.clone()))
                .collect(),
            defs: graph.defs().clone(),
        }
    }
}

impl DynModule for GraphModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let predictors = self.program.predictors().into_iter().map(|(_, predictor)| predictor);
        self.paths.iter().map(AsRef::as_ref).zip(predictors).collect()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.paths.iter().map(AsRef::as_ref).zip(self.program.predictors_mut()).collect()
    }

    fn attempts(&self) -> usize {
        let nodes = self.program.graph().nodes.values();
        nodes.map(|node| node.module.attempts()).max().unwrap_or(1)
    }

    /// As exact as the graph is within: its nodes have spans below the call.
    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        self.program.sources_within(call, part).unwrap_or_else(|| Sources::all(&self.schema))
    }

    fn inner_asserts(&self) -> Option<&dyn InnerAsserts> {
        Some(self)
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        match self.admit(&input) {
            Ok(()) => Box::pin(self.program.execute_within(ctx, input)),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}

impl InnerAsserts for GraphModule {
    fn report_broken(&self, inputs: &Fields, at: &At<'_>, problems: &mut Problems) {
        let passed = &self.program.plan.passed_inputs;
        passed.report_broken(self.program.graph(), inputs, at, problems);
    }
}

impl GraphModule {
    /// Checks the asserts of its nodes before any of them runs.
    fn admit(&self, input: &Fields) -> Result<(), PredictError> {
        let mut problems = Problems::new();
        self.report_broken(input, &At::Root, &mut problems);
        let Some(first) = problems.iter().next() else { return Ok(()) };
        let field = first.pointer.split('/').nth(1).unwrap_or_default().into();
        let details: Vec<&str> = problems.iter().map(|found| found.detail.as_str()).collect();
        Err(PredictError::new(PredictErrorKind::InvalidValue { field }, details.join("; ")))
    }
}
