//! From what a tool returns to the output: a part of it, as its type. Does not know the tool.

use super::arguments::member;
use crate::predict::result_text;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::types::{Type, TypeIR, admit};
use crate::value::{Map, Payload, Selection, SelectionStep};

/// Stands for each element of a list.
const EACH: &str = "[*]";

/// A path into a result: selections with "each element" between them. Without any, the result itself.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ResultPath(Vec<Option<Selection>>);

impl ResultPath {
    /// Reads `hits[*].text`: a selection in which `[*]` is each element of a list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(EACH).enumerate().map(|(number, part)| {
            let part = if number > 0 { part.strip_prefix('.').unwrap_or(part) } else { part };
            match part {
                "" => Ok(None),
                part => Selection::parse(part).map(Some).map_err(|error| error.to_string()),
            }
        });
        parts.collect::<Result<_, _>>().map(Self)
    }

    /// The JSON Schema of the part, from that of the result; `None` if that does not describe it.
    pub(super) fn schema(&self, result: &Payload) -> Option<Payload> {
        described(result, result, &self.0)
    }

    /// The output of a result: the part of this path, as the type of the schema's only output. A tool that only has texts
    /// writes data as text: such a text is read where the path or the type needs data.
    ///
    /// # Errors
    /// Why there is no such part, or why it does not have the type.
    pub(super) fn value(
        &self,
        result: &Payload,
        is_text: bool,
        schema: &SignatureSchema,
    ) -> Result<Payload, String> {
        let Some(field) = schema.outputs.first() else { return Ok(Payload::Null) };
        let ty = schema.type_of(field);
        let written = || is_text.then(|| data_of(result)).flatten();
        if !self.0.is_empty() {
            let read = written();
            return part(read.as_ref().unwrap_or(result), &self.0)
                .and_then(|part| admitted(part, &ty));
        }
        admitted(result.clone(), &ty).or_else(|reason| match written() {
            Some(read) => admitted(read, &ty),
            None => Err(reason),
        })
    }
}

fn data_of(result: &Payload) -> Option<Payload> {
    Payload::from_json(result.as_str()?).ok()
}

/// The part of a value that the path leads to.
fn part(value: &Payload, path: &[Option<Selection>]) -> Result<Payload, String> {
    let Some((first, rest)) = path.split_first() else { return Ok(value.clone()) };
    let found = match first {
        None => value.clone(),
        Some(selection) => {
            let found = selection.get(value);
            if found.is_null() && !has(value, selection) {
                return Err(format!("it has no `{selection}`"));
            }
            found
        }
    };
    if rest.is_empty() {
        return Ok(found);
    }
    let elements = found
        .as_list()
        .ok_or_else(|| format!("`[*]` needs a list, and there is {} instead", found.kind()))?;
    elements.iter().map(|element| part(element, rest)).collect::<Result<_, _>>().map(Payload::list)
}

/// The schema of the part that the path leads to. `whole` has the definitions.
fn described(whole: &Payload, schema: &Payload, path: &[Option<Selection>]) -> Option<Payload> {
    let Some((first, rest)) = path.split_first() else { return Some(schema.clone()) };
    let mut steps = first.iter().flat_map(Selection::steps);
    let found = steps.try_fold(resolved(whole, schema)?, |found, step| {
        let next = match step {
            SelectionStep::Field(name) | SelectionStep::Key(name) => {
                member(member(found, "properties")?, name)?
            }
            SelectionStep::Index(_) => member(found, "items")?,
        };
        resolved(whole, next)
    })?;
    if rest.is_empty() {
        return Some(found.clone());
    }
    let element = described(whole, member(found, "items")?, rest)?;
    let list = Map::from_iter([("type".into(), "array".into()), ("items".into(), element)]);
    Some(Payload::map(list))
}

/// The schema that a reference to a definition stands for; another one is itself.
fn resolved<'s>(whole: &'s Payload, schema: &'s Payload) -> Option<&'s Payload> {
    let Some(reference) = member(schema, "$ref") else { return Some(schema) };
    let definition =
        member(member(whole, "$defs")?, reference.as_str()?.strip_prefix("#/$defs/")?)?;
    member(definition, "$ref").is_none().then_some(definition)
}

/// Whether the value has the part, possibly null.
fn has(value: &Payload, selection: &Selection) -> bool {
    let Some((last, before)) = selection.steps().split_last() else { return true };
    let owner = Selection::new(before.to_vec()).get(value);
    let key = match last {
        SelectionStep::Field(name) | SelectionStep::Key(name) => name,
        SelectionStep::Index(index) => {
            return owner.as_list().is_some_and(|elements| elements.len() > *index);
        }
    };
    owner.as_map().is_some_and(|members| members.contains_key(key))
}

/// The value as its type; data as a text is JSON.
fn admitted(value: Payload, ty: &Type) -> Result<Payload, String> {
    if ty.ir == TypeIR::Str && !matches!(value, Payload::Str(_) | Payload::Null) {
        return Ok(result_text(&value).into());
    }
    let mut problems = Problems::new();
    let admitted = admit(&value, ty, &At::Root, &mut problems);
    admitted.ok_or_else(|| problems.to_string())
}
