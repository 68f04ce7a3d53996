//! Which member of a union a given value is meant to be. Knows nothing of how misfits are told.

use std::sync::Arc;

use super::TypeIR;
use super::instance::{Fit, could_be, is_kind_of_literal, is_literal};
use super::shape::{Node, Shape};
use crate::value::Payload;

/// The outcome.
pub(crate) enum Choice<'n, 't> {
    /// This one: it fits, or it is the closest and its reasons are the ones to tell.
    Member(&'n Node<'t>),
    /// None is closer than the others.
    None {
        /// Whether the value is at least of the kind of a member.
        alike: bool,
    },
}

/// The first member that the value is exactly of, else the first that it can be made of, else the
/// closest.
pub(crate) fn choose<'n, 'v, 't>(
    value: &'v Payload,
    members: &'n [Node<'t>],
    exact: &mut Fit<'v, 't>,
    fitting: &mut Fit<'v, 't>,
) -> Choice<'n, 't> {
    let givable = |member: &&Node<'t>| !matches!(member.shape, Shape::Error);
    let mut fits = members.iter().filter(givable).find(|member| exact.fits_node(value, member));
    if fits.is_none() {
        fits = members.iter().filter(givable).find(|member| fitting.fits_node(value, member));
    }
    fits.map_or_else(|| closest(value, members), Choice::Member)
}

/// The member that is built most like the value, looking no deeper than its own members: enough to
/// tell useful reasons, at a cost that nesting does not multiply.
fn closest<'n, 't>(value: &Payload, members: &'n [Node<'t>]) -> Choice<'n, 't> {
    let mut best: Option<(usize, &'n Node<'t>)> = None;
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
        Some((score, member)) if score > 0 && !tied => Choice::Member(member),
        best => Choice::None { alike: best.is_some_and(|(score, _)| score > 0) },
    }
}

fn likeness(value: &Payload, member: &Node<'_>) -> usize {
    match (&member.shape, value) {
        (Shape::Error, _) => 0,
        (Shape::Class(class), Payload::Map(map)) => {
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
        (Shape::Tuple(_), Payload::List(_)) => 1,
        (Shape::Literal(literal), _) => usize::from(is_kind_of_literal(value, literal)),
        (Shape::Float, Payload::Int(_)) | (Shape::Int, Payload::Float(_)) => 1,
        (Shape::Bytes, Payload::Str(_)) => 1,
        _ => usize::from(could_be(value, member)) * 2,
    }
}
