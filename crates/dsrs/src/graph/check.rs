//! The checks of a connection, in one place for documents, edits and hand-built graphs: both ends
//! exist, the input is free, the types fit, no cycle is closed.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexSet;

use super::edge::{Edge, INPUT, Target};
use super::node::Node;
use super::order::{Cycle, Precedence};
use super::program_graph::ProgramGraph;
use crate::problem::{At, Code, Problem, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, Type, absent_value, brief};
use crate::value::Payload;

/// How many nodes of a cycle a message names.
const CYCLE_NAMES: usize = 50;

impl ProgramGraph {
    /// Checks everything about an edge but cycles; `at` is the edge's place. Both ends are looked
    /// at, so that one call reports all that is wrong.
    pub(super) fn check_edge(
        &self,
        edge: &Edge,
        budget: &mut CompareBudget,
        at: &At<'_>,
    ) -> Result<(), Problems> {
        let mut problems = Problems::new();
        let from = self.type_of(&edge.from, &at.key("from"));
        let to = self.target_field(&edge.to, &at.key("to"));
        match (from, to) {
            (Ok(from), Ok((_, to))) => {
                problems.extend(misfit(edge, (&from, &to), budget, at));
            }
            (from, to) => {
                problems.extend(from.err());
                problems.extend(to.err());
            }
        }
        problems.or(())
    }

    /// The field that a target names, with its complete type.
    pub(super) fn target_field(
        &self,
        target: &Target,
        at: &At<'_>,
    ) -> Result<(&FieldSchema, Type), Problem> {
        if target.node.as_ref() == INPUT {
            let detail = "`input` provides the graph's inputs and accepts none".to_owned();
            return Err(Problem { pointer: at.pointer(), code: Code::UnknownNode, detail });
        }
        let node = self.nodes.get(&target.node).map(AsRef::as_ref);
        let node: &Node = node.ok_or_else(|| self.unknown_node(&target.node, at))?;
        let schema = node.schema();
        match schema.input(&target.field) {
            Some(field) => Ok((field, schema.type_of(field))),
            None => {
                let detail = format!(
                    "node `{}` has no input `{}`; its inputs: {}",
                    target.node,
                    target.field,
                    listed(schema.inputs.iter().map(|field| field.name.as_ref()))
                );
                Err(Problem { pointer: at.pointer(), code: Code::UnknownField, detail })
            }
        }
    }

    /// Reports an edge whose target is fed already, by the same source or by another.
    pub(super) fn check_free(
        edge: &Edge,
        fed: &HashMap<Target, &Edge>,
        at: &At<'_>,
    ) -> Result<(), Problem> {
        let Some(other) = fed.get(&edge.to) else { return Ok(()) };
        if other.from == edge.from {
            return Err(duplicate_edge(edge, at));
        }
        let detail =
            format!("`{}` is already fed by `{}`; an input has one source", edge.to, other.from);
        Err(Problem { pointer: at.pointer(), code: Code::InputAlreadyConnected, detail })
    }

    /// Reports every input that has neither a source nor a value of its own to fall back on;
    /// `is_claimed` are those that an edge names, or may have meant.
    pub(super) fn unconnected(&self, is_claimed: impl Fn(&Target) -> bool) -> Problems {
        let mut problems = Problems::new();
        let root = At::Root;
        let place = root.key("nodes");
        for (node_name, node) in &self.nodes {
            for field in &node.schema().inputs {
                let target = Target { node: node_name.clone(), field: field.name.clone() };
                if !is_claimed(&target) && absent_input(node.schema(), field).is_none() {
                    let detail = self.describe_unconnected(&target, field);
                    problems.add(&place.key(node_name), Code::UnconnectedInput, detail);
                }
            }
        }
        problems
    }

