//! One numeral in a text: digits, separators, exponent or fraction. Decides which separators group
//! digits and which one is the decimal separator. Does not know the text around it.

use super::NumberError;
use super::digit::{ascii_digit, vulgar_fraction};

/// A numeral without its sign.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numeral {
    /// All ASCII digits, before and after the decimal separator.
    pub(super) digits: String,
    /// The number of decimals after applying the exponent.
    pub(super) decimals: i64,
    /// A fraction to add: numerator and denominator.
    pub(super) fraction: Option<(f64, f64)>,
    /// Whether it is in JSON spelling.
    pub(super) plain: bool,
    /// Its length in bytes.
    pub(super) length: usize,
}

/// A separator between two groups of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeparatorMark {
    Point,
    Comma,
    /// Only a decimal separator.
    Decimal,
    /// Never a decimal separator: a space, an apostrophe, an underscore.
    Grouping,
}

fn mark(c: char) -> Option<SeparatorMark> {
    Some(match c {
        '.' | '．' => SeparatorMark::Point,
        ',' | '，' => SeparatorMark::Comma,
        '٫' => SeparatorMark::Decimal,
        ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '\'' | '’' | '_' | '٬' => {
            SeparatorMark::Grouping
        }
        _ => return None,
    })
}

/// Whether a numeral begins here.
pub(super) fn starts(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        Some('.') => chars.next().is_some_and(|next| ascii_digit(next).is_some()),
        Some(c) => ascii_digit(c).is_some() || vulgar_fraction(c).is_some(),
        None => false,
    }
}

/// Reads the numeral at the beginning of a text for which [`starts`] is true.
pub(super) fn read(text: &str) -> Result<Numeral, NumberError> {
    let mut groups = Groups::read(text);
    let point = groups.decimal_mark()?;
    let decimals: usize = point.map_or(0, |at| groups.lengths[at + 1..].iter().sum());
    let mut length = groups.length;
    let mut decimals = decimals as i64;
    let mut plain = groups.is_plain(point);
    let mut fraction = None;
    if let Some((exponent, taken)) = exponent(&text[length..]) {
        decimals -= exponent;
        length += taken;
        plain &= text.is_ascii();
    } else if point.is_none()
        && let Some((parts, taken)) = fraction_after(&text[length..], &mut groups.digits)
    {
        fraction = Some(parts);
        length += taken;
        plain = false;
    }
    Ok(Numeral { digits: groups.digits, decimals, fraction, plain, length })
}

/// Groups of digits and the separators between them.
struct Groups {
    digits: String,
    lengths: Vec<usize>,
    marks: Vec<SeparatorMark>,
    ascii: bool,
    length: usize,
}

impl Groups {
    fn read(text: &str) -> Self {
        let mut groups = Self {
            digits: String::new(),
            lengths: Vec::new(),
            marks: Vec::new(),
            ascii: true,
            length: 0,
        };
        groups.take_run(text);
        while let Some(mark) = groups.next_mark(&text[groups.length..]) {
            groups.length += text[groups.length..].chars().next().map_or(0, char::len_utf8);
            groups.marks.push(mark);
            groups.take_run(text);
        }
        groups
    }

    fn take_run(&mut self, text: &str) {
        let before = self.digits.len();
        for c in text[self.length..].chars() {
            let Some(digit) = ascii_digit(c) else { break };
            self.ascii &= c.is_ascii();
            self.digits.push(digit);
            self.length += c.len_utf8();
        }
        self.lengths.push(self.digits.len() - before);
    }

    /// The next separator, if digits of the same numeral follow it.
    fn next_mark(&self, rest: &str) -> Option<SeparatorMark> {
        let mut chars = rest.chars();
        let mark = mark(chars.next()?)?;
        let run = chars.map_while(ascii_digit).take(4).count();
        let continues = match mark {
            SeparatorMark::Grouping => {
                run == 3 && self.lengths.last().is_some_and(|last| *last <= 3)
            }
            _ => run > 0,
        };
        continues.then_some(mark)
    }

