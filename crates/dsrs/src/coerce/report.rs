//! The report of a reading: one entry for every slip that was mended. It tells the first slips of a
//! kind one by one and counts the rest, so that it stays small whatever was read.

use std::collections::HashMap;
use std::sync::Arc;

use super::brief::{brief, shorten};
use super::{LeniencyKind, Path};
use crate::value::{Map, Payload};

/// How many slips of a kind are told one by one, of each part of a value.
const TOLD: usize = 100;

/// How many bytes of paths and texts are told before every kind is only counted.
const ROOM: usize = 1 << 20;

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
    /// How many slips it stands for: its own, and all that follow of its kind, where there are too
    /// many to tell each.
    pub times: usize,
}

/// All slips that were mended, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    entries: Vec<Leniency>,
    told: HashMap<Kin, Told>,
    room_taken: usize,
}

/// Slips that are counted together: of one kind, in one part of a value.
pub(super) type Kin = (LeniencyKind, Option<usize>);

/// How many slips were told one by one, and where the last of them stands.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    count: usize,
    last: usize,
}

impl Report {
    /// Notes a slip.
    pub fn add(&mut self, path: &Path<'_>, kind: LeniencyKind, read: &str, became: &Payload) {
        self.tell((kind, None), || Leniency::new(path.to_string(), kind, read, became));
    }

    /// Notes a slip; only one that is told by itself is made an entry.
    pub(super) fn tell(&mut self, kin: Kin, entry: impl FnOnce() -> Leniency) {
        let told = self.told.entry(kin).or_insert(Told { count: 0, last: 0 });
        let limit = if self.room_taken < ROOM { TOLD } else { 1 };
        if told.count >= limit
            && let Some(last) = self.entries.get_mut(told.last)
        {
            last.times += 1;
            return;
        }
        *told = Told { count: told.count + 1, last: self.entries.len() };
        let entry = entry();
        self.room_taken += entry.path.len() + entry.read.len();
        self.entries.push(entry);
    }

    /// Takes over an entry of another report.
    pub fn push(&mut self, entry: Leniency) {
        self.entries.push(entry);
    }

    /// The slips, in order.
    #[must_use]
    pub fn entries(&self) -> &[Leniency] {
        &self.entries
    }

    /// Whether nothing had to be mended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How doubtful the whole reading is.
    #[must_use]
    pub fn penalty(&self) -> usize {
        self.entries.iter().map(Leniency::penalty).sum()
    }

    /// Appends another report.
    pub fn append(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
    }

    /// Names the field of all entries that have none yet.
    pub fn name_field(&mut self, field: &Arc<str>) {
        for entry in self.entries.iter_mut().filter(|entry| entry.field.is_none()) {
            entry.field = Some(field.clone());
        }
    }

    /// The report as data: `[{field, path, kind, read, became, penalty}]`, and `times` where an
    /// entry stands for more than one slip. A long value is told by its beginning.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::list(self.entries.iter().map(Leniency::to_payload).collect())
    }
}

impl IntoIterator for Report {
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

    /// How doubtful it makes a reading.
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
