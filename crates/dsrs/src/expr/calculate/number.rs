//! Numbers of arithmetic: exact integers and floats, and what the operators return. Knows no syntax.

use super::{ExprError, fault};
use crate::value::Payload;

/// A number. An operator on two integers is exact, or refused.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArithmeticNumber {
    Whole(i128),
    Float(f64),
}

impl ArithmeticNumber {
    /// A literal.
    pub(super) fn parse(text: &str) -> Result<Self, ExprError> {
        if let Ok(whole) = text.parse() {
            return Ok(Self::Whole(whole));
        }
        let float = text.parse().map_err(|_| fault(format!("`{text}` is not a number")))?;
        Self::finite(float)
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    pub(super) fn finite(float: f64) -> Result<Self, ExprError> {
        if float.is_nan() {
            return Err(fault("the result is not a real number"));
        }
        if float.is_infinite() {
            return Err(fault("the result is too large, or infinite"));
        }
        Ok(Self::Float(float))
    }

    /// An integral float as an integer if that is exact.
    pub(super) fn rounded(float: f64) -> Self {
        if float.abs() < 9e15 { Self::Whole(float as i128) } else { Self::Float(float) }
    }

    /// The result of an operator.
    pub(super) fn by(self, sign: &str, other: Self) -> Result<Self, ExprError> {
        if matches!(sign, "/" | "//" | "%") && other.float() == 0.0 {
            return Err(fault("division by zero"));
        }
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => whole(a, sign, b),
            _ => {
                let (a, b) = (self.float(), other.float());
                Self::finite(match sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "//" => (a / b).floor(),
                    _ => a - b * (a / b).floor(),
                })
            }
        }
    }

    pub(super) fn power(self, exponent: Self) -> Result<Self, ExprError> {
        if let (Self::Whole(base), Self::Whole(exponent @ 0..)) = (self, exponent) {
            let exponent = u32::try_from(exponent).ok();
            let power = match base {
                0 | 1 => exponent.map(|exponent| base.pow(exponent.min(1))),
                _ => exponent.and_then(|exponent| base.checked_pow(exponent)),
            };
            return power.map(Self::Whole).ok_or_else(too_large);
        }
        if self.float() == 0.0 && exponent.float() < 0.0 {
            return Err(fault("division by zero"));
        }
        Self::finite(self.float().powf(exponent.float()))
    }

    pub(super) fn round(self, places: Self) -> Result<Self, ExprError> {
        let Self::Whole(places @ -15..=15) = places else {
            return Err(fault("`round` accepts a number and a number of decimal places, up to 15"));
        };
        let scale = 10_f64.powi(places as i32);
        Self::finite((self.float() * scale).round_ties_even() / scale)
    }

    pub(super) fn to_payload(self) -> Result<Payload, ExprError> {
        match self {
            Self::Whole(whole) => Ok(i64::try_from(whole)
                .map_or_else(|_| Payload::from(whole.to_string()), Payload::Int)),
            Self::Float(float) => Ok(Payload::Float(float)),
        }
    }
}

pub(super) fn too_large() -> ExprError {
    fault(
        "the result is too large for exact arithmetic; write a decimal point to calculate with floats",
    )
}

fn whole(a: i128, sign: &str, b: i128) -> Result<ArithmeticNumber, ExprError> {
    let floored = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        let inexact = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
        Some(quotient - i128::from(inexact))
    };
    let result = match sign {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" if a.checked_rem(b) != Some(0) => return ArithmeticNumber::finite(a as f64 / b as f64),
        "/" => a.checked_div(b),
        "//" => floored(a, b),
        _ => floored(a, b).and_then(|quotient| a.checked_sub(quotient.checked_mul(b)?)),
    };
    result.map(ArithmeticNumber::Whole).ok_or_else(too_large)
}
