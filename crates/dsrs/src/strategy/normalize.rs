//! The normal form of an answer: two answers are equal if their normal forms are. Case, the space
//! between words and punctuation around an answer are ignored; signs and decimal points are not.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::value::Payload;

/// The normal form of a value; `None` for null and for an empty text.
pub(super) fn normal(value: &Payload) -> Option<String> {
    let form = form(value);
    match &form {
        Payload::Null => None,
        Payload::Str(text) if text.is_empty() => None,
        _ => Some(form.to_json()),
    }
}

fn form(value: &Payload) -> Payload {
    match value {
        Payload::Str(text) => Payload::str(text_form(text)),
        Payload::List(elements) => Payload::list(elements.iter().map(form).collect()),
        Payload::Map(members) => {
            let members = members.iter().map(|(name, member)| (Arc::clone(name), form(member)));
            Payload::map(members.collect())
        }
        other => other.clone(),
    }
}

fn text_form(text: &str) -> String {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let around =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '*' | '“' | '”' | '’' | '‘');
    let ending = |c: char| around(c) || matches!(c, '.' | ',' | ';' | ':' | '!' | '?');
    let core = text.trim_start_matches(around).trim_end_matches(ending);
    core.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        let normal = |text: &str| normal(&Payload::from_json(text).unwrap());
        normal(one) == normal(other)
    }

    #[test]
    fn case_space_and_surrounding_punctuation_are_ignored() {
        assert!(same(r#""  **New  York**.""#, r#""new york""#));
        assert!(same(r#"["Ä "]"#, "[\"a\u{308}\"]"));
        assert!(same(r#""""#, "null"));
    }

    #[test]
    fn signs_and_decimal_points_make_a_difference() {
        assert!(!same(r#""-3""#, r#""3""#));
        assert!(!same(r#""1.5""#, r#""15""#));
        assert!(!same("3", r#""3""#));
    }
}
