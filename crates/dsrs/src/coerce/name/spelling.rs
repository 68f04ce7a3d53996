//! Compares spellings of names without case, accents and punctuation. Does not know the names.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A text without case and accents.
pub(in crate::coerce) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let plain = text.nfkd().filter(|c| !is_combining_mark(*c));
    plain.flat_map(char::to_lowercase).collect()
}

/// A text without case, accents, spaces and punctuation.
pub(in crate::coerce) fn letters(text: &str) -> String {
    let mut folded = folded(text);
    folded.retain(char::is_alphanumeric);
    folded
}

/// A text without case and accents, with joined words separated: `very_low` becomes `very low`.
pub(super) fn apart(text: &str) -> String {
    let folded = folded(text);
    let mut apart = String::with_capacity(folded.len());
    let mut rest = folded.chars().peekable();
    let mut joined = false;
    while let Some(c) = rest.next() {
        let joins = joined && rest.peek().is_some_and(|next| next.is_alphanumeric());
        apart.push(if matches!(c, '_' | '-') && joins { ' ' } else { c });
        joined = c.is_alphanumeric();
    }
    apart
}

/// A name in camel case with a space between its words: `VeryLow` becomes `Very Low`.
pub(super) fn split_camel_case(name: &str) -> String {
    let mut apart = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            apart.push(' ');
        }
        apart.push(c);
        before = c;
    }
    apart
}

/// The words of a text without case and accents, separated by spaces.
pub(super) fn words(text: &str) -> String {
    let folded = folded(text).replace(['\'', '’'], "");
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The beginning of a text that continues: `Low` in `Low. It is not high` and in `**Low** - not
/// high`.
pub(in crate::coerce) fn opening(text: &str) -> Option<&str> {
    let stop = text.find(['.', ',', ';', ':', '!', '?', '\n', '—']);
    let dash = [" - ", " – ", " because "].iter().filter_map(|dash| text.find(dash)).min();
    let end = stop.into_iter().chain(dash).min()?;
    let first = bare(&text[..end]);
    let more = text[end..].contains(char::is_alphanumeric);
    (more && !first.is_empty()).then_some(first)
}

/// A text without the marks around it: `**Yes**.` becomes `Yes`.
pub(in crate::coerce) fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '*' | '_' | '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '(' | ')')
            || matches!(c, '[' | ']' | '.' | ',' | ';' | ':' | '!' | '?' | '#' | '>')
    })
}
