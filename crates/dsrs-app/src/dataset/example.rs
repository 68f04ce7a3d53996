//! Examples of datasets: parsed one by one, and identified by their content. May not know graphs: whether
//! an example fits a graph is checked when it is used.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::optimize::Example;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, map, nearest, shared_text};
use dsrs::value::{Map, Payload};
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::item_upload::ItemParser;
use crate::json::JsonObject;
use dsrs_api::dataset::{SPLIT, is_split};
use dsrs_store::dataset_edit::NewExample;
use dsrs_store::dataset_example::ExampleRow;

/// The longest id of an example.
const LONGEST_ID: usize = 200;

/// The most splits of one version.
const MOST_SPLITS: usize = 100;

/// The roles of the columns of a flat row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMapping {
    pub inputs: Vec<Arc<str>>,
    /// The columns of expected outputs. By default all others except `id` and `split`.
    pub expected: Option<Vec<Arc<str>>>,
}

impl ColumnMapping {
    /// Whether a column is mapped explicitly, so that `id` and `split` have no special meaning.
    fn maps(&self, column: &str) -> bool {
        let mut named = self.inputs.iter().chain(self.expected.iter().flatten());
        named.any(|name| name.as_ref() == column)
    }
}

/// A parsed example.
pub(crate) struct ExampleDraft {
    /// Its id, if it names one.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) split: Option<Arc<str>>,
    pub(crate) inputs: Map,
    pub(crate) expected: Map,
    pub(crate) cells: bool,
}

/// Parses examples, and builds the totals and the hash of their version.
pub(crate) struct DatasetVersionBuilder {
    columns: Option<ColumnMapping>,
    /// Columns of expected outputs that no row has had so far.
    unseen: Vec<Arc<str>>,
    /// Whether the values are texts of table cells.
    cells: bool,
    ids: HashSet<[u8; 16]>,
    digest: Sha256,
    pub(crate) totals: VersionTotals,
}

#[derive(Default)]
pub(crate) struct VersionTotals {
    pub(crate) count: usize,
    pub(crate) bytes: i64,
    /// Examples that the version has already, and that are not added again.
    pub(crate) duplicates: usize,
    pub(crate) splits: IndexMap<Arc<str>, usize>,
}

impl DatasetVersionBuilder {
    pub(crate) fn new(columns: Option<ColumnMapping>, cells: bool) -> Self {
        let (ids, digest, totals) = (HashSet::new(), Sha256::new(), VersionTotals::default());
        let unseen = columns.as_ref().and_then(|columns| columns.expected.clone());
        let unseen = unseen.unwrap_or_default();
        Self { columns, unseen, cells, ids, digest, totals }
    }

    /// The problems of all rows together: a row may lack an expected column, but not every row.
    pub(crate) fn faults(&self) -> Problems {
        let mut problems = Problems::new();
        for name in &self.unseen {
            let detail = format!("no row has `{name}`");
            problems.add(&At::Root.key("expected"), Code::InvalidValue, detail);
        }
        problems
    }

