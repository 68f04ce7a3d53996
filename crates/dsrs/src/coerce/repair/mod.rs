//! Parses text into `Loose`: JSON, and text that is meant as JSON. One parser reads both. A text
//! without repairs is valid JSON and borrows everything. Every repair must be allowed. Does not
//! know types.

mod ahead;
mod bare;
mod container;
mod cursor;
mod escape;
mod quote;
#[cfg(test)]
mod tests;

use super::loose::{Loose, LooseShape};
use super::{Leniencies, LeniencyKind};
pub(super) use cursor::is_blank;

/// How deep containers may nest.
pub(super) const DEPTH_LIMIT: usize = 120;

/// The position of a value, which determines where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    /// The whole text.
    Root,
    /// The key of an object.
    Key,
    /// The value of a member.
    Member,
    /// An element of a list.
    Element,
}

/// The whole text as one piece of data. A text that does not start like an object, list or quoted
/// string is `Bare`; so is one whose opening quotes do not enclose all of it. `None` for an empty
/// text, for an object or list followed by other text, and for a repair that is not allowed.
pub(super) fn parse(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(is_blank);
    let mut parser = Parser::new(text, allowed);
    match text.as_bytes().first()? {
        // Valid JSON may contain texts that look malformed.
        b'{' | b'[' => Parser::new(text, Leniencies::NONE).whole().or_else(|| parser.whole()),
        b'(' | b'/' | b'#' => parser.whole_container().or(Some(bare::plain(text))),
        _ => Some(parser.lone().unwrap_or_else(|| bare::plain(text))),
    }
}

/// At least two consecutive objects or lists, separated only by blanks and commas, as a `List`.
pub(super) fn parse_sequence(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(is_blank);
    Parser::new(text, allowed).sequence()
}

/// Members of an object without braces, as a `Map`.
pub(super) fn parse_members(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let mut parser = Parser::new(text.trim_matches(is_blank), allowed);
    parser.braceless = true;
    parser.body()
}

/// A trimmed text as it is.
pub(super) fn as_bare_text(text: &str) -> Loose<'_> {
    bare::plain(text.trim_matches(is_blank))
}

/// The state of one pass over a text.
struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    allowed: Leniencies,
    /// The number of open containers of each kind.
    open: OpenBrackets,
    /// The outermost object has no braces and ends with the text.
    braceless: bool,
    /// The keys of the innermost object are numbers.
    number_keys: bool,
}

/// Counts of open containers.
#[derive(Clone, Copy, Default)]
struct OpenBrackets {
    braces: usize,
    brackets: usize,
    parens: usize,
}

impl OpenBrackets {
    const fn depth(self) -> usize {
        self.braces + self.brackets + self.parens
    }

    /// How many open containers this byte would close.
    const fn closed_by(self, byte: u8) -> usize {
        match byte {
            b'}' => self.braces,
            b']' => self.brackets,
            b')' => self.parens,
            _ => 0,
        }
    }

    const fn of(&mut self, closer: u8) -> &mut usize {
        match closer {
            b'}' => &mut self.braces,
            b']' => &mut self.brackets,
            _ => &mut self.parens,
        }
    }
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, allowed: Leniencies) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            allowed,
            open: OpenBrackets::default(),
            braceless: false,
            number_keys: false,
        }
    }

    /// A container that spans the whole text.
    fn whole(&mut self) -> Option<Loose<'t>> {
        let mut found = self.value(ValuePosition::Root)?;
        self.end(&mut found)?;
        (self.at == self.bytes.len()).then_some(found)
    }

    /// A container that spans the whole text except for comments before it.
    fn whole_container(&mut self) -> Option<Loose<'t>> {
        let mut leniencies = Leniencies::NONE;
        self.space(&mut leniencies)?;
        self.starts_container().then_some(())?;
        let mut found = self.whole()?;
        found.leniencies = found.leniencies.and(leniencies);
        Some(found)
    }

    fn sequence(&mut self) -> Option<Loose<'t>> {
        let mut leniencies = Leniencies::NONE;
        let mut elements = Vec::new();
        while self.at < self.bytes.len() {
            self.starts_container().then_some(())?;
            elements.push(self.value(ValuePosition::Root)?);
            self.space(&mut leniencies)?;
            self.at += usize::from(self.peek() == Some(b','));
            self.space(&mut leniencies)?;
        }
        self.add_leniency(&mut leniencies, LeniencyKind::Punctuation)?;
        let list = Loose { source: self.text, shape: LooseShape::List(elements), leniencies };
        matches!(&list.shape, LooseShape::List(elements) if elements.len() > 1).then_some(list)
    }

    fn starts_container(&self) -> bool {
        matches!(self.peek(), Some(b'{' | b'[' | b'('))
    }

    /// A quoted string that spans the whole text.
    fn lone(&mut self) -> Option<Loose<'t>> {
        let quote = quote::at(self.text, 0).filter(|quote| !quote.is_fence())?;
        let found = self.quoted(quote, ValuePosition::Root)?;
        let spans = self.at == self.bytes.len() && !found.leniencies.has(LeniencyKind::Unclosed);
        spans.then_some(found)
    }

    fn value(&mut self, place: ValuePosition) -> Option<Loose<'t>> {
        match self.peek() {
            Some(b'{') => self.container(b'}'),
            Some(b'[') => self.container(b']'),
            Some(b'(') => self.container(b')'),
            Some(b'r' | b'b' | b'f' | b'u') if self.is_prefix() => {
                self.at += 1;
                let mut found = self.unprefixed(place)?;
                self.add_leniency(&mut found.leniencies, LeniencyKind::Python)?;
                Some(found)
            }
            _ => self.unprefixed(place),
        }
    }

    fn unprefixed(&mut self, place: ValuePosition) -> Option<Loose<'t>> {
        match quote::at(self.text, self.at) {
            Some(quote) => self.quoted(quote, place),
            None => self.bare(place),
        }
    }

    /// Whether the letter here is a Python string prefix: `r"…"`.
    fn is_prefix(&self) -> bool {
        matches!(self.bytes.get(self.at + 1), Some(b'"' | b'\''))
    }

    /// Adds a repair. `None` if it is not allowed.
    fn add_leniency(&self, leniencies: &mut Leniencies, kind: LeniencyKind) -> Option<()> {
        *leniencies = leniencies.with(kind);
        self.allowed.has(kind).then_some(())
    }

    /// Skips what follows the outermost container: a superfluous bracket, a semicolon.
    fn end(&mut self, found: &mut Loose<'t>) -> Option<()> {
        self.space(&mut found.leniencies)?;
        while let Some(b'}' | b']' | b',' | b';') = self.peek() {
            self.add_leniency(&mut found.leniencies, LeniencyKind::Punctuation)?;
            self.at += 1;
            self.space(&mut found.leniencies)?;
        }
        Some(())
    }
}
