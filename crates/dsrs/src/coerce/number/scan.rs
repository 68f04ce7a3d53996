//! The only numeral of a text, and the text around it: sign, currency, unit, prose. Text that would
//! change the meaning is an error.

use super::NumberError;
use super::numeral::{self, Numeral};
use crate::coerce::{Leniencies, LeniencyKind};

/// Words and letters after a number that multiply it.
const MAGNITUDES: &[&str] = &[
    "k",
    "m",
    "b",
    "bn",
    "bln",
    "mn",
    "mln",
    "mio",
    "mrd",
    "tn",
    "hundred",
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "dozen",
    "lakh",
    "crore",
    "tausend",
    "millionen",
    "milliarde",
    "milliarden",
    "mille",
    "milliard",
    "millón",
    "millone",
    "mil",
];

const CURRENCIES: &[char] =
    &['$', '€', '£', '¥', '₹', '₽', '₩', '₪', '₫', '₴', '₦', '₱', '฿', '₺', '₿', '¢', '￥', '＄'];

/// A numeral with its sign and the leniencies needed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScannedNumber {
    pub(super) negative: bool,
    pub(super) numeral: Numeral,
    pub(super) used: Leniencies,
}

/// Finds the only numeral of a text.
pub(super) fn scan(text: &str) -> Result<ScannedNumber, NumberError> {
    let start = next_start(text, 0).ok_or_else(|| without_digits(text))?;
    let numeral = numeral::read(&text[start..])?;
    let end = start + numeral.length;
    in_a_word(text, start, end)?;
    if let Some(other) = next_start(text, end) {
        let word = text[..other].chars().next_back().is_some_and(is_letter);
        return Err(if word { NumberError::InWord } else { NumberError::Several });
    }
    let head = TextBefore::read(&text[..start])?;
    let tail = TextBehind::read(&text[end..], head.unit)?;
    let mut used = Leniencies::NONE;
    let unit = head.unit || tail.unit;
    let prose = head.prose || tail.prose;
    let number = !numeral.plain || head.odd_sign || (tail.point && !prose);
    for (is, kind) in [
        (number && numeral.fraction.is_none(), LeniencyKind::Number),
        (numeral.fraction.is_some(), LeniencyKind::Fraction),
        (unit, LeniencyKind::Unit),
        (prose, LeniencyKind::Prose),
    ] {
        used = if is { used.with(kind) } else { used };
    }
    Ok(ScannedNumber { negative: head.negative, numeral, used })
}

fn next_start(text: &str, from: usize) -> Option<usize> {
    let mut here = text[from..].char_indices().map(|(index, _)| from + index);
    here.find(|index| {
        let abbreviated = text[*index..].starts_with('.')
            && text[..*index].chars().next_back().is_some_and(is_letter);
        numeral::starts(&text[*index..]) && !abbreviated
    })
}

/// Why a text without digits is no number.
fn without_digits(text: &str) -> NumberError {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '∞').to_lowercase();
    match word.as_str() {
        "nan" => NumberError::NotANumber,
        "inf" | "infinity" | "∞" => NumberError::Infinite,
        _ => NumberError::None,
    }
}

/// Rejects digits that are part of a word: `GPT-4`, `v2`, `0x1F`.
fn in_a_word(text: &str, start: usize, end: usize) -> Result<(), NumberError> {
    let mut before = text[..start].chars().rev();
    let joined = match before.next() {
        Some('-' | '_') => before.next().is_some_and(is_letter),
        Some(c) => is_letter(c) || c == '_',
        None => false,
    };
    let word = text[end..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mixed = word.starts_with(is_letter) && next_start(word, 0).is_some();
    if joined || mixed { Err(NumberError::InWord) } else { Ok(()) }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic()
}

/// The text before a numeral.
#[derive(Default)]
struct TextBefore {
    negative: bool,
    odd_sign: bool,
    unit: bool,
    prose: bool,
}

impl TextBefore {
    fn read(text: &str) -> Result<Self, NumberError> {
        let mut head = Self::default();
        let mut rest = head.take_sign(text);
        if let Some(before) = rest.trim_end().strip_suffix(CURRENCIES) {
            head.unit = true;
            rest = if rest.len() == text.len() { head.take_sign(before) } else { before };
        }
        let rest = rest.trim();
        let word = rest.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        if matches!(word.as_str(), "minus" | "negative" | "plus") {
            return Err(NumberError::SignInWords);
        }
        if matches!(rest, "-" | "−" | "–" | "+") {
            return Err(NumberError::SignApart);
        }
        if is_currency_code(rest) {
            head.unit = true;
        } else {
            head.prose = !rest.is_empty();
        }
        Ok(head)
    }

    /// Removes a sign at the end, unless it joins two words or numbers.
    fn take_sign<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(sign) = text.chars().next_back() else { return text };
        let before = &text[..text.len() - sign.len_utf8()];
        let joins = before.ends_with(|c: char| c.is_alphanumeric());
        let (negative, odd) = match sign {
            '-' => (true, false),
            '−' | '–' | '﹣' | '－' => (true, true),
            '+' | '＋' => (false, true),
            _ => return text,
        };
        if joins {
            return text;
        }
        self.negative = negative;
        self.odd_sign = odd;
        before
    }
}

fn is_currency_code(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The text after a numeral.
#[derive(Default)]
struct TextBehind {
    point: bool,
    unit: bool,
    prose: bool,
}

impl TextBehind {
    /// Reads the text after an amount of money or another number.
    fn read(text: &str, money: bool) -> Result<Self, NumberError> {
        let rest = text.trim();
        if rest == "." {
            return Ok(Self { point: true, ..Self::default() });
        }
        if matches!(rest, "-" | "−" | "–") {
            return Err(NumberError::SignApart);
        }
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let word = word.trim_end_matches(is_stop);
        let rest_of = rest.get(word.len()..).unwrap_or_default();
        if multiplies(word, money) {
            return Err(NumberError::Magnitude);
        }
        let sign = word.starts_with(['%', '‰', '٪', '％']) || word.starts_with(CURRENCIES);
        let measure = !word.is_empty() && word.chars().count() <= 16 && word.chars().all(in_unit);
        let alone = rest_of.trim_matches(is_stop).is_empty();
        let unit = sign || (measure && alone);
        Ok(Self { point: false, unit, prose: !(rest.is_empty() || unit && alone) })
    }
}

const fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | ',' | ';')
}

fn in_unit(c: char) -> bool {
    c.is_alphanumeric()
        || CURRENCIES.contains(&c)
        || matches!(c, '%' | '‰' | '٪' | '％' | '°' | '/' | '·' | '^' | '\'' | '"' | '′' | '″')
}

fn multiplies(word: &str, money: bool) -> bool {
    // A single small `m` is metres, except for money.
    if word.is_empty() || (word == "m" && !money) {
        return false;
    }
    let word = word.to_lowercase();
    MAGNITUDES.iter().any(|known| *known == word || Some(*known) == word.strip_suffix('s'))
}
