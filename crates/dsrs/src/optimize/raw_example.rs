//! Written examples made to fit a graph: inputs exactly of their types and complete, what is expected
//! of an output of that output's type. Knows no dataset.

use std::sync::Arc;

use super::Example;
use crate::graph::Program;
use crate::problem::{At, Problems};
use crate::types::{Type, admit};
use crate::value::{Fields, Map, Payload};

/// An example as it was written, not checked against anything.
#[derive(Clone, Copy, Debug)]
pub struct RawExample<'e> {
    /// Its id.
    pub id: &'e Arc<str>,
    /// Its inputs by name: an object.
    pub inputs: &'e Payload,
    /// What is expected, by name: an object.
    pub expected: &'e Payload,
    /// Whether every value is the text of a table's cell, to be read as what the graph takes.
    pub cells: bool,
}

impl RawExample<'_> {
    /// The example as this graph takes it, with the problems under `at` when it does not.
    ///
    /// Inputs have to be admitted as those of a run. What is expected may be less than all outputs;
    /// of an output it has to be of its type, and what is no output stays as it is, for metrics that
    /// look at it ([`unmatched_expectations`] says what that is).
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
            let fitting = match output(name) {
                Some(ty) => admit(value, &ty, &at.key(name), problems),
                None => Some(value.clone()),
            };
            expected.extend(fitting.map(|value| (name.clone(), value)));
        }
        (problems.len() == before).then_some(expected)
    }
}

/// What is expected that is no output of the graph: for metrics to look at, or a slip.
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

/// The texts of cells as values of the types that are known; the others stay texts.
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

/// What a cell says where a type is wanted: the text itself if it fits; nothing, when it is empty;
/// else what its JSON says, `TRUE` and `False` being JSON here. A text that is none of this stays, to
/// be refused as what it is.
fn read_cell(text: &str, ty: &Type) -> Option<Payload> {
    let fits = |value: &Payload| admit(value, ty, &At::Root, &mut Problems::new()).is_some();
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
