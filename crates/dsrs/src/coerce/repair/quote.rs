//! Quoted strings with any kind of quotes, closed or not.

use std::borrow::Cow;

use super::super::loose::{Loose, LooseShape};
use super::super::{Leniencies, LeniencyKind};
use super::cursor::past_blanks;
use super::{Parser, ValuePosition, escape};

/// A pair of quotes.
pub(super) struct QuotePair {
    opener: &'static str,
    closers: &'static [&'static str],
    /// Whether it may contain unescaped line breaks and quotes.
    block: bool,
}

/// Longer openers first.
const QUOTES: &[QuotePair] = &[
    QuotePair { opener: "\"\"\"", closers: &["\"\"\""], block: true },
    QuotePair { opener: "'''", closers: &["'''"], block: true },
    QuotePair { opener: "```", closers: &["```"], block: true },
    QuotePair { opener: "\"", closers: &["\""], block: false },
    QuotePair { opener: "'", closers: &["'"], block: false },
    QuotePair { opener: "`", closers: &["`"], block: false },
    QuotePair { opener: "\\\"", closers: &["\\\""], block: false },
    QuotePair { opener: "“", closers: &["”", "“", "\""], block: false },
    QuotePair { opener: "”", closers: &["”", "\""], block: false },
    QuotePair { opener: "„", closers: &["“", "”", "\""], block: false },
    QuotePair { opener: "«", closers: &["»"], block: false },
    QuotePair { opener: "‘", closers: &["’", "‘", "'"], block: false },
    QuotePair { opener: "’", closers: &["’", "'"], block: false },
    QuotePair { opener: "‚", closers: &["‘", "’", "'"], block: false },
];

/// The quotes that open at a position.
pub(super) fn at(text: &str, at: usize) -> Option<&'static QuotePair> {
    let rest = text.get(at..)?;
    let first = *rest.as_bytes().first()?;
    if !matches!(first, b'"' | b'\'' | b'`' | b'\\' | 0xc2 | 0xe2) {
        return None;
    }
    // `""` is an empty string and not the beginning of `"""`, unless a third quote follows.
    QUOTES.iter().find(|quote| rest.starts_with(quote.opener))
}

impl QuotePair {
    pub(super) const fn opener_len(&self) -> usize {
        self.opener.len()
    }

    /// Whether a closer may start with this byte.
    pub(super) fn may_close_with(&self, byte: u8) -> bool {
        self.closers.iter().any(|closer| closer.as_bytes().first() == Some(&byte))
    }

    /// The position after the closing quotes at a position.
    pub(super) fn close_at(&self, text: &str, at: usize) -> Option<usize> {
        let rest = text.as_bytes().get(at..)?;
        let closer = self.closers.iter().find(|closer| rest.starts_with(closer.as_bytes()))?;
        Some(at + closer.len())
    }

    /// Whether these quotes are fence marks at the beginning of a text.
    pub(super) fn is_fence(&self) -> bool {
        self.opener == "```"
    }

    fn is_json(&self) -> bool {
        self.opener == "\""
    }

    fn is_escaped(&self) -> bool {
        self.opener == "\\\""
    }
}

/// The end of a quoted string.
struct QuotedEnd {
    /// After the last byte of the content.
    content: usize,
    /// After the closing quotes.
    whole: usize,
    leniencies: Leniencies,
    escapes: bool,
}

