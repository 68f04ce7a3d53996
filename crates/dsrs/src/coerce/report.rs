//! The report of a reading: one entry for every slip that was mended.

use std::sync::Arc;

use super::{LeniencyKind, Path};
use crate::value::{Map, Payload};

/// How much of what was read is kept in an entry.
const READ_LIMIT: usize = 120;

/// One slip that was mended.
#[derive(Clone, Debug, PartialEq)]
pub struct Leniency {
    /// The output field, once it is known.
    pub field: Option<Arc<str>>,
    /// Where in the field's value.
    pub path: String,
    /// What kind of slip.
    pub kind: LeniencyKind,
    /// What stood there, shortened.
    pub read: String,
    /// What it was taken for.
    pub became: Payload,
}

/// All slips that were mended, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report(Vec<Leniency>);

impl Report {
    /// Notes a slip.
    pub fn add(&mut self, path: &Path<'_>, kind: LeniencyKind, read: &str, became: &Payload) {
        let (path, read, became) = (path.to_string(), shorten(read), became.clone());
        self.push(Leniency { field: None, path, kind, read, became });
    }

    /// Notes a slip that was noted elsewhere before.
    pub fn push(&mut self, entry: Leniency) {
        self.0.push(entry);
    }

    /// The slips, in order.
    #[must_use]
    pub fn entries(&self) -> &[Leniency] {
        &self.0
    }

    /// Whether nothing had to be mended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How doubtful the whole reading is.
    #[must_use]
    pub fn penalty(&self) -> u32 {
        self.0.iter().map(|entry| entry.kind.penalty()).sum()
    }

    /// Appends another report.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Names the field of all entries that have none yet.
    pub fn name_field(&mut self, field: &Arc<str>) {
        for entry in self.0.iter_mut().filter(|entry| entry.field.is_none()) {
            entry.field = Some(field.clone());
        }
    }

    /// The report as data: `[{field, path, kind, read, became, penalty}]`.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::list(self.0.iter().map(Leniency::to_payload).collect())
    }
}

impl IntoIterator for Report {
    type Item = Leniency;
    type IntoIter = std::vec::IntoIter<Leniency>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Leniency {
    fn to_payload(&self) -> Payload {
        let field = self.field.clone().map_or(Payload::Null, Payload::Str);
        let members: [(&str, Payload); 6] = [
            ("field", field),
            ("path", self.path.as_str().into()),
            ("kind", self.kind.as_str().into()),
            ("read", self.read.as_str().into()),
            ("became", self.became.clone()),
            ("penalty", Payload::Int(self.kind.penalty().into())),
        ];
        Payload::map(
            members.into_iter().map(|(name, member)| (name.into(), member)).collect::<Map>(),
        )
    }
}

/// The beginning of a text, with a sign that it goes on.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(READ_LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
