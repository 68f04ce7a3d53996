//! Which inputs of a graph, or parts of them, are inputs of its nodes as they are: their values must
//! hold the asserts of those nodes, too, before anything runs. Knows no runs.

use std::sync::Arc;

use super::edge::INPUT;
use super::node::Node;
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problem, Problems};
use crate::signature::FieldSchema;
use crate::types::{
    Conversion, Type, has_member_constraints, report_broken, report_broken_members,
};
use crate::value::{Fields, Payload, Selection, SelectionStep};

/// All inputs of a graph that nodes with constraints receive as they are.
pub(super) struct PassedInputs(Vec<PassedInput>);

/// An input of a graph, or a part of one, that is an input of a node with constraints.
struct PassedInput {
    part: Selection,
    node: Arc<str>,
    field: FieldSchema,
    ty: Type,
    conversion: Conversion,
}

impl PassedInputs {
    /// Those of a graph.
    pub(super) fn of(graph: &ProgramGraph) -> Result<Self, Problem> {
        let mut passed = Vec::new();
        for edge in graph.edges.iter().filter(|edge| edge.from.node.as_ref() == INPUT) {
            let Some(node) = graph.node(&edge.to.node) else { continue };
            let Some(field) = node.schema().input(&edge.to.field) else { continue };
            let ty = node.schema().type_of(field);
            if !has_asserts(node, field, &ty) {
                continue;
            }
            let conversion = Conversion::between(&graph.type_of(&edge.from, &At::Root)?, &ty);
            let (part, node) = (edge.from.selection.clone(), edge.to.node.clone());
            passed.push(PassedInput { part, node, field: field.clone(), ty, conversion });
        }
        Ok(Self(passed))
    }

    /// Reports the asserts of the nodes of `graph` that the inputs of a run break, unless the input
    /// itself has the same; `at` is the place of the inputs.
    pub(super) fn report_broken(
        &self,
        graph: &ProgramGraph,
        inputs: &Fields,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        for passed in &self.0 {
            let steps = passed.part.steps();
            let Some((SelectionStep::Field(input), within)) = steps.split_first() else { continue };
            let (Some(value), Some(node)) = (inputs.get(input), graph.node(&passed.node)) else {
                continue;
            };
            let mut reader = PartReader { passed, node, problems };
            reader.report_part(value, within, &at.key(input));
        }
    }
}

/// Whether a node holds an input to anything, itself or in its parts.
fn has_asserts(node: &Node, field: &FieldSchema, ty: &Type) -> bool {
    !field.constraints.is_empty()
        || has_member_constraints(&ty.ir, &ty.defs)
        || node.module.inner_asserts().is_some()
}

/// Reports what a part of an input breaks.
struct PartReader<'a> {
    passed: &'a PassedInput,
    node: &'a Node,
    problems: &'a mut Problems,
}

impl PartReader<'_> {
    /// Follows the steps to the part of a value that the node receives.
    fn report_part(&mut self, value: &Payload, steps: &[SelectionStep], at: &At<'_>) {
        let Some((step, further)) = steps.split_first() else {
            return self.report_value(value, at);
        };
        match (step, value) {
            (SelectionStep::Field(name) | SelectionStep::Key(name), Payload::Map(members)) => {
                if let Some(member) = members.get(name) {
                    self.report_part(member, further, &at.key(name));
                }
            }
            (SelectionStep::Index(index), Payload::List(elements)) => {
                if let Some(element) = elements.get(*index) {
                    self.report_part(element, further, &at.index(*index));
                }
            }
            // An absent part has no constraints.
            _ => {}
        }
    }

    fn report_value(&mut self, value: &Payload, at: &At<'_>) {
        let PassedInput { field, ty, conversion, .. } = self.passed;
        let Ok(value) = conversion.apply(value) else { return };
        let (name, mut found) = (at.name().unwrap_or(&field.name), Problems::new());
        report_broken(&field.constraints, name, &value, at, &mut found);
        report_broken_members(&value, ty, at, &mut found);
        found.append(self.inner(value, at));
        for problem in found.iter() {
            if !self.problems.iter().any(|known| known == problem) {
                self.problems.push(problem.clone());
            }
        }
    }

    /// What the value breaks inside of the node, at the place of the value.
    fn inner(&self, value: Payload, at: &At<'_>) -> Problems {
        let (mut found, field) = (Problems::new(), &self.passed.field.name);
        if let Some(asserts) = self.node.module.inner_asserts() {
            let inputs = Fields::from_iter([(field.clone(), value)]);
            asserts.report_broken(&inputs, &At::Root, &mut found);
        }
        let (inside, place) = (At::Root.key(field).pointer(), at.pointer());
        found.map(|mut problem| {
            let rest = problem.pointer.strip_prefix(&inside).unwrap_or_default();
            problem.pointer = format!("{place}{rest}");
            problem
        })
    }
}
