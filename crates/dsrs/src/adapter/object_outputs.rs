//! All outputs read from one object, for an answer that is JSON instead of sections. Does not know
//! sections.

use std::sync::Arc;

use super::field_value::{FieldResult, layout_problem};
use super::outputs::{Output, Outputs};
use super::problem::{OutputProblem, OutputProblemKind};
use super::sections::AnswerText;
use crate::coerce::{
    self, CoerceError, Leniency, LeniencyKind, ParseReport, Path, split_first_step,
};
use crate::value::{Map, Payload};

/// The outputs that one object holds.
pub(super) struct ObjectOutputs {
    results: Vec<Option<FieldResult>>,
    /// The leniencies used around the outputs.
    pub(super) around: ParseReport,
}

impl ObjectOutputs {
    /// The result of an output. Returns each result once.
    pub(super) fn take(&mut self, index: usize) -> Option<FieldResult> {
        self.results.get_mut(index)?.take()
    }

    /// An object that does not fit, as a problem of the output that the error names. `None` if it
    /// names none.
    pub(super) fn refused(outputs: &Outputs, error: CoerceError) -> Option<Self> {
        let (first, rest) = split_first_step(&error.path);
        let output = outputs.iter().find(|output| *output.name == *first)?;
        let kind =
            if rest.is_empty() { OutputProblemKind::Missing } else { OutputProblemKind::Type };
        let problem = OutputProblem::of(output, kind, rest.to_owned(), error.reason);
        let result = |name: &Arc<str>| {
            let value = if *name == output.name { Err(problem.clone()) } else { Ok(Payload::Null) };
            Some(FieldResult { value, report: ParseReport::default() })
        };
        let results = outputs.iter().map(|output| result(&output.name)).collect();
        Some(Self { results, around: ParseReport::default() })
    }
}

/// Reads the outputs as members of one object. `Ok(None)` if the text is no object.
pub(super) fn read(
    source: &AnswerText<'_>,
    text: &str,
) -> Result<Option<ObjectOutputs>, CoerceError> {
    let mut report = ParseReport::default();
    let value = coerce::coerce(text, &source.outputs.object_type, source.allowed, &mut report)?;
    let implied =
        |entry: &Leniency| entry.path.is_empty() && entry.kind == LeniencyKind::ImpliedField;
    match value {
        // A text that was taken for the only member of the object is not an object.
        Payload::Map(members) if !report.entries().iter().any(implied) => {
            Ok(Some(share(source.outputs, &members, report)))
        }
        _ => Ok(None),
    }
}

/// Distributes the members and the entries of the report over the outputs.
fn share(outputs: &Outputs, members: &Map, report: ParseReport) -> ObjectOutputs {
    let mut shares: Vec<ParseReport> = outputs.iter().map(|_| ParseReport::default()).collect();
    let mut around = ParseReport::default();
    for mut entry in report {
        let (first, rest) = split_first_step(&entry.path);
        let index = outputs.iter().position(|output| *output.name == *first);
        match index.and_then(|index| Some((outputs.get(index)?, shares.get_mut(index)?))) {
            Some((output, share)) => {
                entry.field = Some(output.name.clone());
                entry.path = rest.to_owned();
                share.push(entry);
            }
            None => around.push(entry),
        }
    }
    let pairs = outputs.iter().zip(shares);
    let results = pairs.map(|(output, share)| Some(member(output, members, share))).collect();
    ObjectOutputs { results, around }
}

fn member(output: &Output, members: &Map, mut report: ParseReport) -> FieldResult {
    let value = members.get(&output.name).cloned().unwrap_or_default();
    let is_default =
        |entry: &Leniency| entry.path.is_empty() && entry.kind == LeniencyKind::Default;
    if report.entries().iter().any(is_default) {
        return FieldResult { value: Ok(value), report };
    }
    if output.strict {
        return FieldResult { value: Err(layout_problem(output)), report: ParseReport::default() };
    }
    report.add(&Path::Root, LeniencyKind::Layout, &value.to_json(), &value);
    report.name_field(&output.name);
    FieldResult { value: Ok(value), report }
}
