//! What values weigh, and how much room there is for them: a value that is told many times within
//! another costs nothing until somebody walks it or writes it down. Knows nothing of who has room.

use std::fmt;

use super::json::DEPTH_LIMIT;
use super::{Failure, Payload};

/// How many bytes the values of one run may weigh, or what one op works on.
pub(crate) const SIZE_LIMIT: usize = 16 << 20;

/// What each part of a value weighs beside its text.
const PART: usize = 16;

/// SizeBudget for values, which each value takes some of. Nothing is walked further than there is room.
#[derive(Debug)]
pub(crate) struct SizeBudget {
    left: usize,
}

/// Why there is no room for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeExcess {
    /// It weighs more than is left.
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
    /// Takes what a value weighs, as often as it is told.
    pub(crate) fn take(&mut self, value: &Payload) -> Result<(), SizeExcess> {
        self.take_within(value, DEPTH_LIMIT)
    }

    /// Takes what so many parts of a value weigh at least.
    pub(crate) fn take_parts(&mut self, parts: usize) -> Result<(), SizeExcess> {
        self.take_bytes(parts.saturating_mul(PART))
    }

    /// Takes what a text weighs.
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
    fn a_value_weighs_as_often_as_it_is_told_and_is_walked_no_further_than_there_is_room() {
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
