//! Lines that start with a bullet or a number, and what belongs to each of them.

/// The items under bullets.
pub(in super::super) struct Bulleted<'t> {
    /// From behind the bullet to the end of the item, nested bullets and further lines included.
    pub(in super::super) items: Vec<&'t str>,
    /// Whether lines that belong to no item stand around them.
    pub(in super::super) prose: bool,
}

/// A bullet or number at the beginning of a line.
#[derive(Clone, Copy)]
struct Marker {
    /// Blanks before it.
    indent: usize,
    /// The place in the line where the item starts.
    content: usize,
    ordered: bool,
}

const BULLETS: &[char] =
    &['-', '*', '+', '•', '‣', '◦', '▪', '■', '●', '○', '·', '–', '—', '→', '✓', '✔'];
/// How many digits a number before an item may have.
const DIGITS: usize = 4;

/// Splits a text at the bullets of its outermost list. `None` if no line starts with one.
pub(in super::super) fn bulleted(text: &str) -> Option<Bulleted<'_>> {
    let outer = indented_outer(text);
    let mut split = Split { text, outer, open: None, items: Vec::new(), prose: false };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        split.line(start, line);
        start += line.len();
    }
    split.end_item(text.len());
    (!split.items.is_empty()).then_some(Bulleted { items: split.items, prose: split.prose })
}

/// The second bullet of a list whose first one lost its indentation when the text was cut out of
/// another: all lines behind the first are indented, none less than that bullet.
fn indented_outer(text: &str) -> Option<Marker> {
    let first = marker(text.lines().next()?).filter(|first| first.indent == 0)?;
    let rest = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let least = rest().map(indent_of).min().filter(|least| *least > 0)?;
    let mut markers = rest().filter_map(marker);
    markers.find(|found| found.indent == least && found.ordered == first.ordered)
}

struct Split<'t> {
    text: &'t str,
    /// The first marker, which says what the others look like.
    outer: Option<Marker>,
    open: Option<Item>,
    items: Vec<&'t str>,
    prose: bool,
}

/// An item that is still being read.
struct Item {
    start: usize,
    /// How far its further lines are indented, at least.
    indent: usize,
    /// Whether a blank line was seen, behind which only indented lines belong to it.
    broken: bool,
}

impl Split<'_> {
    fn line(&mut self, start: usize, line: &str) {
        let found = marker(line).filter(|found| self.is_outer(found));
        if let Some(found) = found {
            self.end_item(start);
            self.outer.get_or_insert(found);
            let item =
                Item { start: start + found.content, indent: found.indent + 1, broken: false };
            self.open = Some(item);
        } else if line.trim().is_empty() {
            self.open.iter_mut().for_each(|item| item.broken = true);
        } else if !self.open.as_ref().is_some_and(|item| item.goes_on(line)) {
            self.end_item(start);
            self.prose = true;
        }
    }

    /// Whether a marker is of the outermost list: like its first one, and not deeper.
    fn is_outer(&self, found: &Marker) -> bool {
        self.outer
            .is_none_or(|outer| found.ordered == outer.ordered && found.indent <= outer.indent + 1)
    }

    fn end_item(&mut self, end: usize) {
        if let Some(item) = self.open.take() {
            self.items.push(self.text.get(item.start..end).unwrap_or_default().trim_end());
        }
    }
}

impl Item {
    /// Whether a line without a bullet belongs to the item: an indented one does, another one does
    /// directly behind it, unless it heads something new.
    fn goes_on(&self, line: &str) -> bool {
        let body = line.trim();
        let heading = body.ends_with(':') || body.starts_with('#');
        indent_of(line) >= self.indent || marker(line).is_some() || (!self.broken && !heading)
    }
}

/// The place in a line behind the bullet or number that it starts with.
pub(in super::super) fn marker_len(line: &str) -> Option<usize> {
    marker(line).map(|marker| marker.content)
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(u8::is_ascii_whitespace).count()
}

fn marker(line: &str) -> Option<Marker> {
    let indent = indent_of(line);
    let body = line.get(indent..)?;
    let bullet = body.chars().next().filter(|c| BULLETS.contains(c)).map(char::len_utf8);
    let (len, ordered) = match bullet {
        Some(len) => (len, false),
        None => (number_len(body)?, true),
    };
    let rest = body.get(len..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let apart = blanks > 0 || rest.trim().is_empty();
    apart.then_some(Marker { indent, content: indent + len + blanks, ordered })
}

/// The length of `1.`, `1)`, `(1)`, `a)` or `a.` at the beginning of a line.
fn number_len(body: &str) -> Option<usize> {
    let inside = body.strip_prefix('(').unwrap_or(body);
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let len = match inside.as_bytes() {
        _ if (1..=DIGITS).contains(&digits) => digits,
        [letter, b')' | b'.', ..] if letter.is_ascii_alphabetic() => 1,
        _ => return None,
    };
    let opened = inside.len() < body.len();
    match inside.as_bytes().get(len)? {
        b')' => Some(usize::from(opened) + len + 1),
        b'.' if !opened => Some(len + 1),
        _ => None,
    }
}
