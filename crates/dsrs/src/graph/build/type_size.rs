//! How much the types of ops may weigh: they are made of those that are connected, so a few ops in
//! a row could make one that is too large to compare. Knows types and nothing of ops.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::TypeIR;

/// How many parts the types may have that one op takes, and those that it gives.
const OP_LIMIT: u64 = 5_000;

/// How many parts the types of all ops of a document may have.
const DOCUMENT_LIMIT: u64 = 500_000;

/// The weights of the types of one document.
#[derive(Default)]
pub(super) struct TypeSizes {
    /// Of types that are shared, by their address; kept here, so that no other takes its place.
    known: HashMap<usize, (TypeIR, u64)>,
    all: u64,
    used_up: bool,
}

impl TypeSizes {
    /// Whether no more types are weighed: one was too large.
    pub(super) const fn is_used_up(&self) -> bool {
        self.used_up
    }

    /// Weighs types that belong to one op; whether they are small enough.
    pub(super) fn take<'t>(&mut self, types: impl Iterator<Item = &'t TypeIR>) -> bool {
        let weight = types.fold(0_u64, |sum, ir| sum.saturating_add(self.of(ir)));
        self.all = self.all.saturating_add(weight);
        self.used_up |= weight > OP_LIMIT || self.all > DOCUMENT_LIMIT;
        !self.used_up
    }

    /// The parts of a type, one that stands in two places counted twice; a name is one part.
    fn of(&mut self, ir: &TypeIR) -> u64 {
        let address = match ir {
            TypeIR::List(part) | TypeIR::Dict(part) => Arc::as_ptr(part) as usize,
            TypeIR::Tuple(parts) | TypeIR::Union(parts) => Arc::as_ptr(parts).cast::<()>() as usize,
            TypeIR::Class(class) => Arc::as_ptr(class) as usize,
            _ => return 1,
        };
        if let Some((_, weight)) = self.known.get(&address) {
            return *weight;
        }
        let weight = 1 + match ir {
            TypeIR::List(part) | TypeIR::Dict(part) => self.of(part),
            TypeIR::Tuple(parts) | TypeIR::Union(parts) => self.sum(parts.iter()),
            TypeIR::Class(class) => self.sum(class.fields.values().map(|field| &field.ty)),
            _ => 0,
        };
        self.known.insert(address, (ir.clone(), weight));
        weight
    }

    fn sum<'t>(&mut self, parts: impl Iterator<Item = &'t TypeIR>) -> u64 {
        // Far beyond every limit, and far from an overflow of the sums above it.
        parts.fold(0_u64, |sum, part| sum.saturating_add(self.of(part))).min(u64::MAX / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_doubles_is_weighed_without_being_walked() {
        let mut ir = TypeIR::Int;
        for _ in 0..100 {
            ir = TypeIR::Tuple([ir.clone(), ir].into());
        }
        let mut weights = TypeSizes::default();
        assert!(weights.take([&TypeIR::list(TypeIR::Int)].into_iter()));
        assert!(!weights.take([&ir].into_iter()));
        assert!(weights.is_used_up());
    }
}
