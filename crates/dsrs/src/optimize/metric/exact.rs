//! `exact`: the output equals the expected value. Ignores white space around texts and the order of
//! members; 1 and 1.0 are equal.

use super::form::form;
use crate::value::Payload;

pub(super) fn score(expected: &Payload, output: &Payload) -> f64 {
    let form = |value| form(value, |text| text.trim().to_owned());
    f64::from(u8::from(form(expected) == form(output)))
}
