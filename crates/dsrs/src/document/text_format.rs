//! Formats of texts: what a text has to be, for readers, schemas and people. Knows no document.

use crate::problem::Code;
use crate::value::Payload;

/// A format of texts.
#[derive(Debug)]
pub struct TextFormat {
    /// The code of the problem of a text that has another format.
    pub code: Code,
    /// The format in words, after "expected".
    pub expected: &'static str,
    /// The keyword `format` of JSON Schema.
    pub format: Option<&'static str>,
    /// A pattern of JSON Schema that every text of the format matches.
    pub pattern: Option<&'static str>,
    /// The least and the most characters.
    pub length: Option<(usize, usize)>,
    /// Whether a text has the format.
    pub accepts: fn(&str) -> bool,
}

impl PartialEq for TextFormat {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl TextFormat {
    /// The keywords of the format in a JSON Schema.
    pub(super) fn keywords(&self) -> Vec<(&'static str, Payload)> {
        let mut keywords = self.length.map_or_else(Vec::new, |(least, most)| bounds(least, most));
        let named = [("format", self.format), ("pattern", self.pattern)];
        keywords.extend(named.into_iter().filter_map(|(name, text)| Some((name, text?.into()))));
        keywords
    }
}

/// The keywords of a length.
pub(super) fn bounds(least: usize, most: usize) -> Vec<(&'static str, Payload)> {
    let mut keywords = vec![("maxLength", count(most))];
    if least > 0 {
        keywords.push(("minLength", count(least)));
    }
    keywords
}

/// A count as data.
pub(super) fn count(number: usize) -> Payload {
    Payload::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
