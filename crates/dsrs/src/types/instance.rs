//! Whether a value is of a type: exactly as edges deliver it, or as the rim accepts it. Knows
//! nothing of how a misfit is reported.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;

use super::shape::{Node, Shape, look};
use super::{Class, Literal, TypeDefs, TypeIR};
use crate::value::{DEPTH_LIMIT, Map, Payload};

/// The largest whole number up to which every whole number is a float too.
pub(crate) const EXACT_IN_FLOAT: u64 = 1 << 53;

/// How deep a value may nest: what JSON may carry, and room for what nodes wrap around it.
pub(crate) const VALUE_DEPTH: usize = 2 * DEPTH_LIMIT;

/// How close a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The value is of the type as it stands.
    Exact,
    /// It becomes so at the rim: whole numbers as floats, base64 as bytes, absent members filled.
    Rim,
    /// As at the rim, but members with a default must be there (a default is itself complete).
    Complete,
}

/// Decides for values of one set of definitions. Remembers what it decided about unions, which
/// keeps nested unions from multiplying the work; so it may not outlive the values it is asked
/// about, which its lifetime `'v` holds it to.
pub(crate) struct Fit<'v, 't> {
    defs: &'t TypeDefs,
    mode: Mode,
    decided: HashMap<(usize, usize), bool>,
    depth: usize,
    values: std::marker::PhantomData<&'v Payload>,
}

impl<'v, 't> Fit<'v, 't> {
    pub(crate) fn new(defs: &'t TypeDefs, mode: Mode) -> Self {
        Self { defs, mode, decided: HashMap::new(), depth: 0, values: std::marker::PhantomData }
    }

    pub(crate) fn fits(&mut self, value: &'v Payload, ir: &'t TypeIR) -> bool {
        self.fits_node(value, &look(ir, self.defs))
    }

    pub(crate) fn fits_node(&mut self, value: &'v Payload, node: &Node<'t>) -> bool {
        if self.depth >= VALUE_DEPTH {
            return false;
        }
        self.depth += 1;
        let fits = self.decide(value, node);
        self.depth -= 1;
        fits
    }

    fn decide(&mut self, value: &'v Payload, node: &Node<'t>) -> bool {
        match (&node.shape, value) {
            (Shape::Any, _) => !matches!(value, Payload::Error(_)),
            (Shape::Union(members), _) => self.fits_one(value, node.key, members),
            (Shape::List(element), Payload::List(list)) => {
                list.iter().all(|value| self.fits(value, element))
            }
            (Shape::Dict(element), Payload::Map(map)) => {
                map.values().all(|value| self.fits(value, element))
            }
            (Shape::Tuple(types), Payload::List(list)) => {
                types.len() == list.len()
                    && list.iter().zip(*types).all(|(value, ty)| self.fits(value, ty))
            }
            (Shape::Class(class), Payload::Map(map)) => self.fits_class(map, class),
            _ => self.fits_scalar(value, &node.shape),
        }
    }

    fn fits_scalar(&self, value: &Payload, shape: &Shape<'_>) -> bool {
        match (shape, value) {
            (Shape::Str, Payload::Str(_))
            | (Shape::Int, Payload::Int(_))
            | (Shape::Float, Payload::Float(_))
            | (Shape::Bool, Payload::Bool(_))
            | (Shape::Null, Payload::Null)
            | (Shape::Bytes, Payload::Bytes(_)) => true,
            (Shape::Error, Payload::Error(_)) => self.mode == Mode::Exact,
            (Shape::Float, Payload::Int(number)) => {
                self.mode != Mode::Exact && float_of(*number).is_some()
            }
            (Shape::Bytes, Payload::Str(text)) => {
                self.mode != Mode::Exact && bytes_of(text).is_some()
            }
            (Shape::Literal(literal), _) => is_literal(value, literal),
            (Shape::Enum(known), Payload::Str(name)) => known.members.contains_key(name),
            _ => false,
        }
    }

    fn fits_one(&mut self, value: &'v Payload, union: usize, members: &[Node<'t>]) -> bool {
        let key = container_address(value).map(|address| (address, union));
        if let Some(known) = key.and_then(|key| self.decided.get(&key)) {
            return *known;
        }
        let fits = members.iter().any(|member| self.fits_node(value, member));
        if let Some(key) = key {
            self.decided.insert(key, fits);
        }
        fits
    }

    fn fits_class(&mut self, map: &'v Map, class: &'t Class) -> bool {
        map.keys().all(|name| class.fields.contains_key(name))
            && class.fields.iter().all(|(name, field)| match map.get(name) {
                Some(value) => self.fits(value, &field.ty),
                None if self.mode == Mode::Exact => false,
                None if self.mode == Mode::Rim && field.default.is_some() => true,
                None => look(&field.ty, self.defs).is_optional(),
            })
    }
}

/// Whether the value is built like the type, without looking into it.
pub(crate) fn could_be(value: &Payload, node: &Node<'_>) -> bool {
    match (&node.shape, value) {
        (Shape::Any, _) => !matches!(value, Payload::Error(_)),
        (Shape::Union(_), _) => true,
        (Shape::List(_), Payload::List(_)) => true,
        (Shape::Tuple(types), Payload::List(list)) => types.len() == list.len(),
        (Shape::Dict(_) | Shape::Class(_), Payload::Map(_)) => true,
        (Shape::Error, Payload::Error(_)) => true,
        (Shape::Str | Shape::Enum(_), Payload::Str(_)) => true,
        (Shape::Literal(literal), _) => is_literal(value, literal),
        (Shape::Int, Payload::Int(_)) | (Shape::Float, Payload::Float(_)) => true,
        (Shape::Bool, Payload::Bool(_)) | (Shape::Null, Payload::Null) => true,
        (Shape::Bytes, Payload::Bytes(_)) => true,
        _ => false,
    }
}

/// The address of what a container holds; scalars are cheaper to look at than to remember.
fn container_address(value: &Payload) -> Option<usize> {
    match value {
        Payload::List(list) => Some(Arc::as_ptr(list) as usize),
        Payload::Map(map) => Some(Arc::as_ptr(map) as usize),
        _ => None,
    }
}

pub(crate) fn is_literal(value: &Payload, literal: &Literal) -> bool {
    match (value, literal) {
        (Payload::Str(found), Literal::Str(wanted)) => found == wanted,
        (Payload::Int(found), Literal::Int(wanted)) => found == wanted,
        (Payload::Bool(found), Literal::Bool(wanted)) => found == wanted,
        _ => false,
    }
}

/// Whether a value is at least of the kind of a literal.
pub(crate) const fn is_kind_of_literal(value: &Payload, literal: &Literal) -> bool {
    matches!(
        (value, literal),
        (Payload::Str(_), Literal::Str(_))
            | (Payload::Int(_), Literal::Int(_))
            | (Payload::Bool(_), Literal::Bool(_))
    )
}

/// The float of a whole number, unless it is beyond ±2^53.
pub(crate) fn float_of(number: i64) -> Option<f64> {
    (number.unsigned_abs() <= EXACT_IN_FLOAT).then_some(number as f64)
}

/// The bytes that base64 text stands for.
pub(crate) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
