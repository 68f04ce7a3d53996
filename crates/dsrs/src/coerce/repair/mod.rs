//! Text to `Loose`: JSON, and what is meant as JSON. One parser reads both; a text without slips is
//! valid JSON and borrows everything. Every slip is asked of the set of allowed ones before it is
//! mended. Knows nothing of types.

mod ahead;
mod bare;
mod container;
mod cursor;
mod escape;
mod quote;
#[cfg(test)]
mod tests;

use super::loose::{Loose, Shape};
use super::{Leniencies, LeniencyKind};
pub(super) use cursor::is_blank;

/// How many containers may stand in each other.
pub(super) const DEPTH_LIMIT: usize = 120;

/// What stands around a value, which decides where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The whole text.
    Root,
    /// The key of an object.
    Key,
    /// The value of a member.
    Member,
    /// An element of a list.
    Element,
}

/// The whole text as one piece of data. A text that does not start as an object, list or quoted
/// text is `Bare` as it stands, and so is one that starts with quotes which do not span all of it.
/// `None` for an empty text, for an object or list that other text follows, and for one that needs
/// a leniency that is not allowed.
pub(super) fn parse(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(is_blank);
    let mut parser = Parser::new(text, allowed);
    match text.as_bytes().first()? {
        // Valid JSON may hold texts that look like damage.
        b'{' | b'[' => Parser::new(text, Leniencies::NONE).whole().or_else(|| parser.whole()),
        b'(' | b'/' | b'#' => parser.whole_container().or(Some(bare::plain(text))),
        _ => Some(parser.lone().unwrap_or_else(|| bare::plain(text))),
    }
}

/// Objects or lists one behind the other, at least two, with nothing but blanks and commas between
/// them, as a `List`.
pub(super) fn parse_sequence(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(is_blank);
    Parser::new(text, allowed).sequence()
}

/// Members of an object that stand without braces, as a `Map`.
pub(super) fn parse_members(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let mut parser = Parser::new(text.trim_matches(is_blank), allowed);
    parser.braceless = true;
    parser.body()
}

/// A text that is taken as it stands, trimmed.
pub(super) fn as_it_stands(text: &str) -> Loose<'_> {
    bare::plain(text.trim_matches(is_blank))
}

/// The state of one pass over a text.
struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    allowed: Leniencies,
    /// How many containers of each kind are open.
    open: Open,
    /// The outermost object has no braces, and ends with the text.
    braceless: bool,
}

/// Counts of open containers.
#[derive(Clone, Copy, Default)]
struct Open {
    braces: usize,
    brackets: usize,
    parens: usize,
}

impl Open {
    const fn depth(self) -> usize {
        self.braces + self.brackets + self.parens
    }

    /// How many containers are open that this byte would close.
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
            open: Open::default(),
            braceless: false,
        }
    }

    /// A container that spans the text.
    fn whole(&mut self) -> Option<Loose<'t>> {
        let mut found = self.value(Place::Root)?;
        self.end(&mut found)?;
        (self.at == self.bytes.len()).then_some(found)
    }

    /// A container that spans the text but for comments before it.
    fn whole_container(&mut self) -> Option<Loose<'t>> {
        let mut slips = Leniencies::NONE;
        self.space(&mut slips)?;
        self.starts_container().then_some(())?;
        let mut found = self.whole()?;
        found.slips = found.slips.and(slips);
        Some(found)
    }

    fn sequence(&mut self) -> Option<Loose<'t>> {
        let mut slips = Leniencies::NONE;
        let mut elements = Vec::new();
        while self.at < self.bytes.len() {
            self.starts_container().then_some(())?;
            elements.push(self.value(Place::Root)?);
            self.space(&mut slips)?;
            self.at += usize::from(self.peek() == Some(b','));
            self.space(&mut slips)?;
        }
        self.slip(&mut slips, LeniencyKind::Punctuation)?;
        let list = Loose { source: self.text, shape: Shape::List(elements), slips };
        matches!(&list.shape, Shape::List(elements) if elements.len() > 1).then_some(list)
    }

    fn starts_container(&self) -> bool {
        matches!(self.peek(), Some(b'{' | b'[' | b'('))
    }

    /// A quoted text that spans the text.
    fn lone(&mut self) -> Option<Loose<'t>> {
        let quote = quote::at(self.text, 0).filter(|quote| !quote.is_fence())?;
        let found = self.quoted(quote, Place::Root)?;
        let spans = self.at == self.bytes.len() && !found.slips.has(LeniencyKind::Unclosed);
        spans.then_some(found)
    }

    fn value(&mut self, place: Place) -> Option<Loose<'t>> {
        match self.peek() {
            Some(b'{') => self.container(b'}'),
            Some(b'[') => self.container(b']'),
            Some(b'(') => self.container(b')'),
            Some(b'r' | b'b' | b'f' | b'u') if self.is_prefix() => {
                self.at += 1;
                let mut found = self.unprefixed(place)?;
                self.slip(&mut found.slips, LeniencyKind::Python)?;
                Some(found)
            }
            _ => self.unprefixed(place),
        }
    }

    fn unprefixed(&mut self, place: Place) -> Option<Loose<'t>> {
        match quote::at(self.text, self.at) {
            Some(quote) => self.quoted(quote, place),
            None => self.bare(place),
        }
    }

    /// Whether the letter here is that of one of Python's texts: `r"…"`.
    fn is_prefix(&self) -> bool {
        matches!(self.bytes.get(self.at + 1), Some(b'"' | b'\''))
    }

    /// Notes a slip; `None` if it is not allowed.
    fn slip(&self, slips: &mut Leniencies, kind: LeniencyKind) -> Option<()> {
        *slips = slips.with(kind);
        self.allowed.has(kind).then_some(())
    }

    /// Leftovers behind the outermost container: a bracket too many, a semicolon.
    fn end(&mut self, found: &mut Loose<'t>) -> Option<()> {
        self.space(&mut found.slips)?;
        while let Some(b'}' | b']' | b',' | b';') = self.peek() {
            self.slip(&mut found.slips, LeniencyKind::Punctuation)?;
            self.at += 1;
            self.space(&mut found.slips)?;
        }
        Some(())
    }
}
