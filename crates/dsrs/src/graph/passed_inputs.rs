//! Which inputs of a graph are inputs of its nodes as they are: their values must hold the asserts of
//! those nodes, too, before anything runs. Knows no runs.

use std::sync::Arc;

use super::edge::INPUT;
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problem, Problems};
use crate::signature::FieldSchema;
use crate::types::{
    Conversion, Type, has_member_constraints, report_broken, report_broken_members,
};
use crate::value::{Fields, SelectionStep};

/// An input of a graph that is an input of a node with constraints.
pub(super) struct PassedInput {
    input: Arc<str>,
    field: FieldSchema,
    ty: Type,
    conversion: Conversion,
}

impl PassedInput {
    /// All of a graph.
    pub(super) fn all(graph: &ProgramGraph) -> Result<Vec<Self>, Problem> {
        let mut passed = Vec::new();
        for edge in graph.edges.iter().filter(|edge| edge.from.node.as_ref() == INPUT) {
            let [SelectionStep::Field(input)] = edge.from.selection.steps() else { continue };
            let Some(node) = graph.node(&edge.to.node) else { continue };
            let Some(field) = node.schema().input(&edge.to.field) else { continue };
            let ty = node.schema().type_of(field);
            if field.constraints.is_empty() && !has_member_constraints(&ty.ir, &ty.defs) {
                continue;
            }
            let conversion = Conversion::between(&graph.type_of(&edge.from, &At::Root)?, &ty);
            let (input, field) = (input.clone(), field.clone());
            passed.push(Self { input, field, ty, conversion });
        }
        Ok(passed)
    }

    /// Reports the asserts of the node that the inputs of a run break, unless the input itself has the
    /// same; `at` is the place of the inputs.
    pub(super) fn report_broken(&self, inputs: &Fields, at: &At<'_>, problems: &mut Problems) {
        let value = inputs.get(&self.input).and_then(|value| self.conversion.apply(value).ok());
        let Some(value) = value else { return };
        let (place, mut found) = (at.key(&self.input), Problems::new());
        report_broken(&self.field.constraints, &self.input, &value, &place, &mut found);
        report_broken_members(&value, &self.ty, &place, &mut found);
        for problem in found.iter() {
            if !problems.iter().any(|known| known == problem) {
                problems.push(problem.clone());
            }
        }
    }
}
