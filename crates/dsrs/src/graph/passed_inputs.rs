//! Which inputs of a graph, or parts of them, are inputs of its nodes as they are: their values must
//! hold the asserts of those nodes, too, before anything runs. Knows no runs.

use super::edge::INPUT;
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problem, Problems};
use crate::signature::FieldSchema;
use crate::types::{
    Conversion, Type, has_member_constraints, report_broken, report_broken_members,
};
use crate::value::{Fields, Payload, Selection, SelectionStep};

/// An input of a graph, or a part of one, that is an input of a node with constraints.
pub(super) struct PassedInput {
    part: Selection,
    field: FieldSchema,
    ty: Type,
    conversion: Conversion,
}

impl PassedInput {
    /// All of a graph.
    pub(super) fn all(graph: &ProgramGraph) -> Result<Vec<Self>, Problem> {
        let mut passed = Vec::new();
        for edge in graph.edges.iter().filter(|edge| edge.from.node.as_ref() == INPUT) {
            let Some(node) = graph.node(&edge.to.node) else { continue };
            let Some(field) = node.schema().input(&edge.to.field) else { continue };
            let ty = node.schema().type_of(field);
            if field.constraints.is_empty() && !has_member_constraints(&ty.ir, &ty.defs) {
                continue;
            }
            let conversion = Conversion::between(&graph.type_of(&edge.from, &At::Root)?, &ty);
            let (part, field) = (edge.from.selection.clone(), field.clone());
            passed.push(Self { part, field, ty, conversion });
        }
        Ok(passed)
    }

    /// Reports the asserts of the node that the inputs of a run break, unless the input itself has the
    /// same; `at` is the place of the inputs.
    pub(super) fn report_broken(&self, inputs: &Fields, at: &At<'_>, problems: &mut Problems) {
        let steps = self.part.steps();
        let Some((SelectionStep::Field(input), within)) = steps.split_first() else { return };
        if let Some(value) = inputs.get(input) {
            self.report_part(value, within, &at.key(input), problems);
        }
    }

    /// Follows the steps to the part of a value that the node receives.
    fn report_part(
        &self,
        value: &Payload,
        steps: &[SelectionStep],
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        let Some((step, further)) = steps.split_first() else {
            return self.report_value(value, at, problems);
        };
        match (step, value) {
            (SelectionStep::Field(name) | SelectionStep::Key(name), Payload::Map(members)) => {
                if let Some(member) = members.get(name) {
                    self.report_part(member, further, &at.key(name), problems);
                }
            }
            (SelectionStep::Index(index), Payload::List(elements)) => {
                if let Some(element) = elements.get(*index) {
                    self.report_part(element, further, &at.index(*index), problems);
                }
            }
            // An absent part has no constraints.
            _ => {}
        }
    }

    fn report_value(&self, value: &Payload, at: &At<'_>, problems: &mut Problems) {
        let Ok(value) = self.conversion.apply(value) else { return };
        let (name, mut found) = (at.name().unwrap_or(&self.field.name), Problems::new());
        report_broken(&self.field.constraints, name, &value, at, &mut found);
        report_broken_members(&value, &self.ty, at, &mut found);
        for problem in found.iter() {
            if !problems.iter().any(|known| known == problem) {
                problems.push(problem.clone());
            }
        }
    }
}