    /// The index of the decimal separator. All others group digits.
    fn decimal_mark(&self) -> Result<Option<usize>, NumberError> {
        let Some(last) = self.marks.len().checked_sub(1) else { return Ok(None) };
        let count = |wanted| self.marks.iter().filter(|mark| **mark == wanted).count();
        let kind = self.marks[last];
        let decimal = match (kind, count(SeparatorMark::Point), count(SeparatorMark::Comma)) {
            (SeparatorMark::Decimal, ..) => true,
            (SeparatorMark::Point, 1, _) => true,
            (SeparatorMark::Comma, 0, 1) => self.marks.len() > 1 || !self.groups_by_comma(),
            (SeparatorMark::Comma, _, 1) => true,
            _ => false,
        };
        let (grouping, point) =
            if decimal { (&self.marks[..last], Some(last)) } else { (&self.marks[..], None) };
        if self.groups_well(grouping) { Ok(point) } else { Err(NumberError::Several) }
    }

    /// Whether a single comma groups digits: three digits follow it, and the digits before it can
    /// be a group.
    fn groups_by_comma(&self) -> bool {
        let first_may = (1..=3).contains(&self.lengths[0]) && !self.digits.starts_with('0');
        self.lengths[1] == 3 && first_may
    }

    /// Whether separators of one kind divide the digits into groups of three or, as in India, of
    /// two before the last three.
    fn groups_well(&self, marks: &[SeparatorMark]) -> bool {
        let (Some(kind), Some((first, rest))) =
            (marks.first(), self.lengths[..=marks.len()].split_first())
        else {
            return true;
        };
        let Some((end, middle)) = rest.split_last() else { return true };
        let threes = (1..=3).contains(first) && middle.iter().all(|length| *length == 3);
        let twos = *kind == SeparatorMark::Comma
            && (1..=2).contains(first)
            && middle.iter().all(|length| *length == 2);
        marks.iter().all(|mark| mark == kind) && *end == 3 && (threes || twos)
    }

    fn is_plain(&self, point: Option<usize>) -> bool {
        let marks = match point {
            None => self.marks.is_empty(),
            Some(at) => at == 0 && self.marks[0] == SeparatorMark::Point,
        };
        let zeros = self.lengths[0] == 0 || (self.lengths[0] > 1 && self.digits.starts_with('0'));
        self.ascii && marks && !zeros
    }
}

/// An exponent and its length.
fn exponent(text: &str) -> Option<(i64, usize)> {
    let behind = text.strip_prefix(['e', 'E'])?;
    let unsigned = behind.strip_prefix(['+', '-', '−']).unwrap_or(behind);
    let digits = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let power: i64 = unsigned.get(..digits)?.parse().ok()?;
    let continues = unsigned[digits..].starts_with(|c: char| c.is_alphanumeric());
    let negative = behind.starts_with(['-', '−']);
    let power = if negative { -power } else { power };
    (!continues && power.abs() < 10_000).then_some((power, text.len() - unsigned.len() + digits))
}

/// A fraction after a whole number, and its length. If the number itself is the numerator, its
/// digits are removed.
fn fraction_after(text: &str, digits: &mut String) -> Option<((f64, f64), usize)> {
    if let Some((denominator, taken)) = over(text) {
        let numerator = digits.parse().ok()?;
        digits.clear();
        return Some(((numerator, denominator), taken));
    }
    let behind = text.trim_start_matches([' ', '\u{a0}']);
    let gap = text.len() - behind.len();
    let first = behind.chars().next()?;
    if let Some(parts) = vulgar_fraction(first) {
        return Some((parts, gap + first.len_utf8()));
    }
    let (numerator, length) = whole(behind).filter(|_| gap > 0 && !digits.is_empty())?;
    let (denominator, taken) = over(&behind[length..])?;
    (numerator < denominator).then_some(((numerator, denominator), gap + length + taken))
}

/// A slash and a denominator, unless they are part of a date.
fn over(text: &str) -> Option<(f64, usize)> {
    let behind = text.strip_prefix(['/', '⁄'])?;
    let (denominator, length) = whole(behind)?;
    let rest = &behind[length..];
    let mut next = rest.chars();
    let mark = next.next().is_some_and(|c| matches!(c, '/' | '⁄') || mark(c).is_some());
    let continues = mark && next.next().is_some_and(|c| ascii_digit(c).is_some());
    (!continues).then_some((denominator, text.len() - rest.len()))
}

fn whole(text: &str) -> Option<(f64, usize)> {
    let length = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((text[..length].parse().ok()?, length))
}
