//! The report of a read: an entry for every leniency. It lists the first ones of each kind and
//! counts the rest, so that it stays small.

use std::collections::HashMap;
use std::sync::Arc;

use super::{LeniencyKind, Path};
use super::{brief, shorten};
use crate::value::{Map, Payload};

/// How many leniencies of a kind are listed for each part of a value.
const ENTRY_LIMIT: usize = 100;

/// How many bytes of paths and texts are listed before all leniencies are only counted.
const TEXT_ROOM: usize = 1 << 20;

/// A deviation that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Leniency {
    /// The output field, once it is known.
    pub field: Option<Arc<str>>,
    /// The place in the field's value.
    pub path: String,
    /// The kind of leniency.
    pub kind: LeniencyKind,
    /// The original text, shortened.
    pub read: String,
    /// The value it became.
    pub became: Payload,
    /// How many deviations the entry counts: its own and all that follow of its kind, if there are
    /// too many to list.
    pub times: usize,
}

/// All leniencies used, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParseReport {
    entries: Vec<Leniency>,
    groups: HashMap<EntryGroup, GroupState>,
    room_taken: usize,
}

/// Leniencies that are counted together: of one kind, in one part of a value.
pub(super) type EntryGroup = (LeniencyKind, Option<usize>);

/// How many entries a group has, and the index of the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GroupState {
    count: usize,
    last: usize,
}

impl ParseReport {
    /// Adds a leniency.
    pub fn add(&mut self, path: &Path<'_>, kind: LeniencyKind, read: &str, became: &Payload) {
        self.add_to_group((kind, None), || Leniency::new(path.to_string(), kind, read, became));
    }

    /// Adds a leniency; creates an entry only if it is listed.
    pub(super) fn add_to_group(&mut self, group: EntryGroup, entry: impl FnOnce() -> Leniency) {
        let state = self.groups.entry(group).or_insert(GroupState { count: 0, last: 0 });
        let limit = if self.room_taken < TEXT_ROOM { ENTRY_LIMIT } else { 1 };
        if state.count >= limit
            && let Some(last) = self.entries.get_mut(state.last)
        {
            last.times += 1;
            return;
        }
        *state = GroupState { count: state.count + 1, last: self.entries.len() };
        let entry = entry();
        self.room_taken += entry.path.len() + entry.read.len();
        self.entries.push(entry);
    }

    /// Adds an entry of another report.
    pub fn push(&mut self, entry: Leniency) {
        self.entries.push(entry);
    }

    /// The entries, in order.
    #[must_use]
    pub fn entries(&self) -> &[Leniency] {
        &self.entries
    }

    /// Whether there are no leniencies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The sum of the penalties.
    #[must_use]
    pub fn penalty(&self) -> usize {
        self.entries.iter().map(Leniency::penalty).sum()
    }

    /// Appends another report.
    pub fn append(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
    }

    /// Sets the field of all entries without one.
    pub fn name_field(&mut self, field: &Arc<str>) {
        for entry in self.entries.iter_mut().filter(|entry| entry.field.is_none()) {
            entry.field = Some(field.clone());
        }
    }

    /// The report as data: `[{field, path, kind, read, became, penalty}]`, and `times` if an entry
    /// counts more than one deviation. Long values are shortened.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::list(self.entries.iter().map(Leniency::to_payload).collect())
    }
}

impl IntoIterator for ParseReport {
    type Item = Leniency;
    type IntoIter = std::vec::IntoIter<Leniency>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl Leniency {
    pub(super) fn new(path: String, kind: LeniencyKind, read: &str, became: &Payload) -> Self {
        Self { field: None, path, kind, read: shorten(read), became: became.clone(), times: 1 }
    }

    /// The penalty of the deviations that it counts.
    #[must_use]
    pub const fn penalty(&self) -> usize {
        self.kind.penalty() as usize * self.times
    }

    fn to_payload(&self) -> Payload {
        let field = self.field.clone().map_or(Payload::Null, Payload::Str);
        let members: [(&str, Payload); 6] = [
            ("field", field),
            ("path", self.path.as_str().into()),
            ("kind", self.kind.as_str().into()),
            ("read", self.read.as_str().into()),
            ("became", brief(&self.became)),
            ("penalty", count(self.penalty())),
        ];
        let times = (self.times > 1).then(|| ("times", count(self.times)));
        let members = members.into_iter().chain(times);
        Payload::map(members.map(|(name, member)| (name.into(), member)).collect::<Map>())
    }
}

fn count(of: usize) -> Payload {
    Payload::Int(i64::try_from(of).unwrap_or(i64::MAX))
}
