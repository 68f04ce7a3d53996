//! What these tests share: an environment, documents and states from text, prompts as text.

use std::sync::Arc;

use dsrs::graph::{GraphState, Program};
use dsrs::predict::{DynPredictor, PredictState, read_state};
use dsrs::problem::{At, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};

pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

pub(crate) fn fields(text: &str) -> Fields {
    json(text).as_map().unwrap().clone()
}

pub(crate) fn program(document: &str) -> Program {
    Program::from_document(&json(document), &Env).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn state(text: &str) -> PredictState {
    let mut problems = Problems::new();
    let state = read_state(&json(text), &At::Root, &mut problems);
    problems.or(state).unwrap().unwrap()
}

/// A program with the state of one of its predictors.
pub(crate) fn tuned(
    program: &Program,
    path: &str,
    state: PredictState,
) -> Result<Program, Problems> {
    let state = GraphState([(Arc::from(path), state)].into_iter().collect());
    program.with_state(&Env, &state, &At::Root)
}

/// The messages of a call, as text.
pub(crate) fn prompt(predictor: &dyn DynPredictor, input: &Fields) -> Vec<String> {
    let messages = predictor.render(input).into_iter();
    messages.map(|message| format!("{:?}: {}", message.role, message.content)).collect()
}

/// Where problems are, without the place of a predictor in front.
pub(crate) fn places(problems: &Problems, below: &str) -> Vec<String> {
    let each = problems.iter().map(|problem| {
        let place = problem.pointer.strip_prefix(below).unwrap_or(&problem.pointer);
        format!("{place} {}", problem.code)
    });
    each.collect()
}
