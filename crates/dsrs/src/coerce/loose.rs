//! Data as it was written: the structure that was seen, and leaves in the spelling they have. What
//! a leaf means is decided by the type that it is fitted to, so `02139` can still be a text and
//! `1.10` a number. Borrows from the answer; knows nothing of types.

use std::borrow::Cow;

use super::Leniencies;

/// One piece of data as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loose<'t> {
    /// The text it was read from, its quotes or brackets included.
    pub(crate) source: &'t str,
    /// What it is.
    pub(crate) shape: Shape<'t>,
    /// What had to be mended to read this very piece, not those inside it.
    pub(crate) slips: Leniencies,
}

/// What a piece of data is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape<'t> {
    /// A text in quotes, escapes undone.
    Quoted(Cow<'t, str>),
    /// A number, word or phrase without quotes, as spelled, trimmed: `12.50`, `true`, `NaN`, `high`.
    Bare(&'t str),
    /// Elements in order.
    List(Vec<Loose<'t>>),
    /// Members in order, repeated keys included. An unquoted key is a slip of the object.
    Map(Vec<(Cow<'t, str>, Loose<'t>)>),
    /// Nothing stood where a value is due: cut off, or forgotten.
    Missing,
    /// A container below the depth limit; what is in it was not read.
    TooDeep,
}

#[cfg(test)]
impl Loose<'_> {
    /// The tree in a line, for tests: texts in quotes, bare values as they stand, `?` for what is
    /// missing, and behind each node its slips as `!kind`.
    pub(super) fn shown(&self) -> String {
        let each = |parts: Vec<String>| parts.join(", ");
        let shape = match &self.shape {
            Shape::Quoted(text) => format!("{text:?}"),
            Shape::Bare(text) => (*text).to_owned(),
            Shape::List(elements) => {
                format!("[{}]", each(elements.iter().map(Loose::shown).collect()))
            }
            Shape::Map(members) => {
                let member =
                    |(key, value): &(Cow<'_, str>, Loose<'_>)| format!("{key}: {}", value.shown());
                format!("{{{}}}", each(members.iter().map(member).collect()))
            }
            Shape::Missing => "?".to_owned(),
            Shape::TooDeep => "too deep".to_owned(),
        };
        let slips = self.slips.kinds().map(|kind| format!("!{}", kind.as_str()));
        slips.fold(shape, |shown, slip| shown + &slip)
    }
}
