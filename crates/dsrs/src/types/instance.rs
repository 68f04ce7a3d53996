//! Whether a value matches a type, exactly or as the boundary accepts it. Knows nothing of how a
//! mismatch is reported.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;

use super::resolve::{ResolvedType, TypeShape, resolve};
use super::{Class, Literal, Type, TypeDefs, TypeIR};
use crate::value::{DEPTH_LIMIT, Map, Payload};

/// All integers up to this one have an exact float.
pub(crate) const EXACT_IN_FLOAT: u64 = 1 << 53;

/// How deep a value may nest: the limit of JSON documents, and room for what nodes wrap around it.
pub(crate) const VALUE_DEPTH: usize = 2 * DEPTH_LIMIT;

/// How closely a value must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceMode {
    /// The value has the type without any conversion.
    Exact,
    /// The boundary can convert it: integers to floats, base64 to bytes, absent members to defaults.
    Boundary,
    /// As at the boundary, but members with a default must be present: defaults are complete.
    Complete,
}

/// Whether the boundary would convert a value to a type, whatever its constraints.
pub(crate) fn fits(value: &Payload, ty: &Type) -> bool {
    InstanceChecker::new(&ty.defs, InstanceMode::Boundary).fits(value, &ty.ir)
}

/// Checks values against types over one set of definitions. Caches the decisions about unions by
/// address, so that nested unions do not multiply the work. The lifetime `'v` ensures that the
/// values outlive the cache.
pub(crate) struct InstanceChecker<'v, 't> {
    defs: &'t TypeDefs,
    mode: InstanceMode,
    decided: HashMap<(usize, usize), bool>,
    depth: usize,
    values: std::marker::PhantomData<&'v Payload>,
}

impl<'v, 't> InstanceChecker<'v, 't> {
    pub(crate) fn new(defs: &'t TypeDefs, mode: InstanceMode) -> Self {
        Self { defs, mode, decided: HashMap::new(), depth: 0, values: std::marker::PhantomData }
    }

    pub(crate) fn fits(&mut self, value: &'v Payload, ir: &'t TypeIR) -> bool {
        self.fits_node(value, &resolve(ir, self.defs))
    }

    pub(crate) fn fits_node(&mut self, value: &'v Payload, node: &ResolvedType<'t>) -> bool {
        if self.depth >= VALUE_DEPTH {
            return false;
        }
        self.depth += 1;
        let fits = self.decide(value, node);
        self.depth -= 1;
        fits
    }

    fn decide(&mut self, value: &'v Payload, node: &ResolvedType<'t>) -> bool {
        match (&node.shape, value) {
            (TypeShape::Any, _) => !matches!(value, Payload::Error(_)),
            (TypeShape::Union(members), _) => self.fits_one(value, node.key, members),
            (TypeShape::List(element), Payload::List(list)) => {
                list.iter().all(|value| self.fits(value, element))
            }
            (TypeShape::Dict(element), Payload::Map(map)) => {
                map.values().all(|value| self.fits(value, element))
            }
            (TypeShape::Tuple(types), Payload::List(list)) => {
                types.len() == list.len()
                    && list.iter().zip(*types).all(|(value, ty)| self.fits(value, ty))
            }
            (TypeShape::Class(class), Payload::Map(map)) => self.fits_class(map, class),
            _ => self.fits_scalar(value, &node.shape),
        }
    }

    fn fits_scalar(&self, value: &Payload, shape: &TypeShape<'_>) -> bool {
        match (shape, value) {
            (TypeShape::Str, Payload::Str(_))
            | (TypeShape::Int, Payload::Int(_))
            | (TypeShape::Float, Payload::Float(_))
            | (TypeShape::Bool, Payload::Bool(_))
            | (TypeShape::Null, Payload::Null)
            | (TypeShape::Bytes, Payload::Bytes(_)) => true,
            (TypeShape::Error, Payload::Error(_)) => self.mode == InstanceMode::Exact,
            (TypeShape::Float, Payload::Int(number)) => {
                self.mode != InstanceMode::Exact && float_of(*number).is_some()
            }
            (TypeShape::Bytes, Payload::Str(text)) => {
                self.mode != InstanceMode::Exact && bytes_of(text).is_some()
            }
            (TypeShape::Literal(literal), _) => is_literal(value, literal),
            (TypeShape::Enum(known), Payload::Str(name)) => known.members.contains_key(name),
            _ => false,
        }
    }

    fn fits_one(&mut self, value: &'v Payload, union: usize, members: &[ResolvedType<'t>]) -> bool {
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
                None if self.mode == InstanceMode::Exact => false,
                None if self.mode == InstanceMode::Boundary && field.default.is_some() => true,
                None => resolve(&field.ty, self.defs).is_optional(),
            })
    }
}

/// Whether the value has the structure of the type at the top level.
pub(crate) fn could_be(value: &Payload, node: &ResolvedType<'_>) -> bool {
    match (&node.shape, value) {
        (TypeShape::Any, _) => !matches!(value, Payload::Error(_)),
        (TypeShape::Union(_), _) => true,
        (TypeShape::List(_), Payload::List(_)) => true,
        (TypeShape::Tuple(types), Payload::List(list)) => types.len() == list.len(),
        (TypeShape::Dict(_) | TypeShape::Class(_), Payload::Map(_)) => true,
        (TypeShape::Error, Payload::Error(_)) => true,
        (TypeShape::Str | TypeShape::Enum(_), Payload::Str(_)) => true,
        (TypeShape::Literal(literal), _) => is_literal(value, literal),
        (TypeShape::Int, Payload::Int(_)) | (TypeShape::Float, Payload::Float(_)) => true,
        (TypeShape::Bool, Payload::Bool(_)) | (TypeShape::Null, Payload::Null) => true,
        (TypeShape::Bytes, Payload::Bytes(_)) => true,
        _ => false,
    }
}

/// The address of the content of a container. Checking a scalar is cheaper than caching it.
fn container_address(value: &Payload) -> Option<usize> {
    match value {
        Payload::List(list) => Some(Arc::as_ptr(list) as usize),
        Payload::Map(map) => Some(Arc::as_ptr(map) as usize),
        _ => None,
    }
}

pub(crate) fn is_literal(value: &Payload, literal: &Literal) -> bool {
    match (value, literal) {
        (Payload::Str(found), Literal::Str(expected)) => found == expected,
        (Payload::Int(found), Literal::Int(expected)) => found == expected,
        (Payload::Bool(found), Literal::Bool(expected)) => found == expected,
        _ => false,
    }
}

/// Whether a value has the kind of a literal.
pub(crate) const fn is_kind_of_literal(value: &Payload, literal: &Literal) -> bool {
    matches!(
        (value, literal),
        (Payload::Str(_), Literal::Str(_))
            | (Payload::Int(_), Literal::Int(_))
            | (Payload::Bool(_), Literal::Bool(_))
    )
}

/// The float of an integer, unless it is beyond ±2^53.
pub(crate) fn float_of(number: i64) -> Option<f64> {
    (number.unsigned_abs() <= EXACT_IN_FLOAT).then_some(number as f64)
}

/// The bytes that a base64 text encodes.
pub(crate) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