    fn describe_unconnected(&self, target: &Target, field: &FieldSchema) -> String {
        match self.inputs.get(&target.field) {
            Some(input) => format!(
                "nothing feeds `{target}`; the graph input `{}` is `{}`, which `{}` does not accept",
                input.name,
                brief(&input.ty),
                brief(&field.ty)
            ),
            None => format!(
                "nothing feeds `{target}`; connect it, declare a graph input `{}`, or give it a \
                 default",
                target.field
            ),
        }
    }

    /// Every cycle that `edges` close, as (position of the closing edge, description).
    pub(super) fn find_cycles(&self, edges: &[Edge]) -> Vec<(usize, String)> {
        let names: IndexSet<&Arc<str>> = self.nodes.keys().collect();
        cycles_among(&names, edges.iter())
    }
}

/// Every cycle that `edges` close among nodes of these names, as (position of the closing edge,
/// description).
pub(super) fn cycles_among<'e>(
    names: &IndexSet<&Arc<str>>,
    edges: impl Iterator<Item = &'e Edge>,
) -> Vec<(usize, String)> {
    let index = |name: &Arc<str>| names.get_index_of(name);
    let (positions, pairs): (Vec<usize>, Vec<(usize, usize)>) = edges
        .enumerate()
        .filter_map(|(at, edge)| Some((at, (index(&edge.from.node)?, index(&edge.to.node)?))))
        .unzip();
    let precedence = Precedence { nodes: names.len(), edges: &pairs };
    let describe = |cycle: Cycle| (positions[cycle.edge], describe_cycle(names, &cycle.nodes));
    precedence.cycles().into_iter().map(describe).collect()
}

fn describe_cycle(names: &IndexSet<&Arc<str>>, nodes: &[usize]) -> String {
    let name = |index: &usize| names.get_index(*index).map_or("", |name| name.as_ref());
    let mut cycle: Vec<&str> = nodes.iter().take(CYCLE_NAMES).map(name).collect();
    if nodes.len() > CYCLE_NAMES {
        cycle.extend(["...", nodes.last().map_or("", name)]);
    }
    cycle.extend(nodes.first().map(name));
    format!("closes the cycle {}", cycle.join(" -> "))
}

/// The problem of a duplicate edge.
pub(super) fn duplicate_edge(edge: &Edge, at: &At<'_>) -> Problem {
    let detail = format!("`{}` already feeds `{}`", edge.from, edge.to);
    Problem { pointer: at.pointer(), code: Code::DuplicateEdge, detail }
}

/// What is wrong with the types at the ends of an edge.
fn misfit(
    edge: &Edge,
    (from, to): (&Type, &Type),
    budget: &mut CompareBudget,
    at: &At<'_>,
) -> Option<Problem> {
    let mismatch = from.assignable_within(budget, to).err()?;
    if budget.is_exhausted() {
        return Some(too_costly(at));
    }
    let (source, target) = (&edge.from, &edge.to);
    let (from, to) = (brief(&from.ir), brief(&to.ir));
    let detail = format!("`{source}` is `{from}`, `{target}` accepts `{to}`: {mismatch}");
    Some(Problem { pointer: at.pointer(), code: Code::TypeMismatch, detail })
}

/// The problem of a document whose types are too costly to compare.
pub(super) fn too_costly(at: &At<'_>) -> Problem {
    let detail = "the types of this graph are too costly to compare; make them smaller, or use the \
                  same type at both ends of an edge";
    Problem { pointer: at.pointer(), code: Code::TooLarge, detail: detail.to_owned() }
}

/// The value of an unconnected input, if it may stay unconnected.
pub(super) fn absent_input(schema: &SignatureSchema, field: &FieldSchema) -> Option<Payload> {
    absent_value(&field.ty, &schema.defs, field.default.as_ref())
}

/// Whether two types have the same values, as far as the budget lets them be compared.
pub(super) fn same_type(one: &Type, two: &Type, budget: &mut CompareBudget) -> bool {
    one.assignable_within(budget, two).is_ok() && two.assignable_within(budget, one).is_ok()
}
