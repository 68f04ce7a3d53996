//! Converting raw examples to the types of a graph: complete inputs, expected outputs. Knows no dataset.

use std::sync::Arc;

use super::Example;
use crate::graph::Program;
use crate::problem::{At, Problems};
use crate::types::{Type, admit_field, fits};
use crate::value::{Fields, Map, Payload};

/// An unchecked example.
#[derive(Clone, Copy, Debug)]
pub struct RawExample<'e> {
    /// Its id.
    pub id: &'e Arc<str>,
    /// Its inputs by name: an object.
    pub inputs: &'e Payload,
    /// Its expected outputs by name: an object.
    pub expected: &'e Payload,
    /// Whether every value is the text of a table cell, to be read by the types of the graph.
    pub cells: bool,
}

impl RawExample<'_> {
    /// Converts the example for a graph; adds problems below `at` if it does not fit.
    ///
    /// Inputs are checked like those of a run. Expected outputs may be incomplete, but have to fit
    /// the types of the outputs. Expected members that are no outputs are unchanged, for metrics
    /// that read them (see [`unmatched_expectations`]).
    pub fn fit(&self, program: &Program, at: &At<'_>, problems: &mut Problems) -> Option<Example> {
        let graph = program.graph();
        let input_type = |name: &str| {
            let field = graph.inputs().find(|field| *field.name == *name)?;
            Some(Type::new(field.ty.clone(), graph.defs().clone()))
        };
        let inputs = match self.inputs {
            Payload::Map(cells) if self.cells => Payload::map(read_cells(cells, input_type)),
            written => written.clone(),
        };
        let place = at.key("inputs");
        let inputs = program.admit_inputs(&inputs, &place, problems);
        let expected = self.expected(program, &at.key("expected"), problems);
        Some(Example { id: self.id.clone(), inputs: inputs?, expected: expected? })
    }

    fn expected(&self, program: &Program, at: &At<'_>, problems: &mut Problems) -> Option<Fields> {
        let output = |name: &str| output_type(program, name);
        let written = crate::read::map(self.expected, at, problems)?;
        let read = self.cells.then(|| read_cells(written, output));
        let before = problems.len();
        let mut expected = Fields::with_capacity(written.len());
        for (name, value) in read.as_ref().unwrap_or(written) {
            let field = program.graph().output_field(name);
            let constraints = field.map_or(&[][..], |field| &field.constraints);
            let fitting = match output(name) {
                Some(ty) => admit_field(value, (name, &ty, constraints), &at.key(name), problems),
                None => Some(value.clone()),
            };
            expected.extend(fitting.map(|value| (name.clone(), value)));
        }
        (problems.len() == before).then_some(expected)
    }
}

/// The expected members that are no outputs of the graph: extra data for metrics, or a typo.
pub fn unmatched_expectations<'e>(
    program: &Program,
    example: &'e Example,
) -> impl Iterator<Item = &'e Arc<str>> {
    example.expected.keys().filter(|name| output_type(program, name).is_none())
}

fn output_type(program: &Program, name: &str) -> Option<Type> {
    let mut outputs = program.graph().outputs();
    outputs.find(|(known, _)| known.as_ref() == name).map(|(_, output)| output.ty.clone())
}

/// Converts cells to the known types; others stay texts.
fn read_cells(cells: &Map, type_of: impl Fn(&str) -> Option<Type>) -> Map {
    let read = |(name, cell): (&Arc<str>, &Payload)| {
        let value = match (cell.as_str(), type_of(name)) {
            (Some(text), Some(ty)) => read_cell(text, &ty)?,
            _ => cell.clone(),
        };
        Some((name.clone(), value))
    };
    cells.iter().filter_map(read).collect()
}

/// The value of a cell for a type: the text itself if it fits, nothing if it is empty, else its JSON
/// value (`TRUE` and `False` included). Any other text is returned as it is, so that it is refused.
fn read_cell(text: &str, ty: &Type) -> Option<Payload> {
    let fits = |value: &Payload| fits(value, ty);
    let as_text = Payload::from(text);
    if fits(&as_text) {
        return Some(as_text);
    }
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return None;
    }
    let spelled = match trimmed {
        "TRUE" | "True" => "true",
        "FALSE" | "False" => "false",
        other => other,
    };
    let value = Payload::from_json(spelled).ok().filter(|value| fits(value));
    Some(value.unwrap_or(as_text))
}