    /// The hash of the texts of all examples, one per line, in order, in lower-case hex.
    pub(crate) fn content_hash(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// The number of examples of each split.
    pub(crate) fn splits_json(&self) -> String {
        let mut object = JsonObject::new();
        for (name, count) in &self.totals.splits {
            object.shown(name, count);
        }
        object.finish()
    }

    /// Adds an example of the version before.
    pub(crate) fn add_known(&mut self, row: &ExampleRow) {
        self.ids.insert(key(&row.id));
        let line = line(&row.id, &row.inputs, &row.expected, row.split.as_deref(), row.cells);
        self.count(&line, row.split.as_deref());
    }

    /// Adds an example, and returns its row; `None` for a duplicate.
    pub(crate) fn add(
        &mut self,
        draft: ExampleDraft,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<NewExample> {
        let ExampleDraft { id: given, split, inputs, expected, cells } = draft;
        let (inputs, expected) = (Payload::map(inputs).to_json(), Payload::map(expected).to_json());
        let id = given.clone().unwrap_or_else(|| Example::id_of(&inputs, &expected));
        if !self.ids.insert(key(&id)) {
            match given {
                None => self.totals.duplicates += 1,
                Some(id) => {
                    let detail = format!("another example has the id `{id}`");
                    problems.add(&at.key("id"), Code::DuplicateName, detail);
                }
            }
            return None;
        }
        let most = MOST_SPLITS;
        let splits = &self.totals.splits;
        if split.as_ref().is_some_and(|s| splits.len() >= most && !splits.contains_key(s)) {
            let detail = format!("more than {most} splits");
            problems.add(&at.key("split"), Code::TooLarge, detail);
            return None;
        }
        let line = line(&id, &inputs, &expected, split.as_deref(), cells);
        self.count(&line, split.as_deref());
        Some(NewExample {
            id: id.to_string(),
            hash: content_key(&inputs, &expected, cells),
            split: split.map(|split| split.to_string()),
            size: i32::try_from(line.len()).unwrap_or(i32::MAX),
            inputs,
            expected,
            cells,
        })
    }

    /// Whether an example with this id is known. If it is, it counts as a duplicate.
    pub(crate) fn has_duplicate(&mut self, id: &str) -> bool {
        let is_known = self.ids.contains(&key(id));
        self.totals.duplicates += usize::from(is_known);
        is_known
    }

    fn count(&mut self, line: &str, split: Option<&str>) {
        self.digest.update(line);
        self.digest.update("\n");
        self.totals.count += 1;
        self.totals.bytes += i64::try_from(line.len()).unwrap_or(i64::MAX);
        if let Some(split) = split {
            *self.totals.splits.entry(split.into()).or_default() += 1;
        }
    }

    fn read(&self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ExampleDraft> {
        let before = problems.len();
        let draft = match &self.columns {
            Some(columns) => self.parse_row(columns, item, at, problems),
            None => parse_example(item, at, problems),
        };
        draft.filter(|_| problems.len() == before)
    }

    /// Parses a flat row by its columns.
    fn parse_row(
        &self,
        columns: &ColumnMapping,
        item: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<ExampleDraft> {
        let row = map(item, at, problems)?;
        let mut inputs = Map::with_capacity(columns.inputs.len());
        for name in &columns.inputs {
            match row.get(name) {
                Some(value) => drop(inputs.insert(name.clone(), value.clone())),
                None => {
                    let known = row.keys().map(AsRef::as_ref);
                    let hint = nearest(name, known)
                        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                    let detail = format!("the row has no `{name}`{hint}");
                    problems.add(&at.key(name), Code::MissingField, detail);
                }
            }
        }
        let own = |name: &str| matches!(name, "id" | "split") && !columns.maps(name);
        let is_expected = |name: &Arc<str>| match &columns.expected {
            Some(expected) => expected.contains(name),
            None => !columns.inputs.contains(name) && !own(name),
        };
        let expected = row.iter().filter(|(name, _)| is_expected(name));
        let expected = expected.map(|(name, value)| (name.clone(), value.clone())).collect();
        let member = |name: &str| {
            let found = row.get(name).filter(|_| own(name));
            found.filter(|value| !matches!(value, Payload::Null)).filter(|value| {
                // An empty cell is a missing value.
                !self.cells || value.as_str() != Some("")
            })
        };
        let id = member("id").and_then(|id| match id {
            Payload::Int(number) => Some(Arc::from(number.to_string())),
            other => read_id(other, &at.key("id"), problems),
        });
        let split = member("split").and_then(|split| read_split(split, &at.key("split"), problems));
        Some(ExampleDraft { id, split, inputs, expected, cells: self.cells })
    }
}

impl ItemParser for DatasetVersionBuilder {
    type Row = NewExample;

    fn parse(
        &mut self,
        item: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<NewExample> {
        if let Some(row) = item.as_map() {
            self.unseen.retain(|name| !row.contains_key(name));
        }
        let draft = self.read(item, at, problems)?;
        self.add(draft, at, problems)
    }
}

/// Parses an example with the members `inputs` and `expected`.
fn parse_example(item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ExampleDraft> {
    let mut object = Object::open(item, at, problems)?;
    let inputs =
        object.required("inputs", |payload, at, problems| map(payload, at, problems).cloned());
    let expected =
        object.optional("expected", |payload, at, problems| map(payload, at, problems).cloned());
    let id = object.optional("id", read_id);
    let split = object.optional("split", read_split);
    let cells = object.optional("cells", boolean);
    object.close();
    let expected = expected.unwrap_or_default();
    Some(ExampleDraft { id, split, inputs: inputs?, expected, cells: cells.unwrap_or(false) })
}

fn read_id(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    let id = shared_text(payload, at, problems)?;
    if id.is_empty() || id.len() > LONGEST_ID || id.chars().any(char::is_control) {
        let detail = format!("an id has 1 to {LONGEST_ID} bytes and no control characters");
        problems.add(at, Code::InvalidValue, detail);
        return None;
    }
    Some(id)
}

/// Reads the name of a split.
pub(crate) fn read_split(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<str>> {
    let split = shared_text(payload, at, problems)?;
    if !is_split(&split) {
        problems.add(at, SPLIT.code, format!("expected {}", SPLIT.expected));
        return None;
    }
    Some(split)
}

/// The text of an example, in downloads and in the hash of its version.
pub fn example_line(row: &ExampleRow) -> String {
    line(&row.id, &row.inputs, &row.expected, row.split.as_deref(), row.cells)
}

fn line(id: &str, inputs: &str, expected: &str, split: Option<&str>, cells: bool) -> String {
    let mut object = JsonObject::with_capacity(inputs.len() + expected.len() + id.len() + 80);
    object.text("id", id).raw("inputs", inputs).raw("expected", expected);
    if let Some(split) = split {
        object.text("split", split);
    }
    if cells {
        object.raw("cells", "true");
    }
    object.finish()
}

/// The hash of the content of an example.
fn content_key(inputs: &str, expected: &str, cells: bool) -> Vec<u8> {
    let mut hash = Sha256::new();
    // The lengths make the boundary between the texts unambiguous.
    for text in [inputs, expected] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update([u8::from(cells)]);
    hash.finalize().to_vec()
}

/// A short key of an id: there may be very many in memory.
fn key(id: &str) -> [u8; 16] {
    let mut key = [0; 16];
    key.copy_from_slice(&Sha256::digest(id)[..16]);
    key
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
