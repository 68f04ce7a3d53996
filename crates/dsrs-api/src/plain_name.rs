//! The names that clients give to keys, workspaces, schedules and webhooks.

use dsrs::document::TextFormat;
use dsrs::problem::Code;

/// The most characters of a name.
pub const LONGEST_NAME: usize = 64;

/// The format of a [`PlainName`], for fields that are texts.
pub static PLAIN_NAME: TextFormat = TextFormat {
    code: Code::InvalidName,
    expected: PlainName::EXPECTED,
    format: None,
    pattern: Some("^[A-Za-z0-9._-]+$"),
    length: Some((1, LONGEST_NAME)),
    accepts: |text| PlainName::parse(text).is_some(),
};

/// A name: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainName(String);

impl PlainName {
    /// The grammar, for errors.
    pub const EXPECTED: &str = "1 to 64 letters, digits, `-`, `_` and `.`";

    /// Reads a name. `None` if the text does not fit the grammar.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(fits);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
