//! Reading and writing options of metrics: fields, tolerance, scale, weight, threshold. Knows no
//! particular metric.

use std::sync::Arc;

use super::numeric::Tolerance;
use super::spec::Scale;
use crate::problem::{At, Code, Problems};
use crate::read::{Object, boolean, list, listed, nearest, number, shared_text};
use crate::signature::SignatureSchema;
use crate::value::{Map, Payload};

/// The present members as an object.
pub(super) fn object<const N: usize>(members: [(&str, Option<Payload>); N]) -> Payload {
    let there = members.into_iter().filter_map(|(name, member)| Some((Arc::from(name), member?)));
    Payload::map(there.collect::<Map>())
}

/// Reads `field` or `fields`: outputs of the program, each once.
pub(super) fn fields(
    object: &mut Object<'_, '_, '_>,
    program: &SignatureSchema,
) -> Option<Vec<Arc<str>>> {
    let one = object.optional("field", |payload, at, problems| {
        let name = shared_text(payload, at, problems)?;
        check_output(&name, program, at, problems).then_some(name)
    });
    let place = *object.at();
    let several = object.optional("fields", |payload, at, problems| {
        let mut names: Vec<Arc<str>> = Vec::new();
        let read = list(payload, at, problems, |name, at, problems| {
            let name = shared_text(name, at, problems)?;
            if names.contains(&name) {
                problems.add(at, Code::DuplicateName, format!("`{name}` is named twice"));
            } else if check_output(&name, program, at, problems) {
                names.push(name);
            }
            Some(())
        })?;
        if read.is_empty() {
            let detail = "name at least one output, or omit `fields` to compare all outputs with \
                          an expected value";
            problems.add(at, Code::InvalidValue, detail);
        }
        Some(names)
    });
    if one.is_some() && several.is_some() {
        let detail = "`field` and `fields` exclude each other: omit one";
        object.problems().add(&place.key("field"), Code::InvalidValue, detail);
    }
    several.or_else(|| one.map(|name| vec![name]))
}

fn check_output(
    name: &str,
    program: &SignatureSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> bool {
    if program.output(name).is_some() {
        return true;
    }
    let known = || program.outputs.iter().map(|field| field.name.as_ref());
    let hint =
        nearest(name, known()).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let detail = format!("the graph has no output `{name}`; {hint}it has {}", listed(known()));
    problems.add(at, Code::UnknownField, detail);
    false
}

/// Reads `tolerance` and `relative`.
pub(super) fn tolerance(object: &mut Object<'_, '_, '_>) -> Tolerance {
    let within = object.optional("tolerance", |payload, at, problems| {
        let found = number(payload, at, problems)?;
        if found < 0.0 {
            problems.add(at, Code::InvalidValue, format!("expected zero or more, found {found}"));
        }
        Some(found)
    });
    let relative = object.optional("relative", boolean).unwrap_or_default();
    Tolerance { within: within.unwrap_or(Tolerance::DEFAULT), relative }
}

/// Reads `scale`: the worst score and the best.
pub(super) fn scale(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Scale> {
    match list(payload, at, problems, number)?.as_slice() {
        [low, high] if low < high => Some(Scale { low: *low, high: *high }),
        _ => {
            let detail = "a scale is the worst score and the best, such as [1, 5]";
            problems.add(at, Code::InvalidValue, detail);
            None
        }
    }
}

/// The written form of a scale; none for the default, 0 to 1.
pub(super) fn written(scale: Scale) -> Option<Payload> {
    let ends = || Payload::list(vec![scale.low.into(), scale.high.into()]);
    (scale != Scale::UNIT).then(ends)
}

/// Reads a weight: more than zero.
pub(super) fn weight(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    if found > 0.0 {
        return Some(found);
    }
    problems.add(at, Code::InvalidValue, format!("a weight is more than zero, found {found}"));
    None
}

/// Reads a threshold: from 0 to 1.
pub(super) fn threshold(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    if (0.0..=1.0).contains(&found) {
        return Some(found);
    }
    problems.add(at, Code::InvalidValue, format!("scores are from 0 to 1, found {found}"));
    None
}
