//! Types and values in messages: short, however large they are. Knows nothing of what is wrong
//! with them.

use super::TypeIR;
use crate::value::Payload;

const LONGEST: usize = 120;

/// A type in a message.
pub(crate) fn brief(ir: &TypeIR) -> String {
    cut(ir.to_string())
}

/// A value in a message: scalars as they are, containers by their kind.
pub(crate) fn brief_value(value: &Payload) -> String {
    match value {
        Payload::List(_) | Payload::Map(_) | Payload::Bytes(_) => value.kind().to_owned(),
        scalar => cut(scalar.to_json()),
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
