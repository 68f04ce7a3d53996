//! Items of a list with bullets or numbers.

/// The items under bullets.
pub(in super::super) struct Bulleted<'t> {
    /// From after the bullet to the end of the item, including nested bullets and further lines.
    pub(in super::super) items: Vec<&'t str>,
    /// Whether there are lines that belong to no item.
    pub(in super::super) prose: bool,
}

/// A bullet or number at the beginning of a line.
#[derive(Clone, Copy)]
struct Marker {
    /// The indentation.
    indent: usize,
    /// The position in the line where the item starts.
    content: usize,
    ordered: bool,
}

const BULLETS: &[char] =
    &['-', '*', '+', '•', '‣', '◦', '▪', '■', '●', '○', '·', '–', '—', '→', '✓', '✔'];
/// The most digits of an item number.
const DIGITS: usize = 4;

/// Splits a text at the bullets of its outermost list. `None` if no line starts with a bullet.
pub(in super::super) fn bulleted(text: &str) -> Option<Bulleted<'_>> {
    let outer = indented_outer(text);
    let mut split = BulletSplitter { text, outer, open: None, items: Vec::new(), prose: false };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        split.line(start, line);
        start += line.len();
    }
    split.end_item(text.len());
    (!split.items.is_empty()).then_some(Bulleted { items: split.items, prose: split.prose })
}

/// The second bullet of a list whose first bullet lost its indentation when the text was cut out:
/// all lines after the first are indented, none less than this bullet.
fn indented_outer(text: &str) -> Option<Marker> {
    let first = marker(text.lines().next()?).filter(|first| first.indent == 0)?;
    let rest = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let least = rest().map(indent_of).min().filter(|least| *least > 0)?;
    let mut markers = rest().filter_map(marker);
    markers.find(|found| found.indent == least && found.ordered == first.ordered)
}

struct BulletSplitter<'t> {
    text: &'t str,
    /// The first marker, which determines the form of the others.
    outer: Option<Marker>,
    open: Option<BulletItem>,
    items: Vec<&'t str>,
    prose: bool,
}

/// An item in progress.
struct BulletItem {
    start: usize,
    /// The minimal indentation of its further lines.
    indent: usize,
    /// Whether there was a blank line; only indented lines after it belong to the item.
    broken: bool,
}

impl BulletSplitter<'_> {
    fn line(&mut self, start: usize, line: &str) {
        let found = marker(line).filter(|found| self.is_outer(found));
        if let Some(found) = found {
            self.end_item(start);
            self.outer.get_or_insert(found);
            let item = BulletItem {
                start: start + found.content,
                indent: found.indent + 1,
                broken: false,
            };
            self.open = Some(item);
        } else if line.trim().is_empty() {
            self.open.iter_mut().for_each(|item| item.broken = true);
        } else if !self.open.as_ref().is_some_and(|item| item.continues(line)) {
            self.end_item(start);
            self.prose = true;
        }
    }

    /// Whether a marker belongs to the outermost list: it has the form of the first one and is not
    /// deeper.
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

impl BulletItem {
    /// Whether a line without a bullet belongs to the item: an indented line does; another line
    /// does if it follows directly and is no heading.
    fn continues(&self, line: &str) -> bool {
        let body = line.trim();
        let heading = body.ends_with(':') || body.starts_with('#');
        indent_of(line) >= self.indent || marker(line).is_some() || (!self.broken && !heading)
    }
}

/// The length of the bullet or number at the start of a line.
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

/// The length of `1.`, `1)`, `(1)`, `a)` or `a.` at the start of a line.
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
