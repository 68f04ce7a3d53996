//! How DSPy names the fields of a signature in its files: by a prefix made of the name, and a
//! description that is `${name}` unless one was given.

use crate::signature::{FieldSchema, SignatureSchema};

/// The fields in DSPy's order.
pub(super) fn fields(schema: &SignatureSchema) -> impl Iterator<Item = &FieldSchema> {
    schema.inputs.iter().chain(&schema.outputs)
}

/// The description of a field; what DSPy puts where there is none.
pub(super) fn description(field: &FieldSchema) -> String {
    field.description.as_deref().map_or_else(|| format!("${{{}}}", field.name), str::to_owned)
}

/// The field's name, if the description is what DSPy puts where there is none.
pub(super) fn described(description: &str) -> Option<&str> {
    description.strip_prefix("${")?.strip_suffix('}').filter(|name| !name.is_empty())
}

/// The prefix of a field, as DSPy's `infer_prefix` makes it: `snake_case2` is `Snake Case 2:`.
pub(super) fn prefix(name: &str) -> String {
    let name = between(&camel_humps(name), |a, b| {
        (a.is_ascii_lowercase() || a.is_ascii_digit()) && b.is_ascii_uppercase()
    });
    let name = between(&name, |a, b| a.is_ascii_alphabetic() && b.is_ascii_digit());
    let name = between(&name, |a, b| a.is_ascii_digit() && b.is_ascii_alphabetic());
    let words: Vec<String> = name.split('_').map(title).collect();
    format!("{}:", words.join(" "))
}

/// Sets `_` before a capital with small letters behind it, unless nothing stands before it. What was
/// looked at once is not looked at again, as in a search by a pattern.
fn camel_humps(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let small = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
    let (mut told, mut at) = (String::with_capacity(name.len() + 4), 0);
    while let Some(letter) = letters.get(at) {
        told.push(*letter);
        at += 1;
        if letters.get(at).is_some_and(char::is_ascii_uppercase) && small(at + 1) {
            let end = (at + 1..).find(|next| !small(*next)).unwrap_or(at + 1);
            told.push('_');
            told.extend(letters.get(at..end).unwrap_or_default());
            at = end;
        }
    }
    told
}

/// Sets `_` between neighbours.
fn between(name: &str, parted: impl Fn(char, char) -> bool) -> String {
    let mut told = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if told.chars().next_back().is_some_and(|before| parted(before, letter)) {
            told.push('_');
        }
        told.push(letter);
    }
    told
}

fn title(word: &str) -> String {
    let letters = || word.chars().filter(char::is_ascii_alphabetic);
    if letters().next().is_some() && letters().all(|letter| letter.is_ascii_uppercase()) {
        return word.to_owned();
    }
    let mut told = word.to_ascii_lowercase();
    if let Some(first) = told.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `dspy.signatures.signature.infer_prefix` of DSPy 3.4.1 gives.
    #[test]
    fn prefixes_are_those_of_dspy() {
        for (name, wanted) in [
            ("question", "Question:"),
            ("snake_case_text", "Snake Case Text:"),
            ("camelCaseText", "Camel Case Text:"),
            ("text2number", "Text 2 Number:"),
            ("HTMLParser", "HTML Parser:"),
            ("aBcDe", "A Bc De:"),
            ("_x", " X:"),
            ("a_Bc", "A  Bc:"),
            ("ABCd", "AB Cd:"),
            ("q1", "Q 1:"),
            ("Q", "Q:"),
            ("x1y2z", "X 1 Y 2 Z:"),
            ("HTTP_Server_v2", "HTTP  Server V 2:"),
            ("oneTwoABC", "One Two ABC:"),
            ("A1b", "A 1 B:"),
        ] {
            assert_eq!(prefix(name), wanted, "{name}");
        }
    }

    #[test]
    fn an_empty_description_is_told_by_its_name() {
        assert_eq!(described("${question}"), Some("question"));
        assert_eq!(described("what is asked"), None);
        assert_eq!(described("${}"), None);
    }
}
