//! Assignability: whether values of one type may be used where another is expected. Structural,
//! decided on types alone, and always terminating, also on recursive types.

mod explanation;
mod table;

use std::fmt;
use std::sync::Arc;

use super::{Type, TypeIR};

pub(super) use table::{PairRule, PairTable, TypeStep};

/// How many pairs of types one comparison may touch.
const PAIR_LIMIT: usize = 50_000;

/// How many pairs of types all comparisons of one document may touch.
const DOCUMENT_LIMIT: usize = 500_000;

/// The remaining cost of comparing types in one document. Each comparison is bounded, but a
/// document may need thousands.
#[derive(Clone, Copy, Debug)]
pub struct CompareBudget {
    left: usize,
    exhausted: bool,
}

impl CompareBudget {
    /// The whole budget of a document.
    #[must_use]
    pub const fn for_document() -> Self {
        Self { left: DOCUMENT_LIMIT, exhausted: false }
    }

    /// Whether a comparison was not made because the budget was exhausted.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.exhausted
    }
}

/// Where and why one type is not assignable to another.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Mismatch {
    /// The place in the value (`person.age`, `items[*].name`, `[0]`); empty for the whole value.
    pub path: String,
    /// The type at that place of the source.
    pub from: TypeIR,
    /// The type at that place of the target.
    pub to: TypeIR,
    /// The reason, as a sentence that names both types.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl Type {
    /// Checks that every value of this type may be used where `to` is expected.
    ///
    /// # Errors
    /// The first mismatch. Types that are too large to compare are a mismatch, too, and the reason
    /// says so.
    pub fn assignable_to(&self, to: &Self) -> Result<(), Mismatch> {
        self.assignable_within(&mut CompareBudget::for_document(), to)
    }

    /// [`Type::assignable_to`] as one of many comparisons of a document.
    ///
    /// # Errors
    /// As [`Type::assignable_to`], and when the budget is exhausted.
    pub fn assignable_within(&self, budget: &mut CompareBudget, to: &Self) -> Result<(), Mismatch> {
        if Arc::ptr_eq(&self.defs, &to.defs) && self.ir == to.ir {
            return Ok(());
        }
        let Some(table) = PairTable::within(budget.left.min(PAIR_LIMIT), self, to) else {
            budget.exhausted |= budget.left < PAIR_LIMIT;
            return Err(explanation::too_large(self, to));
        };
        budget.left = budget.left.saturating_sub(table.pairs.len());
        if table.fails(PairTable::ROOT) { Err(explanation::mismatch(&table)) } else { Ok(()) }
    }
}
