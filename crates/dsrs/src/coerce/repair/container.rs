//! Objects, lists and tuples, and errors at their commas, colons and brackets.

use std::borrow::Cow;

use super::super::loose::{Loose, LooseShape};
use super::super::{Leniencies, LeniencyKind};
use super::cursor::past_blanks;
use super::{DEPTH_LIMIT, Parser, ValuePosition, quote};

type Member<'t> = (Cow<'t, str>, Loose<'t>);

/// The result of looking for the end of a container.
enum ContainerStep {
    /// No end: continue reading.
    Continue,
    End,
}

impl<'t> Parser<'t> {
    /// The container that opens here. `closer` is its closing bracket.
    pub(super) fn container(&mut self, closer: u8) -> Option<Loose<'t>> {
        let start = self.at;
        if self.open.depth() >= DEPTH_LIMIT {
            self.skip_container();
            let source = self.cut(start, self.at);
            return Some(Loose { source, shape: LooseShape::TooDeep, slips: Leniencies::NONE });
        }
        self.at += 1;
        *self.open.of(closer) += 1;
        let mut slips = Leniencies::NONE;
        let shape = match closer {
            b'}' => self.object(closer, &mut slips),
            _ => self.list(closer, &mut slips),
        };
        *self.open.of(closer) -= 1;
        if closer == b')' {
            self.slip(&mut slips, LeniencyKind::Python)?;
        }
        Some(Loose { source: self.cut(start, self.at), shape: shape?, slips })
    }

    fn object(&mut self, closer: u8, slips: &mut Leniencies) -> Option<LooseShape<'t>> {
        if self.allowed.has(LeniencyKind::Python) && self.is_set_at(self.at) {
            return self.set(closer, slips);
        }
        self.members(closer, slips)
    }

    /// Elements in braces: a Python set. Doubled braces, as in templates, count as single ones.
    fn set(&mut self, closer: u8, slips: &mut Leniencies) -> Option<LooseShape<'t>> {
        let doubled = self.peek() == Some(b'{');
        match self.list(closer, slips)? {
            LooseShape::List(mut elements) if doubled && elements.len() == 1 => {
                let inner = elements.pop()?;
                inner.slips.kinds().try_for_each(|kind| self.slip(slips, kind))?;
                self.slip(slips, LeniencyKind::Punctuation)?;
                Some(inner.shape)
            }
            found => {
                self.slip(slips, LeniencyKind::Python)?;
                Some(found)
            }
        }
    }

    /// The members of an object without braces.
    pub(super) fn body(&mut self) -> Option<Loose<'t>> {
        let mut slips = Leniencies::NONE;
        self.open.braces += 1;
        let starts = self.is_key_at(self.at);
        let shape = if starts { self.members(b'}', &mut slips)? } else { return None };
        let spans = self.at == self.bytes.len();
        spans.then_some(Loose { source: self.text, shape, slips })
    }

    fn members(&mut self, closer: u8, slips: &mut Leniencies) -> Option<LooseShape<'t>> {
        let mut members = Vec::new();
        while let ContainerStep::Continue = self.step(closer, slips)? {
            if let Some(member) = self.member(slips)? {
                members.push(member);
            }
            self.separator(closer, slips)?;
        }
        Some(LooseShape::Map(fitted(members)))
    }

    fn list(&mut self, closer: u8, slips: &mut Leniencies) -> Option<LooseShape<'t>> {
        let start = self.at;
        let mut elements = Vec::new();
        while let ContainerStep::Continue = self.step(closer, slips)? {
            elements.push(self.value(ValuePosition::Element)?);
            if closer == b']' && elements.len() == 1 && self.is_member_after(&elements) {
                self.at = start;
                self.slip(slips, LeniencyKind::Punctuation)?;
                return self.members(closer, slips);
            }
            self.separator(closer, slips)?;
        }
        Some(LooseShape::List(fitted(elements)))
    }

    /// Whether the first element is a key: the members are in the wrong brackets.
    fn is_member_after(&self, elements: &[Loose<'t>]) -> bool {
        matches!(elements, [Loose { shape: LooseShape::Quoted(_), .. }])
            && self.is_colon_at(past_blanks(self.text, self.at))
    }

    /// Skips the text before an element: blanks, superfluous commas, or the end.
    fn step(&mut self, closer: u8, slips: &mut Leniencies) -> Option<ContainerStep> {
        loop {
            self.space(slips)?;
            let Some(byte) = self.peek() else {
                if self.braceless && self.open.depth() == 1 {
                    return Some(ContainerStep::End);
                }
                self.slip(slips, LeniencyKind::Unclosed)?;
                return Some(ContainerStep::End);
            };
            match byte {
                b',' | b';' => {
                    self.slip(slips, LeniencyKind::Punctuation)?;
                    self.at += 1;
                }
                byte if byte == closer => {
                    self.at += 1;
                    if !self.continues_after(closer) {
                        return Some(ContainerStep::End);
                    }
                    self.slip(slips, LeniencyKind::Punctuation)?;
                }
                b'}' | b']' | b')' => return self.foreign_closer(byte, slips),
                _ => return Some(ContainerStep::Continue),
            }
        }
    }

    /// Whether the outermost object continues after the bracket that seemed to close it.
    fn continues_after(&self, closer: u8) -> bool {
        let is_root = closer == b'}' && self.open.depth() == 1;
        let next = past_blanks(self.text, self.at);
        is_root
            && self.bytes.get(next) == Some(&b',')
            && self.is_key_at(past_blanks(self.text, next + 1))
    }

    /// A closing bracket of another kind: it closes an outer container and leaves this one
    /// unclosed, or it is a typo.
    fn foreign_closer(&mut self, byte: u8, slips: &mut Leniencies) -> Option<ContainerStep> {
        let kind = if self.open.closed_by(byte) > 0 && !self.continues_after_root(byte) {
            LeniencyKind::Unclosed
        } else {
            self.at += 1;
            LeniencyKind::Punctuation
        };
        self.slip(slips, kind)?;
        Some(ContainerStep::End)
    }

    /// Whether a bracket here would close the outermost container although more follows.
    fn continues_after_root(&self, byte: u8) -> bool {
        let is_root = self.open.depth() == 2 && self.open.closed_by(byte) == 1;
        let next = past_blanks(self.text, self.at + 1);
        is_root && self.bytes.get(next) == Some(&b',')
    }

    /// The comma after an element.
    fn separator(&mut self, closer: u8, slips: &mut Leniencies) -> Option<()> {
        self.space(slips)?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space(slips)?;
                match self.peek() {
                    // A comma after the only element makes it a tuple.
                    Some(b')') => Some(()),
                    Some(b'}' | b']') => self.slip(slips, LeniencyKind::Punctuation),
                    _ => Some(()),
                }
            }
            Some(byte) if byte == closer => Some(()),
            None | Some(b'}' | b']' | b')' | b';') => Some(()),
            Some(_) => self.slip(slips, LeniencyKind::Punctuation),
        }
    }

    /// A key and its value. `None` inside for a key that is cut off by the end of the text.
    fn member(&mut self, slips: &mut Leniencies) -> Option<Option<Member<'t>>> {
        let key = self.key(slips)?;
        self.space(slips)?;
        if self.peek().is_none() {
            return Some(None);
        }
        self.colon(slips)?;
        self.space(slips)?;
        let value = match self.peek() {
            None => self.missing(Leniencies::NONE),
            Some(b',' | b'}' | b']' | b';') => {
                self.slip(slips, LeniencyKind::Punctuation)?;
                self.missing(Leniencies::NONE)
            }
            Some(_) => self.value_of(&key)?,
        };
        Some(Some((key, value)))
    }

    fn value_of(&mut self, key: &str) -> Option<Loose<'t>> {
        let is_number = key.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        let outer = std::mem::replace(&mut self.number_keys, is_number);
        let value = self.value(ValuePosition::Member);
        self.number_keys = outer;
        value
    }

    fn missing(&self, slips: Leniencies) -> Loose<'t> {
        Loose { source: self.cut(self.at, self.at), shape: LooseShape::Missing, slips }
    }

    fn key(&mut self, slips: &mut Leniencies) -> Option<Cow<'t, str>> {
        match quote::at(self.text, self.at) {
            Some(quote) => self.quoted_key(quote, slips),
            None => self.bare_key(slips),
        }
    }

    fn quoted_key(
        &mut self,
        quote: &quote::QuotePair,
        slips: &mut Leniencies,
    ) -> Option<Cow<'t, str>> {
        let start = self.at;
        let (key, found) = self.content(quote, ValuePosition::Key)?;
        let is_closed = self.is_colon_at(past_blanks(self.text, self.at))
            || self.is_key_without_colon_at(start);
        if let Some(end) = self.unclosed_key_end(start).filter(|_| !is_closed) {
            self.slip(slips, LeniencyKind::Unclosed)?;
            self.at = end;
            return Some(Cow::Borrowed(self.cut(start + quote.opener_len(), end)));
        }
        found.kinds().try_for_each(|kind| self.slip(slips, kind))?;
        Some(key)
    }

    fn bare_key(&mut self, slips: &mut Leniencies) -> Option<Cow<'t, str>> {
        self.slip(slips, LeniencyKind::Unquoted)?;
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let is_end =
            |b: &u8| matches!(b, b':' | b'=' | b',' | b'}' | b']' | b'{' | b'[' | b'\n' | b'"');
        let is_tuple = matches!(self.peek(), Some(b'(' | b'[')) && self.is_key_at(start);
        let end = self.pair_end(start).filter(|_| is_tuple);
        let end = end.or_else(|| rest.iter().position(is_end).map(|len| start + len));
        self.at = end.unwrap_or(self.bytes.len());
        let key = self.cut(start, self.at).trim_end();
        if self.is_stray_quote_at(self.at) {
            self.slip(slips, LeniencyKind::Quotes)?;
            self.at += 1;
        }
        Some(Cow::Borrowed(key))
    }

    fn colon(&mut self, slips: &mut Leniencies) -> Option<()> {
        let len = match self.bytes.get(self.at..).unwrap_or_default() {
            [b':', b'=', ..] | [b'=', b'>', ..] => 2,
            [b':', ..] => {
                self.at += 1;
                return Some(());
            }
            [b'=', ..] => 1,
            _ => 0,
        };
        self.at += len;
        self.slip(slips, LeniencyKind::Punctuation)
    }

    /// Skips a container below the depth limit.
    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if quoted => self.at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' | b'(' if !quoted => depth += 1,
                b'}' | b']' | b')' if !quoted => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        self.at = self.at.min(self.bytes.len());
    }
}

/// Frees spare capacity for a single part: nested brackets are cheap to write.
fn fitted<T>(mut parts: Vec<T>) -> Vec<T> {
    if parts.len() == 1 {
        parts.shrink_to_fit();
    }
    parts
}
