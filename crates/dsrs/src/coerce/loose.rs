//! Data as written: the structure, and leaves in their original spelling. The type decides what a
//! leaf means, so `02139` can be a text and `1.10` a number. Borrows from the answer; does not know
//! types.

use std::borrow::Cow;

use super::Leniencies;

/// A piece of data as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loose<'t> {
    /// The source text, including quotes or brackets.
    pub(crate) source: &'t str,
    /// Its structure.
    pub(crate) shape: LooseShape<'t>,
    /// The repairs of this piece, without those of its parts.
    pub(crate) leniencies: Leniencies,
}

/// The structure of a piece of data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LooseShape<'t> {
    /// A quoted string, without escapes.
    Quoted(Cow<'t, str>),
    /// A number, word or phrase without quotes, trimmed: `12.50`, `true`, `NaN`, `high`.
    Bare(&'t str),
    /// Elements in order.
    List(Vec<Loose<'t>>),
    /// Members in order, including repeated keys. A repair of a key belongs to the object.
    Map(Vec<(Cow<'t, str>, Loose<'t>)>),
    /// A missing value: cut off or omitted.
    Missing,
    /// A container below the depth limit, not read.
    TooDeep,
}

#[cfg(test)]
impl Loose<'_> {
    /// The tree on one line, for tests: strings in quotes, bare values as they are, `?` for missing
    /// values, and `!kind` for each repair.
    pub(super) fn shown(&self) -> String {
        let each = |parts: Vec<String>| parts.join(", ");
        let shape = match &self.shape {
            LooseShape::Quoted(text) => format!("{text:?}"),
            LooseShape::Bare(text) => (*text).to_owned(),
            LooseShape::List(elements) => {
                format!("[{}]", each(elements.iter().map(Loose::shown).collect()))
            }
            LooseShape::Map(members) => {
                let member =
                    |(key, value): &(Cow<'_, str>, Loose<'_>)| format!("{key}: {}", value.shown());
                format!("{{{}}}", each(members.iter().map(member).collect()))
            }
            LooseShape::Missing => "?".to_owned(),
            LooseShape::TooDeep => "too deep".to_owned(),
        };
        let leniencies = self.leniencies.kinds().map(|kind| format!("!{}", kind.as_str()));
        leniencies.fold(shape, |shown, leniency| shown + &leniency)
    }
}
