//! An answer without any header as asked for: one piece of data with all outputs in it, worn-down
//! headers, or the text of an only output. Knows nothing of sections.

use std::sync::Arc;

use super::answer::{Misfit, MisfitKind};
use super::outputs::{Output, Outputs};
use super::reading::Reading;
use super::sections::Source;
use super::settle::{Part, Settled, bent};
use crate::coerce::{self, CoerceError, Leniency, LeniencyKind, Path, Report};
use crate::value::{Map, Payload};

/// Outputs read from one piece of data.
pub(super) struct Whole {
    outputs: Vec<Option<Settled>>,
    /// What was mended around them.
    pub(super) around: Report,
}

impl Whole {
    /// What became of an output; each is taken once.
    pub(super) fn take(&mut self, index: usize) -> Option<Settled> {
        self.outputs.get_mut(index)?.take()
    }
}

/// Gives the text before the first section to the outputs.
pub(super) fn read(reading: &mut Reading, source: &Source<'_>) {
    let lead = std::mem::replace(&mut reading.unused, 0..0);
    let text = source.slice(&lead);
    if text.is_empty() {
        return;
    }
    let data = looks_like_data(text).then(|| whole(source, text));
    if let Some(Ok(Some(found))) = data {
        return take_whole(reading, found);
    }
    let before = reading.divide(source, lead.clone(), true);
    let found = reading.parts.iter().flatten().count();
    if found > 0 && has_all(reading, source.outputs) {
        reading.unused = before;
        return;
    }
    let alone = source.outputs.len() == 1;
    let data = match data {
        None if !alone || text.contains(['{', '<']) => Some(whole(source, text)),
        known => known,
    };
    match data {
        Some(Ok(Some(found))) => take_whole(reading, found),
        _ if alone => {
            reading.parts = vec![Some(Part { body: lead, bent: true, broken: None })];
        }
        Some(Err(error)) if found == 0 => refuse(reading, source.outputs, error),
        _ => {}
    }
}

fn has_all(reading: &Reading, outputs: &Outputs) -> bool {
    outputs.iter().zip(&reading.parts).all(|(output, part)| part.is_some() || !output.required)
}

fn take_whole(reading: &mut Reading, found: Whole) {
    reading.parts.fill(None);
    reading.whole = Some(found);
}

/// Whether a text begins as an object does, in a fence or not.
fn looks_like_data(text: &str) -> bool {
    let inside = text.strip_prefix("```").and_then(|rest| rest.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside).trim_start().starts_with('{')
}

/// The outputs as the members of one object.
fn whole(source: &Source<'_>, text: &str) -> Result<Option<Whole>, CoerceError> {
    let mut report = Report::default();
    let value = coerce::coerce(text, &source.outputs.whole, source.allowed, &mut report)?;
    let implied =
        |entry: &Leniency| entry.path.is_empty() && entry.kind == LeniencyKind::ImpliedField;
    match value {
        // A text that was only taken for the one member of the object is not an object.
        Payload::Map(members) if !report.entries().iter().any(implied) => {
            Ok(Some(share(source.outputs, &members, report)))
        }
        _ => Ok(None),
    }
}

/// Gives every output its member, and its share of the report.
fn share(outputs: &Outputs, members: &Map, report: Report) -> Whole {
    let mut shares: Vec<Report> = outputs.iter().map(|_| Report::default()).collect();
    let mut around = Report::default();
    for mut entry in report {
        let (first, rest) = first_step(&entry.path);
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
    Whole {
        outputs: pairs.map(|(output, share)| Some(one(output, members, share))).collect(),
        around,
    }
}

fn one(output: &Output, members: &Map, mut report: Report) -> Settled {
    let value = members.get(&output.name).cloned().unwrap_or_default();
    let is_default =
        |entry: &Leniency| entry.path.is_empty() && entry.kind == LeniencyKind::Default;
    if report.entries().iter().any(is_default) {
        return Settled { value: Ok(value), report };
    }
    if output.strict {
        return Settled { value: Err(bent(output)), report: Report::default() };
    }
    report.add(&Path::Root, LeniencyKind::Layout, &value.to_json(), &value);
    report.name_field(&output.name);
    Settled { value: Ok(value), report }
}

/// The refusal of an object, told of the output that it is about, if it is about one.
fn refuse(reading: &mut Reading, outputs: &Outputs, error: CoerceError) {
    let (first, rest) = first_step(&error.path);
    let Some(index) = outputs.iter().position(|output| *output.name == *first) else { return };
    let Some(output) = outputs.get(index) else { return };
    let kind = if rest.is_empty() { MisfitKind::Missing } else { MisfitKind::Type };
    let misfit = Misfit::of(output, kind, rest.to_owned(), error.reason);
    let settled = |name: &Arc<str>| {
        let value = if *name == output.name { Err(misfit.clone()) } else { Ok(Payload::Null) };
        Some(Settled { value, report: Report::default() })
    };
    let outputs = outputs.iter().map(|output| settled(&output.name)).collect();
    reading.whole = Some(Whole { outputs, around: Report::default() });
}

/// The first step of a path, and the rest.
pub(super) fn first_step(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (first, rest) = path.split_at(end);
    (first, rest.strip_prefix('.').unwrap_or(rest))
}
