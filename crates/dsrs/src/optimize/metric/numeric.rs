//! `numeric`: the output is a number near the expected one. Numbers in texts are read like answers.

use std::fmt;
use std::sync::Arc;

use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::types::{Type, TypeDefs, TypeIR};
use crate::value::Payload;

/// The allowed distance from the expected number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    /// Absolute, or a fraction of the expected number.
    pub(super) within: f64,
    pub(super) relative: bool,
}

impl Tolerance {
    /// The default tolerance, little more than rounding.
    pub(super) const DEFAULT: f64 = 1e-6;

    /// 1 within the tolerance, else 0; of lists, number by number.
    pub(super) fn score(self, expected: &Payload, output: &Payload) -> Result<f64, &'static str> {
        let expected = numbers(expected).ok_or("is not a number: name the numeric fields")?;
        let near = numbers(output).is_some_and(|output| {
            output.len() == expected.len()
                && expected.iter().zip(&output).all(|(wanted, found)| self.holds(*wanted, *found))
        });
        Ok(f64::from(u8::from(near)))
    }

    fn holds(self, wanted: f64, found: f64) -> bool {
        let allowed = if self.relative { self.within * wanted.abs() } else { self.within };
        // 1.1 is not exactly 0.1 from 1.
        let rounding = 4.0 * f64::EPSILON * wanted.abs().max(found.abs());
        (wanted - found).abs() <= allowed + rounding
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.relative {
            true => write!(f, " ± {} %", self.within * 100.0),
            false => write!(f, " ± {}", self.within),
        }
    }
}

/// The number that a value is, or the numbers of a list.
fn numbers(value: &Payload) -> Option<Vec<f64>> {
    match value {
        Payload::Int(found) => Some(vec![*found as f64]),
        Payload::Float(found) => Some(vec![*found]),
        Payload::Str(text) => read(text).map(|found| vec![found]),
        Payload::List(elements) => {
            let each = elements.iter().map(|element| match numbers(element)?.as_slice() {
                [only] if element.as_list().is_none() => Some(*only),
                _ => None,
            });
            each.collect()
        }
        _ => None,
    }
}

/// The one number in a text.
fn read(text: &str) -> Option<f64> {
    let ty = Type::new(TypeIR::Float, Arc::new(TypeDefs::default()));
    match coerce(text, &ty, Leniencies::ALL, &mut ParseReport::default()) {
        Ok(Payload::Float(found)) => Some(found),
        _ => None,
    }
}
