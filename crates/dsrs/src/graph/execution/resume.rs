//! Which completed nodes a resumed run reuses, possibly with another version of its graph: those whose
//! definition, state and sources did not change. Knows nothing of stored runs.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::graph::edge::{Edge, INPUT, Target};
use crate::graph::node::Node;
use crate::graph::program::Program;
use crate::predict::PredictState;
use crate::signature::SignatureSchema;
use crate::types::reachable;
use crate::value::Fields;

/// What a resumed run does with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeDecision {
    /// It reuses the outputs.
    Reuse,
    /// It runs the node again, for this reason.
    Rerun(String),
}

/// Decides for each node of `new` whether a run that began with `old` reuses its outputs. `ended` are
/// the completed nodes; each program comes with the inputs as it completed them.
#[must_use]
pub fn resume_decisions(
    old: (&Program, &Fields),
    new: (&Program, &Fields),
    ended: &HashSet<Arc<str>>,
) -> IndexMap<Arc<str>, ResumeDecision> {
    let compared = ProgramPair { old, new };
    let nodes = new.0.graph().nodes.iter();
    let mut verdicts: IndexMap<Arc<str>, ResumeDecision> = nodes
        .map(|(name, node)| {
            let verdict = match compared.change(name, node, ended.contains(name)) {
                Some(reason) => ResumeDecision::Rerun(reason),
                None => ResumeDecision::Reuse,
            };
            (name.clone(), verdict)
        })
        .collect();
    follow(new.0, &mut verdicts);
    verdicts
}

/// Followers of a node that runs again run again, too.
fn follow(program: &Program, verdicts: &mut IndexMap<Arc<str>, ResumeDecision>) {
    let again = |verdicts: &IndexMap<Arc<str>, ResumeDecision>, index: usize| {
        verdicts.get_index(index).is_some_and(|(_, verdict)| *verdict != ResumeDecision::Reuse)
    };
    let planned = &program.plan.nodes;
    let mut open: Vec<usize> = (0..planned.len()).filter(|index| again(verdicts, *index)).collect();
    while let Some(index) = open.pop() {
        for &follower in &planned[index].followers {
            if again(verdicts, follower) {
                continue;
            }
            let reason = format!("`{}`, which it waits for, runs again", planned[index].name);
            verdicts[follower] = ResumeDecision::Rerun(reason);
            open.push(follower);
        }
    }
}

struct ProgramPair<'a> {
    old: (&'a Program, &'a Fields),
    new: (&'a Program, &'a Fields),
}

impl ProgramPair<'_> {
    /// Why a node has to run again, apart from its sources.
    fn change(&self, name: &Arc<str>, node: &Node, ended: bool) -> Option<String> {
        let Some(was) = self.old.0.graph().node(name) else {
            return Some("the previous version has no such node".to_owned());
        };
        if !ended {
            return Some("it had not completed".to_owned());
        }
        let parts = [
            ("its strategy", was.strategy == node.strategy),
            ("its signature", same_signature(&was.base, &node.base)),
            ("its config", was.config == node.config),
            ("its LM settings", was.settings.lm == node.settings.lm),
            ("the state of its predictors", states(name, was) == states(name, node)),
        ];
        let changed = parts.into_iter().find(|(_, same)| !same).map(|(part, _)| part.to_owned());
        changed
            .map_or_else(|| self.source_change(name, node), |part| Some(format!("{part} changed")))
    }

    fn source_change(&self, name: &Arc<str>, node: &Node) -> Option<String> {
        let (was, is) =
            (self.old.0.graph().edges_by_target(), self.new.0.graph().edges_by_target());
        node.schema().inputs.iter().find_map(|field| {
            let target = Target { node: name.clone(), field: field.name.clone() };
            let (before, after) = (was.get(&target), is.get(&target));
            let source = |edge: Option<&&Edge>| edge.map(|edge| edge.from.clone());
            if source(before) != source(after) {
                return Some(format!("its input `{}` has another source", field.name));
            }
            let input = after.filter(|edge| edge.from.node.as_ref() == INPUT)?.from.field();
            (self.old.1.get(input) != self.new.1.get(input))
                .then(|| format!("the graph's input `{input}` is converted differently"))
        })
    }
}

fn states<'n>(name: &str, node: &'n Node) -> Vec<(String, &'n PredictState)> {
    node.predictors(name).map(|(path, predictor)| (path, predictor.state())).collect()
}

/// Whether two signatures produce the same prompts: equal instructions, fields, and definitions of the
/// types that the fields name.
fn same_signature(one: &SignatureSchema, other: &SignatureSchema) -> bool {
    let fields = one.inputs == other.inputs && one.outputs == other.outputs;
    if !fields || one.instructions != other.instructions {
        return false;
    }
    let types = one.inputs.iter().chain(&one.outputs).map(|field| &field.ty);
    let named = reachable(types, &one.defs);
    named.into_iter().all(|name| one.defs.get(name) == other.defs.get(name))
}
