//! Examples as datasets keep them: read from what people write, one by one, and told apart by what
//! they say. Knows no graph: whether an example fits one is looked at when it is used.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::optimize::Example;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, map, nearest, shared_text};
use dsrs::value::{Map, Payload};
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use crate::app::item_upload::Maker;
use crate::app::json::JsonObject;
use crate::store::dataset_edit::NewExample;
use crate::store::dataset_example::ExampleRow;

/// Longest id of an example.
const LONGEST_ID: usize = 200;

/// Longest name of a split.
const LONGEST_SPLIT: usize = 64;

/// Most splits that the examples of one version name.
const MOST_SPLITS: usize = 100;

/// Which members of a flat row are what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The inputs.
    pub(crate) inputs: Vec<Arc<str>>,
    /// What is expected; all others but `id` and `split`, when it is not said.
    pub(crate) expected: Option<Vec<Arc<str>>>,
}

impl Columns {
    /// Whether a member stands for itself, though it has a name that otherwise means something.
    fn name(&self, column: &str) -> bool {
        let mut named = self.inputs.iter().chain(self.expected.iter().flatten());
        named.any(|name| name.as_ref() == column)
    }
}

/// An example that was read.
pub(crate) struct Draft {
    /// The id that it was given.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) split: Option<Arc<str>>,
    pub(crate) inputs: Map,
    pub(crate) expected: Map,
    pub(crate) cells: bool,
}

/// Reads examples, and keeps account of a version that consists of them.
pub(crate) struct Gathering {
    columns: Option<Columns>,
    /// Members that were named as expected, and that no row had so far.
    unseen: Vec<Arc<str>>,
    /// Whether rows are made of texts of cells.
    cells: bool,
    ids: HashSet<[u8; 16]>,
    digest: Sha256,
    pub(crate) account: Account,
}

/// What is known of a version once all its examples are.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) count: usize,
    pub(crate) bytes: i64,
    /// Examples that were there already, and are not there twice.
    pub(crate) duplicates: usize,
    pub(crate) splits: IndexMap<Arc<str>, usize>,
}

impl Gathering {
    pub(crate) fn new(columns: Option<Columns>, cells: bool) -> Self {
        let (ids, digest, account) = (HashSet::new(), Sha256::new(), Account::default());
        let unseen = columns.as_ref().and_then(|columns| columns.expected.clone());
        let unseen = unseen.unwrap_or_default();
        Self { columns, unseen, cells, ids, digest, account }
    }

    /// What is wrong with all rows together: a row may lack what is expected, but not every row.
    pub(crate) fn faults(&self) -> Problems {
        let mut problems = Problems::new();
        for name in &self.unseen {
            let detail = format!("no row has `{name}`");
            problems.add(&At::Root.key("expected"), Code::InvalidValue, detail);
        }
        problems
    }

    /// The hash of the examples' texts, a line each, in order, in lower-case hex.
    pub(crate) fn content_hash(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// How many examples name which split.
    pub(crate) fn splits_json(&self) -> String {
        let mut object = JsonObject::new();
        for (name, count) in &self.account.splits {
            object.shown(name, count);
        }
        object.finish()
    }

    /// Counts an example that the version has already.
    pub(crate) fn know(&mut self, row: &ExampleRow) {
        self.ids.insert(key(&row.id));
        let line = line(&row.id, &row.inputs, &row.expected, row.split.as_deref(), row.cells);
        self.count(&line, row.split.as_deref());
    }

    /// What is stored of an example; nothing, when it says what another said before.
    pub(crate) fn keep(
        &mut self,
        draft: Draft,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<NewExample> {
        let Draft { id: given, split, inputs, expected, cells } = draft;
        let (inputs, expected) = (Payload::map(inputs).to_json(), Payload::map(expected).to_json());
        let id = given.clone().unwrap_or_else(|| Example::id_of(&inputs, &expected));
        if !self.ids.insert(key(&id)) {
            match given {
                None => self.account.duplicates += 1,
                Some(id) => {
                    let detail = format!("another example has the id `{id}`");
                    problems.add(&at.key("id"), Code::DuplicateName, detail);
                }
            }
            return None;
        }
        let most = MOST_SPLITS;
        let splits = &self.account.splits;
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

    fn count(&mut self, line: &str, split: Option<&str>) {
        self.digest.update(line);
        self.digest.update("\n");
        self.account.count += 1;
        self.account.bytes += i64::try_from(line.len()).unwrap_or(i64::MAX);
        if let Some(split) = split {
            *self.account.splits.entry(split.into()).or_default() += 1;
        }
    }

    fn read(&self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Draft> {
        let before = problems.len();
        let draft = match &self.columns {
            Some(columns) => self.flat(columns, item, at, problems),
            None => written(item, at, problems),
        };
        draft.filter(|_| problems.len() == before)
    }

    /// A row, of which the columns say what is what.
    fn flat(
        &self,
        columns: &Columns,
        item: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Draft> {
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
        let own = |name: &str| matches!(name, "id" | "split") && !columns.name(name);
        let is_expected = |name: &Arc<str>| match &columns.expected {
            Some(expected) => expected.contains(name),
            None => !columns.inputs.contains(name) && !own(name),
        };
        let expected = row.iter().filter(|(name, _)| is_expected(name));
        let expected = expected.map(|(name, value)| (name.clone(), value.clone())).collect();
        let member = |name: &str| {
            let found = row.get(name).filter(|_| own(name));
            found.filter(|value| !matches!(value, Payload::Null)).filter(|value| {
                // An empty cell says nothing.
                !self.cells || value.as_str() != Some("")
            })
        };
        let id = member("id").and_then(|id| match id {
            Payload::Int(number) => Some(Arc::from(number.to_string())),
            other => read_id(other, &at.key("id"), problems),
        });
        let split = member("split").and_then(|split| read_split(split, &at.key("split"), problems));
        Some(Draft { id, split, inputs, expected, cells: self.cells })
    }
}

impl Maker for Gathering {
    type Made = NewExample;

    fn make(&mut self, item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<NewExample> {
        if let Some(row) = item.as_map() {
            self.unseen.retain(|name| !row.contains_key(name));
        }
        let draft = self.read(item, at, problems)?;
        self.keep(draft, at, problems)
    }

    fn size(made: &NewExample) -> usize {
        made.inputs.len() + made.expected.len() + made.id.len()
    }
}

/// An example with members of its own.
fn written(item: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Draft> {
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
    Some(Draft { id, split, inputs: inputs?, expected, cells: cells.unwrap_or(false) })
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
        let detail =
            format!("the name of a split is 1 to {LONGEST_SPLIT} letters, digits, `_` or `-`");
        problems.add(at, Code::InvalidName, detail);
        return None;
    }
    Some(split)
}

/// Whether a text can be the name of a split.
pub(crate) fn is_split(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=LONGEST_SPLIT).contains(&name.len()) && name.bytes().all(fits)
}

/// The text of an example, as it is read out and as its version's hash counts it.
pub(crate) fn example_line(row: &ExampleRow) -> String {
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

/// The hash of what an example says.
fn content_key(inputs: &str, expected: &str, cells: bool) -> Vec<u8> {
    let mut hash = Sha256::new();
    // With lengths before them, no two texts can pass for two others.
    for text in [inputs, expected] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update([u8::from(cells)]);
    hash.finalize().to_vec()
}

/// Stands for an id where very many are held.
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
