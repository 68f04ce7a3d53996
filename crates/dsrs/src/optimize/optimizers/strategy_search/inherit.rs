//! Inheriting state after a change of the graph: by path if the path still exists, else by the first
//! predictor of the same node with the same fields. Knows predictors by ttarget paths.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::graph::{GraphState, Program, carry_over};
use crate::predict::PredictState;

/// A state for another graph, and the paths whose state is lost.
pub(super) struct InheritedState {
    pub(super) state: GraphState,
    pub(super) dropped: Vec<Arc<str>>,
}

/// Carries a state over from one program to another, predictor by predictor.
pub(super) fn inherit(state: &GraphState, old: &Program, new: &Program) -> InheritedState {
    let after: Vec<Arc<str>> = new.predictors().into_iter().map(|(path, _)| path.into()).collect();
    let mut inherited = InheritedState { state: GraphState(IndexMap::new()), dropped: Vec::new() };
    for (path, tuned) in &state.0 {
        let targets: Vec<&Arc<str>> = match after.contains(path) {
            true => vec![path],
            false => after.iter().filter(|target| node_of(target) == node_of(path)).collect(),
        };
        let found = targets.into_iter().find(|target| {
            let free = !inherited.state.0.contains_key(*target);
            free && takes(target, (path, tuned), old, new)
        });
        let found = found.cloned();
        match found {
            Some(target) => drop(inherited.state.0.insert(target, tuned.clone())),
            None => inherited.dropped.push(path.clone()),
        }
    }
    inherited
}

/// Whether a predictor of the new program has the fields of one of the old, by name and type.
fn takes(
    target: &Arc<str>,
    (path, tuned): (&Arc<str>, &PredictState),
    old: &Program,
    new: &Program,
) -> bool {
    let alone = GraphState([(path.clone(), tuned.clone())].into_iter().collect());
    let renamed = if target == path { Vec::new() } else { vec![(path.clone(), target.clone())] };
    carry_over(&alone, old, new, &renamed).dropped.is_empty()
}

/// The node of a predictor.
pub(super) fn node_of(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}
