//! Assignability: which values may flow where. Structural, decided on types alone, total on
//! recursive ones. Knows nothing of edges and values.

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

/// How much comparing a document may still cost: each question alone is bounded, but a document may
/// ask thousands.
#[derive(Clone, Copy, Debug)]
pub struct CompareBudget {
    left: usize,
    exhausted: bool,
}

impl CompareBudget {
    /// What a document may cost.
    #[must_use]
    pub const fn for_document() -> Self {
        Self { left: DOCUMENT_LIMIT, exhausted: false }
    }

    /// Whether a question went unanswered for lack of it.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.exhausted
    }
}

/// Where and why two types part.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Mismatch {
    /// The place in the value (`person.age`, `items[*].name`, `[0]`); empty for the whole value.
    pub path: String,
    /// The type at that place of the source.
    pub from: TypeIR,
    /// The type at that place of the target.
    pub to: TypeIR,
    /// What is wrong there, as a sentence that names both types.
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
    /// Whether every value of this type may be delivered where `to` is wanted.
    ///
    /// # Errors
    /// Where the two part, when it may not. Types that are too large to compare are refused too,
    /// and the reason says so.
    pub fn assignable_to(&self, to: &Self) -> Result<(), Mismatch> {
        self.assignable_within(&mut CompareBudget::for_document(), to)
    }

    /// The same as one of many questions about a document.
    ///
    /// # Errors
    /// As [`Type::assignable_to`]; and when the budget is used up, which the budget says.
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
