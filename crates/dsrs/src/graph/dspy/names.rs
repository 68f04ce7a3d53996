//! How DSPy names the fields of a signature in its files: by a prefix derived from the name, and a
//! description that is `${name}` by default.

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

/// Inserts `_` before a capital letter that precedes lower-case letters, unless it is the first
/// letter. Matches do not overlap, as in a search with a regular expression.
fn camel_humps(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let small = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
    let (mut separated, mut at) = (String::with_capacity(name.len() + 4), 0);
    while let Some(letter) = letters.get(at) {
        separated.push(*letter);
        at += 1;
        if letters.get(at).is_some_and(char::is_ascii_uppercase) && small(at + 1) {
            let end = (at + 1..).find(|next| !small(*next)).unwrap_or(at + 1);
            separated.push('_');
            separated.extend(letters.get(at..end).unwrap_or_default());
            at = end;
        }
    }
    separated
}

/// Inserts `_` between two letters for which `is_boundary` holds.
fn between(name: &str, is_boundary: impl Fn(char, char) -> bool) -> String {
    let mut separated = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if separated.chars().next_back().is_some_and(|before| is_boundary(before, letter)) {
            separated.push('_');
        }
        separated.push(letter);
    }
    separated
}

fn title(word: &str) -> String {
    let letters = || word.chars().filter(char::is_ascii_alphabetic);
    if letters().next().is_some() && letters().all(|letter| letter.is_ascii_uppercase()) {
        return word.to_owned();
    }
    let mut title = word.to_ascii_lowercase();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of `dspy.signatures.signature.infer_prefix` in DSPy 3.4.1.
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
    fn a_placeholder_description_names_its_field() {
        assert_eq!(described("${question}"), Some("question"));
        assert_eq!(described("what is asked"), None);
        assert_eq!(described("${}"), None);
    }
}