impl<'t> Parser<'t> {
    /// The quoted string that opens here.
    pub(super) fn quoted(&mut self, quote: &QuotePair, place: ValuePosition) -> Option<Loose<'t>> {
        let start = self.at;
        let (content, leniencies) = self.content(quote, place)?;
        Some(Loose {
            source: self.cut(start, self.at),
            shape: LooseShape::Quoted(content),
            leniencies,
        })
    }

    /// The content of the string that opens here, and its repairs.
    pub(super) fn content(
        &mut self,
        quote: &QuotePair,
        place: ValuePosition,
    ) -> Option<(Cow<'t, str>, Leniencies)> {
        let from = self.at + quote.opener_len();
        let end = self.find_end(quote, from, place);
        let mut leniencies = end.leniencies;
        let raw = self.cut(from, end.content);
        let content = if end.escapes {
            let (content, clean) = escape::undo(raw, quote.is_json());
            leniencies = if clean { leniencies } else { leniencies.with(LeniencyKind::Escape) };
            content
        } else {
            Cow::Borrowed(raw)
        };
        if !quote.is_json() {
            leniencies = leniencies.with(LeniencyKind::Quotes);
        }
        self.at = end.whole;
        self.allowed.covers(leniencies).then_some((content, leniencies))
    }

    fn find_end(&self, quote: &QuotePair, from: usize, place: ValuePosition) -> QuotedEnd {
        let mut end =
            QuotedEnd { content: from, whole: from, leniencies: Leniencies::NONE, escapes: false };
        let mut at = from;
        let mut inner = false;
        let mut looked = 0;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'\\' if !quote.is_escaped() => {
                    end.escapes = true;
                    at += 2;
                    continue;
                }
                b'\\' if self.bytes.get(at + 1) != Some(&b'"') => {
                    end.escapes = true;
                    at += 2;
                    continue;
                }
                0..0x20 if !quote.block => {
                    if *byte == b'\n' && place == ValuePosition::Member && at >= looked {
                        looked = past_blanks(self.text, at);
                        if self.starts_member(looked) {
                            return self.unclosed(end, at);
                        }
                    }
                    end.leniencies = end.leniencies.with(LeniencyKind::Escape);
                }
                _ => {}
            }
            if quote.may_close_with(*byte)
                && let Some(behind) = quote.close_at(self.text, at)
            {
                if quote.block || self.may_end_at(behind, place, inner) {
                    return QuotedEnd { content: at, whole: behind, ..end };
                }
                if place == ValuePosition::Member && self.is_forgotten_before(at) {
                    return self.unclosed(end, at);
                }
                inner = !inner;
                end.leniencies = end.leniencies.with(LeniencyKind::Escape);
                at = behind;
                continue;
            }
            at += 1;
        }
        self.unclosed_at_end(end, from)
    }

    /// Whether a quoted key starts here at the beginning of a line, so that the string before it is
    /// unclosed.
    fn starts_member(&self, at: usize) -> bool {
        self::at(self.text, at).is_some() && self.is_key_at(at)
    }

    /// Whether the quote here opens the next key after a comma, so that this string is unclosed.
    fn is_forgotten_before(&self, at: usize) -> bool {
        let before = self.cut(0, at).trim_end_matches([' ', '\t']);
        before.ends_with(',') && self.is_key_at(at)
    }

    /// An unclosed string that ends at a position, without the comma before it.
    fn unclosed(&self, end: QuotedEnd, at: usize) -> QuotedEnd {
        let leniencies = end.leniencies.with(LeniencyKind::Unclosed);
        let text = self.cut(end.content, at).trim_end();
        let content = end.content + text.strip_suffix(',').unwrap_or(text).len();
        QuotedEnd { content, whole: content, leniencies, ..end }
    }

    /// An unclosed string that runs to the end. Brackets at its end that close all open ones end it
    /// as well.
    fn unclosed_at_end(&self, end: QuotedEnd, from: usize) -> QuotedEnd {
        let leniencies = end.leniencies.with(LeniencyKind::Unclosed);
        let text = self.cut(from, self.bytes.len());
        let mut content = text.trim_end();
        let mut open = self.open;
        while let Some(closer) = content.bytes().last().filter(|b| open.closed_by(*b) > 0) {
            *open.of(closer) -= 1;
            content = content.get(..content.len() - 1).unwrap_or_default().trim_end();
        }
        let closes_all = self.open.depth() > 0 && open.depth() == 0;
        let content = from + if closes_all { content.len() } else { text.len() };
        QuotedEnd { content, whole: content, leniencies, ..end }
    }
}
