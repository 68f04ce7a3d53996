//! Numbers of ops: integers are exact, and a result out of range is a failure. Knows no op.

use super::failed;
use crate::predict::PredictError;
use crate::value::Payload;

/// A number. Two operands have the same kind: edges convert them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OpNumber {
    Int(i64),
    Float(f64),
}

impl OpNumber {
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
                failed("the result does not fit into 64 bits; it may with a float among the inputs")
            }),
            (one, two) => finite(floats(one.float(), two.float())),
        }
    }
}

impl From<OpNumber> for Payload {
    fn from(number: OpNumber) -> Self {
        match number {
            OpNumber::Int(number) => Self::Int(number),
            OpNumber::Float(number) => Self::Float(number),
        }
    }
}

/// A finite float.
pub(super) fn finite(number: f64) -> Result<OpNumber, PredictError> {
    if number.is_finite() {
        return Ok(OpNumber::Float(number));
    }
    Err(failed("the result is too large for a float, or not a number"))
}
