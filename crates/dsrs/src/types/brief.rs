//! Types and values in messages, cut to a bounded length.

use std::fmt::{self, Write};

use super::TypeIR;
use crate::value::Payload;

const LONGEST: usize = 120;

/// A type for a message, cut to a bounded length. A huge type is not printed beyond that.
pub(crate) fn brief(ir: &TypeIR) -> String {
    let mut shown = BriefText { text: String::new(), left: LONGEST };
    if write!(shown, "{ir}").is_err() {
        shown.text.push('…');
    }
    shown.text
}

/// Accepts a limited number of characters, then fails.
struct BriefText {
    text: String,
    left: usize,
}

impl fmt::Write for BriefText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = more.char_indices().nth(self.left).map(|(end, _)| end);
        self.text.push_str(&more[..end.unwrap_or(more.len())]);
        self.left -= more.chars().take(self.left).count();
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A value for a message: a scalar as JSON, a container as its kind.
pub(crate) fn brief_value(value: &Payload) -> String {
    match value {
        Payload::List(_) | Payload::Map(_) | Payload::Bytes(_) | Payload::Error(_) => {
            value.kind().to_owned()
        }
        scalar => cut(scalar.to_json()),
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
