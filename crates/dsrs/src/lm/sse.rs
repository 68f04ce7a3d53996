//! Parses server-sent events from chunks of bytes that may be cut anywhere. The work is linear in the
//! input, and the size of an event is limited. Knows neither HTTP nor the meaning of events.
//!
//! The library `eventsource-stream` (0.2.3) is no alternative: it panics on a byte order mark (it
//! removes one of its three bytes), scans a long line from the start with every chunk, and waits
//! forever after invalid UTF-8.

use bytes::{Buf, Bytes};

/// An optional start of a stream, which is skipped.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its name; empty if it has none.
    pub(super) name: String,
    /// Its data; lines are separated by `\n`.
    pub(super) data: String,
}

/// Why the input is not a stream of events. The rest of it is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SseFault {
    /// An event, or a line, is larger than the limit.
    TooLarge,
    /// It is not UTF-8.
    NotText,
}

/// The state of a stream of events.
pub(super) struct SseReader {
    /// Input that has not been scanned.
    piece: Bytes,
    /// The start of the current line.
    line: Vec<u8>,
    /// The current event, and whether it has data.
    event: SseEvent,
    has_data: bool,
    /// The most bytes of an event.
    limit: usize,
    /// Whether the first line has not ended yet.
    is_first: bool,
    /// Whether the last line ended with `\r`, which a `\n` may follow.
    after_return: bool,
}

impl SseReader {
    /// A reader without input. `limit` is the largest size of an event in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            piece: Bytes::new(),
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            limit,
            is_first: true,
            after_return: false,
        }
    }

    /// Adds input. [`Self::next`] must have returned all events of the previous input.
    pub(super) fn feed(&mut self, piece: Bytes) {
        self.piece = piece;
    }

    /// The next event of the input; `None` if it is incomplete.
    pub(super) fn next(&mut self) -> Result<Option<SseEvent>, SseFault> {
        while self.take_line()? {
            let line = std::mem::take(&mut self.line);
            let event = self.read(&line)?;
            // Reuses the buffer, unless the line was unusually long.
            self.line = line;
            self.line.clear();
            self.line.shrink_to(4 << 10);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// The incomplete event at the end of the stream, if there is one.
    pub(super) fn rest(mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.read(&line).ok()?;
        }
        self.has_data.then_some(self.event)
    }

    /// Moves input into the current line; returns whether the line is complete.
    fn take_line(&mut self) -> Result<bool, SseFault> {
        if self.after_return && !self.piece.is_empty() {
            self.after_return = false;
            self.piece.advance(usize::from(self.piece.starts_with(b"\n")));
        }
        let end = self.piece.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let more = self.piece.split_to(end.unwrap_or(self.piece.len()));
        if self.line.len() + self.event.data.len() + more.len() > self.limit {
            return Err(SseFault::TooLarge);
        }
        self.line.extend_from_slice(&more);
        if end.is_some() {
            self.after_return = self.piece.get_u8() == b'\r';
        }
        Ok(end.is_some())
    }

    /// Reads a complete line; returns the event that it ends.
    fn read(&mut self, line: &[u8]) -> Result<Option<SseEvent>, SseFault> {
        let is_first = std::mem::take(&mut self.is_first);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        let line = str::from_utf8(line).map_err(|_| SseFault::NotText)?;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments, which have no field name, and irrelevant fields.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events of a stream in chunks of `size` bytes, as `name=data`.
    fn read(bytes: &[u8], size: usize, limit: usize) -> (Vec<String>, Option<SseFault>) {
        let line = |event: SseEvent| format!("{}={}", event.name, event.data);
        let (mut reader, mut found) = (SseReader::new(limit), Vec::new());
        for piece in bytes.chunks(size.max(1)) {
            reader.feed(Bytes::copy_from_slice(piece));
            loop {
                match reader.next() {
                    Ok(Some(event)) => found.push(line(event)),
                    Ok(None) => break,
                    Err(fault) => return (found, Some(fault)),
                }
            }
        }
        found.extend(reader.rest().map(line));
        (found, None)
    }

    fn events(text: &str) -> Vec<String> {
        let (events, fault) = read(text.as_bytes(), text.len(), 1 << 20);
        assert_eq!(fault, None);
        events
    }

    #[test]
    fn events_of_every_spelling_are_read() {
        let cases: [(&str, &[&str]); 12] = [
            ("data: a\n\ndata: b\n\n", &["=a", "=b"]),
            ("data:a\r\n\r\ndata:  b\r\n\r\n", &["=a", "= b"]),
            ("data: a\r\rdata: b\r\r", &["=a", "=b"]),
            ("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n", &["=a"]),
            ("data: a\ndata\ndata: b\n\n", &["=a\n\nb"]),
            ("event: error\ndata: {}\n\ndata: b\n\n", &["error={}", "=b"]),
            (": a comment\n\n:\n\ndata: a\n: another\ndata: b\n\n", &["=a\nb"]),
            ("event: ping\n\ndata: a\n\n", &["=a"]),
            ("id: 7\nretry: 10\nother: x\ndata: a\n\n", &["=a"]),
            ("data: a\n\ndata: [DONE]", &["=a", "=[DONE]"]),
            ("data: é: ü\n\n", &["=é: ü"]),
            ("", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(events(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn invalid_utf_8_fails_after_the_events_before_it() {
        let (found, fault) = read(b"data: a\n\ndata: \xFFb\n", 3, 100);
        assert_eq!((found, fault), (vec!["=a".to_owned()], Some(SseFault::NotText)));
    }

    #[test]
    fn the_limit_is_per_event_and_not_per_stream() {
        let small = "data: 0123456789\n\n".repeat(1000);
        assert_eq!(events(&small).len(), 1000);
        assert_eq!(read(small.as_bytes(), 7, 16).0.len(), 1000);
        for large in
            ["data: 01234567890123456789", "data: 0123456\ndata: 0123456\n", ": 0123456789012345"]
        {
            assert_eq!(read(large.as_bytes(), 1, 16).1, Some(SseFault::TooLarge), "{large}");
        }
    }

    #[test]
    fn a_long_line_in_many_chunks_is_scanned_once() {
        // Scanning it again with every chunk would read 10^13 bytes.
        let line = format!("data: {}\n\n", "x".repeat(16 << 20));
        assert_eq!(read(line.as_bytes(), 16, 32 << 20).0[0].len(), (16 << 20) + 1);
    }

    proptest! {
        #[test]
        fn events_are_independent_of_chunks(
            parts in prop::collection::vec(prop::sample::select(vec![
                "data: a", "data:", "event: e", ": c", "\n", "\r", "\r\n", "\n\n", "é", "\u{FEFF}",
            ]), 0..30),
            size in 1_usize..9,
            limit in prop::sample::select(vec![9_usize, 1000]),
        ) {
            let text = parts.concat();
            let whole = read(text.as_bytes(), text.len(), limit);
            prop_assert_eq!(read(text.as_bytes(), size, limit), whole);
        }
    }
}
