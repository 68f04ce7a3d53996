//! The passage of an example, and its words. Pure: knows no database.

use dsrs::value::Payload;

/// The most bytes of a passage: Postgres indexes no more words of one text.
const LONGEST_PASSAGE: usize = 256 << 10;

/// The passage of an example: an input, or the only one.
///
/// # Errors
/// Why it has none, to follow the name of the example.
pub(super) fn text(inputs: &str, field: Option<&str>) -> Result<String, String> {
    let inputs = Payload::from_record(inputs).map_err(|error| format!("does not load: {error}"))?;
    let members = inputs.as_map().ok_or("has no inputs")?;
    let value = match field {
        Some(field) => members.get(field).ok_or_else(|| {
            let names: Vec<String> = members.keys().map(|name| format!("`{name}`")).collect();
            format!("has no input `{field}`; it has {}", names.join(", "))
        })?,
        None => match members.values().collect::<Vec<_>>()[..] {
            [only] => only,
            _ => return Err(format!("has {} inputs; name the passage in `text`", members.len())),
        },
    };
    let text = value
        .as_str()
        .ok_or_else(|| format!("has {} for a passage, which is a text", value.kind()))?;
    if text.len() > LONGEST_PASSAGE {
        let length = text.len();
        return Err(format!(
            "has a passage of {length} bytes, at most {LONGEST_PASSAGE} are indexed; split it"
        ));
    }
    Ok(text.to_owned())
}

/// The words of a text in lower case, with spaces between them. Postgres would take `main.rs` for the name of a host and
/// `a/b` for a file, which only the same text finds again.
pub(super) fn words(text: &str) -> String {
    let letter = |c: char| if is_separator(c) { ' ' } else { c };
    text.chars().map(letter).flat_map(char::to_lowercase).collect()
}

/// Whether a character belongs to no word: punctuation of ASCII, Latin, CJK and of texts in general. Marks that are parts of
/// words are not ASCII.
fn is_separator(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => !c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}' => !c.is_alphanumeric(),
        '\u{2000}'..='\u{206f}' => !matches!(c, '\u{200c}' | '\u{200d}'),
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' => true,
        _ => c.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passage_is_the_only_input_or_the_one_that_is_named() {
        assert_eq!(text(r#"{"text": "A cat."}"#, None).unwrap(), "A cat.");
        assert_eq!(text(r#"{"title": "Cats", "text": "A cat."}"#, Some("text")).unwrap(), "A cat.");
        let refused = |inputs, field| text(inputs, field).unwrap_err();
        assert_eq!(
            refused(r#"{"a": "x", "b": "y"}"#, None),
            "has 2 inputs; name the passage in `text`"
        );
        assert_eq!(refused(r#"{"a": "x"}"#, Some("b")), "has no input `b`; it has `a`");
        assert_eq!(refused(r#"{"a": 5}"#, None), "has an integer for a passage, which is a text");
        let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(LONGEST_PASSAGE + 1));
        assert!(refused(&long, None).ends_with("at most 262144 are indexed; split it"));
    }

    #[test]
    fn punctuation_divides_words_of_every_script_and_marks_do_not() {
        let of = |text| words(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            of("Don't open src/main.rs: it is “done” — really!"),
            ["don", "t", "open", "src", "main", "rs", "it", "is", "done", "really"]
        );
        assert_eq!(of("snake_case a-b v1.2"), ["snake", "case", "a", "b", "v1", "2"]);
        assert_eq!(of("Ñandú «हिन्दी» 東京、京都。"), ["ñandú", "हिन्दी", "東京", "京都"]);
        assert_eq!(words("a\0b"), "a b");
    }
}
