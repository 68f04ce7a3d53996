//! Numbers of ops: whole ones stay exact, and what leaves the range of its kind is a failure. Knows
//! nothing of the ops.

use super::failed;
use crate::predict::PredictError;
use crate::value::Payload;

/// A number. Both are of one kind wherever two meet: edges have seen to that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(super) fn of(value: &Payload) -> Result<Self, PredictError> {
        match value {
            Payload::Int(number) => Ok(Self::Int(*number)),
            Payload::Float(number) => Ok(Self::Float(*number)),
            other => Err(failed(format!("expected a number, found {}", other.kind()))),
        }
    }

    pub(super) const fn float(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    /// Two numbers by the function of their kind.
    pub(super) fn with(
        self,
        other: Self,
        ints: impl Fn(i64, i64) -> Option<i64>,
        floats: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, PredictError> {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => ints(one, two).map(Self::Int).ok_or_else(|| {
                failed("the result is beyond 64 bits; with a float among the inputs it may do")
            }),
            (one, two) => finite(floats(one.float(), two.float())),
        }
    }
}

impl From<Number> for Payload {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(number) => Self::Int(number),
            Number::Float(number) => Self::Float(number),
        }
    }
}

/// A float that is a number.
pub(super) fn finite(number: f64) -> Result<Number, PredictError> {
    if number.is_finite() {
        return Ok(Number::Float(number));
    }
    Err(failed("the result is too large for a float, or no number"))
}
