//! The size limit of op types. Op types derive from connected types, so a few ops in a row could
//! produce a type that is too large to compare. Knows types; knows nothing of ops.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::TypeIR;

/// The maximum number of parts of the input types of one op, and of its output types.
const OP_LIMIT: u64 = 5_000;

/// The maximum number of parts of all op types of a document.
const DOCUMENT_LIMIT: u64 = 500_000;

/// The sizes of the types of one document.
#[derive(Default)]
pub(super) struct TypeSizes {
    /// Sizes of shared types by address. Holds the type, so that the address is not reused.
    known: HashMap<usize, (TypeIR, u64)>,
    all: u64,
    used_up: bool,
}

impl TypeSizes {
    /// Whether the limit is exceeded.
    pub(super) const fn is_used_up(&self) -> bool {
        self.used_up
    }

    /// Adds the types of one op; returns whether they are within the limits.
    pub(super) fn take<'t>(&mut self, types: impl Iterator<Item = &'t TypeIR>) -> bool {
        let weight = types.fold(0_u64, |sum, ir| sum.saturating_add(self.of(ir)));
        self.all = self.all.saturating_add(weight);
        self.used_up |= weight > OP_LIMIT || self.all > DOCUMENT_LIMIT;
        !self.used_up
    }

    /// The number of parts of a type. A part counts at each place; a name counts as one part.
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
        // Far above every limit, and low enough that sums do not overflow.
        parts.fold(0_u64, |sum, part| sum.saturating_add(self.of(part))).min(u64::MAX / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubling_type_is_measured_without_walking_it() {
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
