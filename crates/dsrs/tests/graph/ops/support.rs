//! Helpers of the tests of ops: graphs as text, built and run with a scripted LM.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{Outcome, Program};
use dsrs::lm::{Models, ScriptedLm};
use dsrs::predict::RunScope;
use dsrs::problem::Problems;
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use tokio::time::Instant;

pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn build(document: &str) -> Result<Program, Problems> {
    Program::from_document(&json(document), &Env)
}

/// A graph of one op, `node` as in a document without its outer braces, with these declared inputs,
/// each connected to the op's input of its name.
pub(crate) fn graph_of(node: &str, inputs: &[(&str, &str)]) -> String {
    let declared: Vec<String> =
        inputs.iter().map(|(name, ty)| format!("{:?}: {:?}", name, ty)).collect();
    let edges: Vec<String> = inputs
        .iter()
        .map(|(name, _)| format!(r#"{{"from": "input.{name}", "to": "op.{name}"}}"#))
        .collect();
    format!(
        r#"{{"name": "g", "types": {{"Person": {{"class": {{"name": "str", "age": "int?"}}}},
                                     "Mood": {{"enum": {{"calm": null, "angry": null}}}}}},
            "inputs": {{{}}}, "nodes": {{"op": {{{node}}}}}, "edges": [{}]}}"#,
        declared.join(", "),
        edges.join(", ")
    )
}

/// Runs a program over a script.
pub(crate) async fn run_with(program: &Program, lm: ScriptedLm, inputs: &str) -> Outcome {
    let models = Arc::new(Models::only(Arc::new(lm)));
    let run = Arc::new(RunScope::new(models, Instant::now() + Duration::from_secs(600)));
    program.execute(&run, json(inputs).as_map().unwrap().clone()).await
}

/// Runs a program without an LM.
pub(crate) async fn run(program: &Program, inputs: &str) -> Outcome {
    run_with(program, ScriptedLm::answering([""; 0]), inputs).await
}
