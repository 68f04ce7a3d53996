//! Shortens texts and values for reports, at a cost that does not depend on their size. Does not
//! know reports.

use std::io::{self, Write};

use crate::value::Payload;

/// How many characters of a text are shown.
const TEXT_LIMIT: usize = 120;

/// How many bytes of JSON a value may have to be shown completely.
const VALUE_LIMIT: usize = 1000;

/// The beginning of a text, with an ellipsis if it continues.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A value; if it is long, the beginning of its text or JSON.
pub(crate) fn brief(value: &Payload) -> Payload {
    match value {
        Payload::Str(text) if text.len() > VALUE_LIMIT => shorten(text).into(),
        Payload::Bytes(_) | Payload::List(_) | Payload::Map(_) | Payload::Error(_) => {
            let mut start = PrefixWriter(Vec::new());
            if serde_json::to_writer(&mut start, value).is_ok() {
                return value.clone();
            }
            shorten(&String::from_utf8_lossy(&start.0)).into()
        }
        short => short.clone(),
    }
}

/// Collects a limited number of bytes, then fails.
struct PrefixWriter(Vec<u8>);

impl Write for PrefixWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = VALUE_LIMIT.saturating_sub(self.0.len());
        self.0.extend(bytes.iter().take(room));
        if bytes.len() > room { Err(io::ErrorKind::WriteZero.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_are_truncated() {
        let list = |length| Payload::list(vec![Payload::Int(7); length]);
        assert_eq!(brief(&list(400)), list(400));
        assert_eq!(brief(&list(600)), Payload::str(format!("[{}7…", "7,".repeat(59))));
        let text = Payload::str("é".repeat(1000));
        assert_eq!(brief(&text), Payload::str(format!("{}…", "é".repeat(120))));
        let bytes = Payload::Bytes(vec![0; 1000].into());
        assert_eq!(brief(&bytes), Payload::str(format!("\"{}…", "A".repeat(119))));
    }
}
