//! Types and values in messages: short, however large they are. Knows nothing of what is wrong
//! with them.

use std::fmt::{self, Write};

use super::TypeIR;
use crate::value::Payload;

const LONGEST: usize = 120;

/// A type in a message. Of a huge one no more is written than is shown.
pub(crate) fn brief(ir: &TypeIR) -> String {
    let mut shown = Shown { text: String::new(), left: LONGEST };
    if write!(shown, "{ir}").is_err() {
        shown.text.push('…');
    }
    shown.text
}

/// Takes so many characters and then no more.
struct Shown {
    text: String,
    left: usize,
}

impl fmt::Write for Shown {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = more.char_indices().nth(self.left).map(|(end, _)| end);
        self.text.push_str(&more[..end.unwrap_or(more.len())]);
        self.left -= more.chars().take(self.left).count();
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A value in a message: scalars as they are, containers by their kind.
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
