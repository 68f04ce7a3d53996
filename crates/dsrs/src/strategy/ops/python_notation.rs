//! Values as Python's `str()` and `repr()` write them: `None`, `True`, `1e-05`, `['a', 'b']`. Knows
//! nothing of slots.

use std::fmt::Write as _;

use super::plain_text::plain;
use crate::value::Payload;

/// Powers of ten from which on Python writes a float with an exponent, and below which it does.
const POSITIONAL: std::ops::Range<i32> = -4..16;

/// A value as `str()` writes it: a text as it is, anything else as `repr()` does.
pub(super) fn str_of(value: &Payload) -> String {
    match value {
        Payload::Str(text) => text.as_ref().to_owned(),
        other => repr_of(other),
    }
}

/// A value as `repr()` writes it.
pub(super) fn repr_of(value: &Payload) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Payload) {
    match value {
        Payload::Null => text.push_str("None"),
        Payload::Bool(flag) => text.push_str(if *flag { "True" } else { "False" }),
        Payload::Float(number) => text.push_str(&float(*number)),
        Payload::Str(content) => quote(text, content),
        Payload::List(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                separate(text, position);
                write(text, item);
            }
            text.push(']');
        }
        Payload::Map(members) => {
            text.push('{');
            for (position, (name, member)) in members.iter().enumerate() {
                separate(text, position);
                quote(text, name);
                text.push_str(": ");
                write(text, member);
            }
            text.push('}');
        }
        other => text.push_str(&plain(other)),
    }
}

fn separate(text: &mut String, position: usize) {
    if position > 0 {
        text.push_str(", ");
    }
}

/// The shortest digits that read back as the same float, as in Rust; with an exponent where Python
/// has one.
pub(super) fn float(number: f64) -> String {
    let shortest = format!("{number:e}");
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return shortest };
    let power: i32 = exponent.parse().unwrap_or_default();
    if !POSITIONAL.contains(&power) {
        return format!("{mantissa}e{}", exponent_digits(exponent));
    }
    let positional = number.to_string();
    if positional.contains('.') { positional } else { positional + ".0" }
}

/// The exponent of a number as Python writes it: `-05`, `+16`.
pub(super) fn exponent_digits(exponent: &str) -> String {
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{sign}{digits:0>2}")
}

/// A text in single quotes, or in double ones if it contains single ones only.
fn quote(text: &mut String, content: &str) {
    let quote = if content.contains('\'') && !content.contains('"') { '"' } else { '\'' };
    text.push(quote);
    for character in content.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c == quote => text.extend(['\\', c]),
            c if is_printable(c) => text.push(c),
            c => escape(text, u32::from(c)),
        }
    }
    text.push(quote);
}

/// Whether Python writes a character as it is. Characters that no version of Unicode assigns are
/// written as they are, too.
fn is_printable(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0001}'..='\u{e007f}'
            | '\u{f0000}'..
    );
    let is_space = character.is_whitespace() && character != ' ';
    !character.is_control() && !is_space && !is_format
}

fn escape(text: &mut String, code: u32) {
    // Writing to a string does not fail.
    let _ = match code {
        ..=0xff => write!(text, "\\x{code:02x}"),
        0x100..=0xffff => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 3.11 prints.
    #[test]
    fn values_are_written_as_python_writes_them() {
        for (value, expected) in [
            ("null", "None"),
            ("true", "True"),
            ("7", "7"),
            ("0.5", "0.5"),
            ("1.0", "1.0"),
            ("-0.0", "-0.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("-0.000012", "-1.2e-05"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("1e16", "1e+16"),
            ("1000000000000000.0", "1000000000000000.0"),
            ("1e300", "1e+300"),
            (r#"["a", null, 1e-7]"#, "['a', None, 1e-07]"),
            (r#"{"it's": [true, "\"x\""]}"#, r#"{"it's": [True, '"x"']}"#),
            (
                r#"["both ' and \"", "a\n\u001f\u00a0\u200b\\"]"#,
                r#"['both \' and "', 'a\n\x1f\xa0\u200b\\']"#,
            ),
            (r#"["é"]"#, "['é']"),
            ("[]", "[]"),
        ] {
            assert_eq!(str_of(&Payload::from_json(value).unwrap()), expected, "{value}");
        }
        assert_eq!(str_of(&Payload::from("it's")), "it's");
        assert_eq!(repr_of(&Payload::from("it's")), "\"it's\"");
    }
}
