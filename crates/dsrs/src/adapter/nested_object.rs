//! Reads a section that holds an object with its own output: `{"score": 7}` under the header of
//! `score`. Does not know other outputs.

use std::sync::Arc;

use super::outputs::Output;
use crate::coerce::{self, Leniencies, LeniencyKind, ParseReport, Path, split_first_step};
use crate::types::{Class, ClassField, Type, TypeIR};
use crate::value::Payload;

/// The value of the output inside such an object. `None` if the text is no such object.
pub(super) fn read(
    output: &Output,
    text: &str,
    allowed: Leniencies,
    report: &mut ParseReport,
) -> Option<Payload> {
    if !allowed.has(LeniencyKind::Layout) || !text.contains('{') {
        return None;
    }
    let allowed = allowed.without(LeniencyKind::ImpliedField);
    let mut inner_report = ParseReport::default();
    let object = coerce::coerce(text, &around(output), allowed, &mut inner_report).ok()?;
    let value = object.as_map()?.get(&output.name)?.clone();
    let mut inside = ParseReport::default();
    for mut entry in inner_report {
        let (first, rest) = split_first_step(&entry.path);
        let is_own = *first == *output.name;
        if is_own && rest.is_empty() && entry.kind == LeniencyKind::Default {
            return None;
        }
        if is_own {
            entry.path = rest.to_owned();
        }
        inside.push(entry);
    }
    report.append(inside);
    report.add(&Path::Root, LeniencyKind::Layout, text, &value);
    Some(value)
}

/// The type of an object whose only member is this output.
fn around(output: &Output) -> Type {
    let field = ClassField {
        ty: output.ty.ir.clone(),
        description: None,
        alias: (output.lm_name != output.name).then(|| output.lm_name.clone()),
        default: None,
        constraints: Vec::new(),
        strict: false,
    };
    let fields = [(output.name.clone(), field)].into_iter().collect();
    let class = Class { description: None, fields };
    Type::new(TypeIR::Class(Arc::new(class)), output.ty.defs.clone())
}
