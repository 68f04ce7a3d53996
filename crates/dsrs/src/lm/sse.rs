//! Reads server-sent events out of pieces of bytes, cut anywhere: work is linear in what comes, and
//! no event takes more room than it is allowed. Knows neither HTTP nor what events mean.
//!
//! Not by the library `eventsource-stream` (0.2.3), which panics on a byte order mark at the
//! beginning (it cuts one byte off a mark of three), reads a long line again from its beginning with
//! every piece, and waits for ever behind bytes that are no UTF-8.

use bytes::{Buf, Bytes};

/// What a stream may begin with, to be left out.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its name, if it has one.
    pub(super) name: String,
    /// What it says; lines are separated by `\n`.
    pub(super) data: String,
}

/// Why what came is no stream of events. Nothing behind it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SseFault {
    /// An event, or a line, is larger than the limit.
    TooLarge,
    /// It is not UTF-8.
    NotText,
}

/// A stream of events on its way.
pub(super) struct SseReader {
    /// What has come and was not looked at.
    piece: Bytes,
    /// The line that is coming in.
    line: Vec<u8>,
    /// The event that is coming in, and whether it has data.
    event: SseEvent,
    has_data: bool,
    /// The most bytes of an event.
    limit: usize,
    /// Whether the first line is still to come.
    is_first: bool,
    /// Whether the last line ended with `\r`, to which a `\n` may belong.
    after_return: bool,
}

impl SseReader {
    /// Nothing has come yet. `limit` bounds each event in bytes.
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

    /// Takes in what has come, once [`Self::next`] has found all events of what came before.
    pub(super) fn feed(&mut self, piece: Bytes) {
        self.piece = piece;
    }

    /// The next event of what has come; `None` when it takes more to complete one.
    pub(super) fn next(&mut self) -> Result<Option<SseEvent>, SseFault> {
        while self.take_line()? {
            let line = std::mem::take(&mut self.line);
            let event = self.read(&line)?;
            // Its room serves the next line, unless it was an unusual one.
            self.line = line;
            self.line.clear();
            self.line.shrink_to(4 << 10);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// The event that was coming in when the stream ended, if there was one.
    pub(super) fn rest(mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.read(&line).ok()?;
        }
        self.has_data.then_some(self.event)
    }

    /// Whether a line is whole; moves what has come into it.
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

    /// Reads a whole line; the event, if it ends one.
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
            // Comments, whose field has no name, and what does not matter here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events of a stream that comes in pieces of `size` bytes, as `name=data`.
    fn read(bytes: &[u8], size: usize, limit: usize) -> (Vec<String>, Option<SseFault>) {
        let told = |event: SseEvent| format!("{}={}", event.name, event.data);
        let (mut reader, mut found) = (SseReader::new(limit), Vec::new());
        for piece in bytes.chunks(size.max(1)) {
            reader.feed(Bytes::copy_from_slice(piece));
            loop {
                match reader.next() {
                    Ok(Some(event)) => found.push(told(event)),
                    Ok(None) => break,
                    Err(fault) => return (found, Some(fault)),
                }
            }
        }
        found.extend(reader.rest().map(told));
        (found, None)
    }

    fn events(text: &str) -> Vec<String> {
        let (events, fault) = read(text.as_bytes(), text.len(), 1 << 20);
        assert_eq!(fault, None);
        events
    }

    #[test]
    fn events_are_read_as_servers_write_them() {
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
    fn what_is_no_utf_8_is_told_with_its_line() {
        let (found, fault) = read(b"data: a\n\ndata: \xFFb\n", 3, 100);
        assert_eq!((found, fault), (vec!["=a".to_owned()], Some(SseFault::NotText)));
    }

    #[test]
    fn the_limit_is_one_of_an_event_and_not_of_the_stream() {
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
    fn a_long_line_in_many_pieces_is_looked_at_once() {
        // Read again with every piece, this would be 10^13 bytes.
        let line = format!("data: {}\n\n", "x".repeat(16 << 20));
        assert_eq!(read(line.as_bytes(), 16, 32 << 20).0[0].len(), (16 << 20) + 1);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_a_stream_is_cut(
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
