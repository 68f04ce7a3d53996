//! The size of values, and a budget for it. A value that is shared many times inside another one
//! costs nothing until it is walked or written out: the budget counts each occurrence. Knows nothing
//! of what the budget is for.

use std::fmt;

use super::json::DEPTH_LIMIT;
use super::{Failure, Payload};

/// The size limit in bytes of the values of one run, or of the values of one op.
pub(crate) const SIZE_LIMIT: usize = 16 << 20;

/// The size of each part of a value, in addition to its text.
const PART: usize = 16;

/// The remaining size for values. A value is walked no further than the budget allows.
#[derive(Debug)]
pub(crate) struct SizeBudget {
    left: usize,
}

/// Why a value exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeExcess {
    /// It is larger than the remaining budget.
    Weight,
    /// It nests deeper than any value may.
    Depth,
}

impl fmt::Display for SizeExcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weight => write!(f, "take more than {} MiB", SIZE_LIMIT >> 20),
            Self::Depth => write!(f, "nest deeper than {DEPTH_LIMIT} levels"),
        }
    }
}

impl Default for SizeBudget {
    fn default() -> Self {
        Self { left: SIZE_LIMIT }
    }
}

impl SizeBudget {
    /// Charges the size of a value, with every occurrence of a shared part.
    pub(crate) fn take(&mut self, value: &Payload) -> Result<(), SizeExcess> {
        self.take_within(value, DEPTH_LIMIT)
    }

    /// Charges the minimum size of this many parts.
    pub(crate) fn take_parts(&mut self, parts: usize) -> Result<(), SizeExcess> {
        self.take_bytes(parts.saturating_mul(PART))
    }

    /// Charges the size of a text.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), SizeExcess> {
        self.left = self.left.checked_sub(bytes).ok_or(SizeExcess::Weight)?;
        Ok(())
    }

    fn take_within(&mut self, value: &Payload, levels: usize) -> Result<(), SizeExcess> {
        self.take_bytes(PART)?;
        let below = || levels.checked_sub(1).ok_or(SizeExcess::Depth);
        match value {
            Payload::Null | Payload::Bool(_) | Payload::Int(_) | Payload::Float(_) => Ok(()),
            Payload::Str(text) => self.take_bytes(text.len()),
            Payload::Bytes(bytes) => self.take_bytes(bytes.len()),
            Payload::List(elements) => {
                let below = below()?;
                elements.iter().try_for_each(|element| self.take_within(element, below))
            }
            Payload::Map(members) => {
                let below = below()?;
                members.iter().try_for_each(|(name, member)| {
                    self.take_bytes(name.len())?;
                    self.take_within(member, below)
                })
            }
            Payload::Error(failure) => self.take_failure(failure, levels),
        }
    }

    fn take_failure(&mut self, failure: &Failure, levels: usize) -> Result<(), SizeExcess> {
        let below = levels.checked_sub(1).ok_or(SizeExcess::Depth)?;
        self.take_bytes(PART + failure.code.len() + failure.message.len())?;
        failure.causes.iter().try_for_each(|cause| self.take_failure(cause, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(times: usize) -> Payload {
        (0..times).fold(Payload::Null, |half, _| Payload::list(vec![half.clone(), half]))
    }

    #[test]
    fn shared_parts_are_charged_for_each_occurrence() {
        assert_eq!(SizeBudget::default().take(&doubled(10)), Ok(()));
        assert_eq!(SizeBudget::default().take(&doubled(60)), Err(SizeExcess::Weight));
        let mut room = SizeBudget::default();
        let half = Payload::from("x".repeat(SIZE_LIMIT / 2));
        assert_eq!(room.take(&half), Ok(()));
        assert_eq!(room.take(&half), Err(SizeExcess::Weight));
    }

    #[test]
    fn a_value_nests_as_deep_as_json_may() {
        let nested = |times| (0..times).fold(Payload::Null, |all, _| Payload::list(vec![all]));
        assert_eq!(SizeBudget::default().take(&nested(DEPTH_LIMIT)), Ok(()));
        assert!(Payload::from_json(&nested(DEPTH_LIMIT).to_json()).is_ok());
        assert_eq!(SizeBudget::default().take(&nested(DEPTH_LIMIT + 1)), Err(SizeExcess::Depth));
        assert!(Payload::from_json(&nested(DEPTH_LIMIT + 1).to_json()).is_err());
    }
}
