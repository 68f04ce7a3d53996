//! Loads a graph's tuned state back into the typed module that the graph was derived from: one to
//! one, completely or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use facet::Facet;

use crate::graph::GraphState;
use crate::module::named_predictors_mut;
use crate::predict::{DynPredictor, PredictState};
use crate::problem::{At, Code, Problem, Problems};

/// Loads the state of a graph's predictors into those of the module. `nodes` maps nodes to paths,
/// as [`Projection::nodes`](super::Projection::nodes) has it; a predictor that is missing in the
/// state gets its defaults.
///
/// # Errors A state whose node has no predictor, a predictor without a node, and everything that
/// does not fit. The module is unchanged then.
pub fn load_module_state<M: Facet<'static>>(
    state: &GraphState,
    nodes: &[(Arc<str>, String)],
    module: &mut M,
) -> Result<(), Problems> {
    let root = At::Root;
    let mut predictors = named_predictors_mut(module).map_err(|error| {
        let detail = error.to_string();
        Problem { pointer: root.pointer(), code: Code::WrongType, detail }
    })?;
    let mut problems = one_to_one(state, nodes, &predictors);
    let paths: HashMap<&str, &Arc<str>> =
        nodes.iter().map(|(node, path)| (path.as_str(), node)).collect();
    let before: Vec<PredictState> =
        predictors.iter().map(|(_, predictor)| predictor.state().clone()).collect();
    if problems.is_empty() {
        for (path, predictor) in &mut predictors {
            let Some(node) = paths.get(path.as_str()) else { continue };
            let tuned = state.0.get(*node).cloned().unwrap_or_default();
            problems.append(predictor.load_state(tuned, &root.key(node)).err().unwrap_or_default());
        }
        if !problems.is_empty() {
            for ((_, predictor), before) in predictors.iter_mut().zip(before) {
                // The previous state still fits.
                drop(predictor.load_state(before, &root));
            }
        }
    }
    problems.or(())
}

fn one_to_one(
    state: &GraphState,
    nodes: &[(Arc<str>, String)],
    predictors: &[(String, &mut dyn DynPredictor)],
) -> Problems {
    let mut problems = Problems::new();
    let root = At::Root;
    for node in state.0.keys().filter(|node| !nodes.iter().any(|(known, _)| known == *node)) {
        let detail = format!("`{node}` has no predictor of the module");
        problems.add(&root.key(node), Code::UnknownNode, detail);
    }
    for (node, path) in nodes {
        if !predictors.iter().any(|(known, _)| known == path) {
            let detail = format!("the module has no predictor `{path}`");
            problems.add(&root.key(node), Code::UnknownField, detail);
        }
    }
    for (path, _) in predictors {
        if !nodes.iter().any(|(_, known)| known == path) {
            let detail = format!("no node represents the module's predictor `{path}`");
            problems.add(&root, Code::MissingField, detail);
        }
    }
    problems
}
