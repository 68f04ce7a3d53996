//! `contains`: the output contains the expected value. Ignores case, kinds of white space and compatible
//! characters.

use super::form::form;
use super::normalized::plain;
use crate::value::Payload;

pub(super) fn score(expected: &Payload, output: &Payload) -> f64 {
    f64::from(u8::from(is_within(&form(expected, plain), &form(output, plain))))
}

/// All elements of an expected list and all members of an expected object are required, in any order;
/// in an output list, any element matches.
fn is_within(expected: &Payload, output: &Payload) -> bool {
    match (expected, output) {
        (Payload::List(all), _) => all.iter().all(|element| is_within(element, output)),
        (_, Payload::List(any)) => any.iter().any(|element| is_within(expected, element)),
        (Payload::Map(all), Payload::Map(members)) => all
            .iter()
            .all(|(name, member)| members.get(name).is_some_and(|found| is_within(member, found))),
        (Payload::Str(part), Payload::Str(text)) => text.contains(&**part),
        (Payload::Int(_) | Payload::Float(_), Payload::Str(text)) => {
            contains_number(&expected.to_json(), text)
        }
        _ => expected == output,
    }
}

/// Whether a text contains a number, and not only as digits of another.
fn contains_number(number: &str, text: &str) -> bool {
    let of_number = |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | ',' | '-');
    let words = text.split(|sign| !of_number(sign));
    words.map(|word| word.trim_end_matches(['.', ',', '-'])).any(|word| word == number)
}
