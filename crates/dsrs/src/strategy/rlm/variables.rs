//! The inputs as an LM sees them that reads them by programs: names, types, lengths, and a short preview. Knows no prompts.

use std::fmt::Write as _;
use std::io;

use crate::signature::SignatureSchema;
use crate::types::describe_type;
use crate::value::{Fields, Payload};

/// Describes the inputs, each with at most so many characters of its value.
pub(super) fn describe(schema: &SignatureSchema, inputs: &Fields, preview: usize) -> String {
    let mut text = String::new();
    for field in &schema.inputs {
        let Some(value) = inputs.get(&field.name) else { continue };
        let ty = describe_type(&schema.type_of(field));
        // Writing to a string does not fail.
        let _ = write!(text, "`{}`: {ty}, {}", field.name, length(value));
        if let Some(description) = field.description.as_deref() {
            let _ = write!(text, ". {}", description.trim());
        }
        text.push('\n');
        if preview > 0 {
            let _ = writeln!(text, "{}", shown(value, preview));
        }
    }
    text.trim_end().to_owned()
}

/// How long a value is, in Python's sense.
fn length(value: &Payload) -> String {
    match value {
        Payload::Str(text) => format!("{} characters", text.chars().count()),
        Payload::List(elements) => format!("{} elements", elements.len()),
        Payload::Map(members) => format!("{} members", members.len()),
        Payload::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Payload::Null => "None in Python".to_owned(),
        Payload::Bool(_) | Payload::Int(_) | Payload::Float(_) | Payload::Error(_) => {
            "one value".to_owned()
        }
    }
}

/// A short value, or the beginning of a long one and, of a text, its end.
fn shown(value: &Payload, most: usize) -> String {
    match value {
        Payload::Str(text) => match text.char_indices().nth(most) {
            None => text.to_string(),
            Some(_) => {
                let tail = most / 4;
                let head: String = text.chars().take(most - tail).collect();
                let start = tail.checked_sub(1).and_then(|last| text.char_indices().nth_back(last));
                let end = start.map_or("", |(start, _)| &text[start..]);
                format!("{head} … {end}").trim_end().to_owned()
            }
        },
        value => beginning(value, most),
    }
}

/// The beginning of a value as JSON. Nothing after it is written, however large the value is.
fn beginning(value: &Payload, most: usize) -> String {
    let mut written = LimitedText { bytes: Vec::new(), limit: most.saturating_mul(4) };
    let is_whole = serde_json::to_writer(&mut written, value).is_ok();
    let text = String::from_utf8_lossy(&written.bytes);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if is_whole => text.into_owned(),
        None => format!("{} …", text.trim_end_matches(char::REPLACEMENT_CHARACTER)),
    }
}

/// A text that refuses more than its limit of bytes.
struct LimitedText {
    bytes: Vec<u8>,
    limit: usize,
}

impl io::Write for LimitedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len());
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        match room < bytes.len() {
            true => Err(io::ErrorKind::WriteZero.into()),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_short_however_long_the_value_is() {
        assert_eq!(shown(&"0123456789".into(), 10), "0123456789");
        assert_eq!(shown(&"0123456789abcdef".into(), 8), "012345 … ef");
        assert_eq!(shown(&"éééééé".into(), 3), "ééé …");
        let list = Payload::list((0..1_000_000).map(Payload::Int).collect());
        assert_eq!(shown(&list, 8), "[0,1,2,3 …");
        assert_eq!(shown(&Payload::list(vec!["é".into(); 9]), 6), "[\"é\",\" …");
        assert_eq!(shown(&Payload::list(vec![Payload::Int(1)]), 8), "[1]");
        let long = Payload::list(vec!["x".repeat(1 << 20).into()]);
        assert_eq!(shown(&long, 4), "[\"xx …");
    }
}
