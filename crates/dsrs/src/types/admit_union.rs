//! Selects the member of a union that a value from outside belongs to. Knows nothing of how a
//! mismatch is reported.

use std::sync::Arc;

use super::TypeIR;
use super::instance::{InstanceChecker, could_be, is_kind_of_literal, is_literal};
use super::resolve::{ResolvedType, TypeShape};
use crate::value::Payload;

/// The outcome of the selection.
pub(crate) enum UnionChoice<'n, 't> {
    /// This member fits, or is the closest one: its problems are the useful ones.
    Member(&'n ResolvedType<'t>),
    /// No member is closer than the others.
    None {
        /// Whether the value at least has the JSON kind of a member.
        alike: bool,
    },
}

/// The first member that the value matches exactly, else the first that it can be converted to,
/// else the closest.
pub(crate) fn choose<'n, 'v, 't>(
    value: &'v Payload,
    members: &'n [ResolvedType<'t>],
    exact: &mut InstanceChecker<'v, 't>,
    fitting: &mut InstanceChecker<'v, 't>,
) -> UnionChoice<'n, 't> {
    let givable = |member: &&ResolvedType<'t>| !matches!(member.shape, TypeShape::Error);
    let mut fits = members.iter().filter(givable).find(|member| exact.fits_node(value, member));
    if fits.is_none() {
        fits = members.iter().filter(givable).find(|member| fitting.fits_node(value, member));
    }
    fits.map_or_else(|| closest(value, members), UnionChoice::Member)
}

/// The member whose structure is most like that of the value. Compares only the top level: this is
/// enough for useful reasons, and nesting does not multiply the cost.
fn closest<'n, 't>(value: &Payload, members: &'n [ResolvedType<'t>]) -> UnionChoice<'n, 't> {
    let mut best: Option<(usize, &'n ResolvedType<'t>)> = None;
    let mut tied = false;
    for member in members {
        let score = likeness(value, member);
        match best {
            Some((known, _)) if known > score => {}
            Some((known, _)) if known == score => tied = true,
            _ => {
                tied = false;
                best = Some((score, member));
            }
        }
    }
    match best {
        Some((score, member)) if score > 0 && !tied => UnionChoice::Member(member),
        best => UnionChoice::None { alike: best.is_some_and(|(score, _)| score > 0) },
    }
}

fn likeness(value: &Payload, member: &ResolvedType<'_>) -> usize {
    match (&member.shape, value) {
        (TypeShape::Error, _) => 0,
        (TypeShape::Class(class), Payload::Map(map)) => {
            let shared = |name: &&Arc<str>| class.fields.contains_key(*name);
            let tags = class.fields.iter().filter(|(name, field)| {
                let tag = |value| match &field.ty {
                    TypeIR::Literal(tag) => is_literal(value, tag),
                    _ => false,
                };
                map.get(*name).is_some_and(tag)
            });
            2 + map.keys().filter(shared).count() + (map.len() + 1) * tags.count()
        }
        (TypeShape::Tuple(_), Payload::List(_)) => 1,
        (TypeShape::Literal(literal), _) => usize::from(is_kind_of_literal(value, literal)),
        (TypeShape::Float, Payload::Int(_)) | (TypeShape::Int, Payload::Float(_)) => 1,
        (TypeShape::Bytes, Payload::Str(_)) => 1,
        _ => usize::from(could_be(value, member)) * 2,
    }
}
