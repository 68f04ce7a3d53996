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
            return Some(Loose {
                source,
                shape: LooseShape::TooDeep,
                leniencies: Leniencies::NONE,
            });
        }
        self.at += 1;
        *self.open.of(closer) += 1;
        let mut leniencies = Leniencies::NONE;
        let shape = match closer {
            b'}' => self.object(closer, &mut leniencies),
            _ => self.list(closer, &mut leniencies),
        };
        *self.open.of(closer) -= 1;
        if closer == b')' {
            self.add_leniency(&mut leniencies, LeniencyKind::Python)?;
        }
        Some(Loose { source: self.cut(start, self.at), shape: shape?, leniencies })
    }

    fn object(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<LooseShape<'t>> {
        if self.allowed.has(LeniencyKind::Python) && self.is_set_at(self.at) {
            return self.set(closer, leniencies);
        }
        self.members(closer, leniencies)
    }

    /// Elements in braces: a Python set. Doubled braces, as in templates, count as single ones.
    fn set(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<LooseShape<'t>> {
        let doubled = self.peek() == Some(b'{');
        match self.list(closer, leniencies)? {
            LooseShape::List(mut elements) if doubled && elements.len() == 1 => {
                let inner = elements.pop()?;
                inner
                    .leniencies
                    .kinds()
                    .try_for_each(|kind| self.add_leniency(leniencies, kind))?;
                self.add_leniency(leniencies, LeniencyKind::Punctuation)?;
                Some(inner.shape)
            }
            found => {
                self.add_leniency(leniencies, LeniencyKind::Python)?;
                Some(found)
            }
        }
    }

    /// The members of an object without braces.
    pub(super) fn body(&mut self) -> Option<Loose<'t>> {
        let mut leniencies = Leniencies::NONE;
        self.open.braces += 1;
        let starts = self.is_key_at(self.at);
        let shape = if starts { self.members(b'}', &mut leniencies)? } else { return None };
        let spans = self.at == self.bytes.len();
        spans.then_some(Loose { source: self.text, shape, leniencies })
    }

    fn members(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<LooseShape<'t>> {
        let mut members = Vec::new();
        while let ContainerStep::Continue = self.step(closer, leniencies)? {
            if let Some(member) = self.member(leniencies)? {
                members.push(member);
            }
            self.separator(closer, leniencies)?;
        }
        Some(LooseShape::Map(fitted(members)))
    }

    fn list(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<LooseShape<'t>> {
        let start = self.at;
        let mut elements = Vec::new();
        while let ContainerStep::Continue = self.step(closer, leniencies)? {
            elements.push(self.value(ValuePosition::Element)?);
            if closer == b']' && elements.len() == 1 && self.is_member_after(&elements) {
                self.at = start;
                self.add_leniency(leniencies, LeniencyKind::Punctuation)?;
                return self.members(closer, leniencies);
            }
            self.separator(closer, leniencies)?;
        }
        Some(LooseShape::List(fitted(elements)))
    }

    /// Whether the first element is a key: the members are in the wrong brackets.
    fn is_member_after(&self, elements: &[Loose<'t>]) -> bool {
        matches!(elements, [Loose { shape: LooseShape::Quoted(_), .. }])
            && self.is_colon_at(past_blanks(self.text, self.at))
    }

    /// Skips the text before an element: blanks, superfluous commas, or the end.
    fn step(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<ContainerStep> {
        loop {
            self.space(leniencies)?;
            let Some(byte) = self.peek() else {
                if self.braceless && self.open.depth() == 1 {
                    return Some(ContainerStep::End);
                }
                self.add_leniency(leniencies, LeniencyKind::Unclosed)?;
                return Some(ContainerStep::End);
            };
            match byte {
                b',' | b';' => {
                    self.add_leniency(leniencies, LeniencyKind::Punctuation)?;
                    self.at += 1;
                }
                byte if byte == closer => {
                    self.at += 1;
                    if !self.continues_after(closer) {
                        return Some(ContainerStep::End);
                    }
                    self.add_leniency(leniencies, LeniencyKind::Punctuation)?;
                }
                b'}' | b']' | b')' => return self.foreign_closer(byte, leniencies),
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
    fn foreign_closer(&mut self, byte: u8, leniencies: &mut Leniencies) -> Option<ContainerStep> {
        let kind = if self.open.closed_by(byte) > 0 && !self.continues_after_root(byte) {
            LeniencyKind::Unclosed
        } else {
            self.at += 1;
            LeniencyKind::Punctuation
        };
        self.add_leniency(leniencies, kind)?;
        Some(ContainerStep::End)
    }

    /// Whether a bracket here would close the outermost container although more follows.
    fn continues_after_root(&self, byte: u8) -> bool {
        let is_root = self.open.depth() == 2 && self.open.closed_by(byte) == 1;
        let next = past_blanks(self.text, self.at + 1);
        is_root && self.bytes.get(next) == Some(&b',')
    }

    /// The comma after an element.
    fn separator(&mut self, closer: u8, leniencies: &mut Leniencies) -> Option<()> {
        self.space(leniencies)?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space(leniencies)?;
                match self.peek() {
                    // A comma after the only element makes it a tuple.
                    Some(b')') => Some(()),
                    Some(b'}' | b']') => self.add_leniency(leniencies, LeniencyKind::Punctuation),
                    _ => Some(()),
                }
            }
            Some(byte) if byte == closer => Some(()),
            None | Some(b'}' | b']' | b')' | b';') => Some(()),
            Some(_) => self.add_leniency(leniencies, LeniencyKind::Punctuation),
        }
    }

    /// A key and its value. `None` inside for a key that is cut off by the end of the text.
    fn member(&mut self, leniencies: &mut Leniencies) -> Option<Option<Member<'t>>> {
        let key = self.key(leniencies)?;
        self.space(leniencies)?;
        if self.peek().is_none() {
            return Some(None);
        }
        self.colon(leniencies)?;
        self.space(leniencies)?;
        let value = match self.peek() {
            None => self.missing(Leniencies::NONE),
            Some(b',' | b'}' | b']' | b';') => {
                self.add_leniency(leniencies, LeniencyKind::Punctuation)?;
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

    fn missing(&self, leniencies: Leniencies) -> Loose<'t> {
        Loose { source: self.cut(self.at, self.at), shape: LooseShape::Missing, leniencies }
    }

    fn key(&mut self, leniencies: &mut Leniencies) -> Option<Cow<'t, str>> {
        match quote::at(self.text, self.at) {
            Some(quote) => self.quoted_key(quote, leniencies),
            None => self.bare_key(leniencies),
        }
    }

    fn quoted_key(
        &mut self,
        quote: &quote::QuotePair,
        leniencies: &mut Leniencies,
    ) -> Option<Cow<'t, str>> {
        let start = self.at;
        let (key, found) = self.content(quote, ValuePosition::Key)?;
        let is_closed = self.is_colon_at(past_blanks(self.text, self.at))
            || self.is_key_without_colon_at(start);
        if let Some(end) = self.unclosed_key_end(start).filter(|_| !is_closed) {
            self.add_leniency(leniencies, LeniencyKind::Unclosed)?;
            self.at = end;
            return Some(Cow::Borrowed(self.cut(start + quote.opener_len(), end)));
        }
        found.kinds().try_for_each(|kind| self.add_leniency(leniencies, kind))?;
        Some(key)
    }

    fn bare_key(&mut self, leniencies: &mut Leniencies) -> Option<Cow<'t, str>> {
        self.add_leniency(leniencies, LeniencyKind::Unquoted)?;
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
            self.add_leniency(leniencies, LeniencyKind::Quotes)?;
            self.at += 1;
        }
        Some(Cow::Borrowed(key))
    }

    fn colon(&mut self, leniencies: &mut Leniencies) -> Option<()> {
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
        self.add_leniency(leniencies, LeniencyKind::Punctuation)
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
