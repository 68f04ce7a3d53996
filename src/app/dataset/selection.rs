//! Selections of examples: a reference in a request, the version and part that it resolves to, and its
//! examples page by page. May not know metrics or jobs.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::optimize::{RawExample, Split, unmatched_expectations};
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, shared_text, text};
use dsrs::value::Payload;
use indexmap::IndexSet;
use uuid::Uuid;

use crate::app::dataset::example::read_split;
use crate::app::item_upload::MOST_PROBLEMS;
use crate::app::json::JsonObject;
use crate::app::task::run_blocking;
use crate::app::{App, AppError, Invalid};
use crate::store::Scope;
use crate::store::dataset;
use crate::store::dataset_example::{self, ExampleRow, PageLimits};
use crate::store::graph::{GraphRef, VersionSelection};

/// The keys of one page.
const KEYS: i64 = 10_000;

/// The size of a page in a check.
const CHECK_PAGE: PageLimits = PageLimits { count: 1000, bytes: 8 << 20 };

/// A dataset, or a part of it, as a request names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DatasetRef {
    /// The dataset's name.
    pub(crate) name: Arc<str>,
    /// The version; the newest if not named.
    pub(crate) version: Option<i32>,
    /// The part of it.
    pub(crate) part: DatasetPart,
}

/// A part of the examples of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DatasetPart {
    /// The split; all if not named.
    pub(crate) split: Option<Arc<str>>,
    /// The splits of examples that name none.
    pub(crate) by_seed: Option<Split>,
    /// The number of examples from the start.
    pub(crate) limit: Option<usize>,
}

impl DatasetPart {
    /// Whether an example with this id and split belongs to it.
    pub(crate) fn has(&self, id: &str, split: Option<&str>) -> bool {
        let Some(wanted) = self.split.as_deref() else { return true };
        let falls = split.or_else(|| self.by_seed.as_ref().map(|by_seed| by_seed.part(id)));
        falls == Some(wanted)
    }
}

impl DatasetRef {
    /// Reads a name, or `{dataset, version?, split?, seed?, fractions?, limit?}`.
    pub(crate) fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        if let Payload::Str(name) = payload {
            return Some(Self { name: name.clone(), version: None, part: DatasetPart::default() });
        }
        let before = problems.len();
        let mut object = Object::open(payload, at, problems)?;
        let name = object.required("dataset", shared_text);
        let (version, part) = read_part(&mut object);
        object.close();
        let found = Self { name: name?, version, part };
        (problems.len() == before).then_some(found)
    }
}

/// Reads the members for the version and the part.
pub(crate) fn read_part(object: &mut Object<'_, '_, '_>) -> (Option<i32>, DatasetPart) {
    let version = object.optional("version", positive);
    let split = object.optional("split", read_split);
    let seed = object.optional("seed", count);
    let by_seed = object.optional("fractions", |payload, at, problems| {
        Split::read(seed.unwrap_or(0), payload, at, problems)
    });
    let limit = object.optional("limit", positive);
    let at = object.at();
    if seed.is_some() && !object.has("fractions") {
        let detail = "a seed splits by `fractions`, which are missing";
        object.problems().add(&at.key("fractions"), Code::MissingField, detail);
    }
    if let (Some(split), Some(by_seed)) = (&split, &by_seed)
        && !by_seed.parts().any(|(name, _)| name == split.as_ref())
    {
        let detail = format!("`{split}` is none of `fractions`");
        object.problems().add(&at.key("split"), Code::InvalidValue, detail);
    }
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    (version, DatasetPart { split, by_seed, limit })
}

fn positive(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = i32::try_from(count(payload, at, problems)?).ok().filter(|number| *number > 0);
    if found.is_none() {
        problems.add(at, Code::InvalidValue, "expected a whole number of 1 or more");
    }
    found
}

/// A resolved reference: examples that never change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DatasetPick {
    /// The dataset's id.
    pub(crate) id: Uuid,
    /// Its name when the reference was resolved.
    pub(crate) name: Arc<str>,
    /// The version.
    pub(crate) version: i32,
    /// The content hash of the version.
    pub(crate) content_hash: Arc<str>,
    /// The part of it.
    pub(crate) part: DatasetPart,
    /// The number of examples.
    pub(crate) count: usize,
    /// The position of the last example; -1 if there is none.
    pub(crate) last: i32,
}

impl DatasetPick {
    /// The selection as JSON text, for jobs and for answers.
    pub(crate) fn to_json(&self) -> String {
        let mut object = JsonObject::new();
        object.shown_text("id", self.id).text("dataset", &self.name);
        object.shown("version", self.version).text("content_hash", &self.content_hash);
        object.text_or_null("split", self.part.split.as_deref());
        object.shown_or_null("seed", self.part.by_seed.as_ref().map(Split::seed));
        let fractions = self.part.by_seed.as_ref().map(|by_seed| {
            let mut fractions = JsonObject::new();
            for (name, fraction) in by_seed.parts() {
                fractions.raw(name, &Payload::Float(fraction).to_json());
            }
            fractions.finish()
        });
        object.raw_or_null("fractions", fractions.as_deref());
        object.shown_or_null("limit", self.part.limit);
        object.shown("count", self.count).shown("last", self.last);
        object.finish()
    }

    /// Reads the text of [`DatasetPick::to_json`].
    pub(crate) fn read(json: &str) -> Option<Self> {
        let payload = Payload::from_json(json).ok()?;
        let mut problems = Problems::new();
        let mut object = Object::open(&payload, &At::Root, &mut problems)?;
        let (id, content_hash) =
            (object.required("id", shared_text), object.required("content_hash", shared_text));
        let count = object.required("count", count);
        let last = object.raw("last");
        let named = payload.as_map()?.iter();
        let reference = named
            .filter(|(name, _)| !matches!(name.as_ref(), "id" | "content_hash" | "count" | "last"));
        let reference = Payload::map(reference.map(|(n, v)| (n.clone(), v.clone())).collect());
        let DatasetRef { name, version, part } =
            DatasetRef::read(&reference, &At::Root, &mut Problems::new())?;
        let Some(Payload::Int(last)) = last else { return None };
        Some(Self {
            id: Uuid::try_parse(&id?).ok()?,
            name,
            version: version?,
            content_hash: content_hash?,
            part,
            count: usize::try_from(count?).ok()?,
            last: i32::try_from(*last).ok()?,
        })
    }

    /// Whether this example belongs to it.
    fn has(&self, row: &ExampleRow) -> bool {
        row.position <= self.last && self.part.has(&row.id, row.split.as_deref())
    }
}

/// Consecutive examples of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExamplePage {
    /// The examples.
    pub(crate) rows: Vec<ExampleRow>,
    /// The position after which the next page begins; `None` on the last page.
    pub(crate) next: Option<i32>,
}

/// The request to check a dataset against a graph.
#[derive(Debug)]
pub(crate) struct DatasetCheck {
    /// The graph.
    pub(crate) graph: GraphRef,
    /// The version of the graph; the newest if not named.
    pub(crate) graph_version: Option<i32>,
    /// The version of the dataset; the newest if not named.
    pub(crate) version: Option<i32>,
    /// The part of it.
    pub(crate) part: DatasetPart,
}

impl DatasetCheck {
    /// Reads `{graph, graph_version?}` and the members for version and part.
    pub(crate) fn read(object: &mut Object<'_, '_, '_>) -> Option<Self> {
        let graph = object.required("graph", text).map(GraphRef::parse);
        let graph_version = object.optional("graph_version", positive);
        let (version, part) = read_part(object);
        Some(Self { graph: graph?, graph_version, version, part })
    }
}

/// The result of a check in which all examples fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatasetFit {
    /// Names of expected values that are no outputs of the graph.
    pub(crate) beside: IndexSet<Arc<str>>,
}

impl App {
    /// Checks a part of a dataset against a graph. Stores nothing.
    pub(crate) async fn dataset_check(
        self: &Arc<Self>,
        scope: &Scope,
        name: &str,
        check: DatasetCheck,
    ) -> Result<(DatasetPick, DatasetFit), AppError> {
        let wanted = DatasetRef { name: Arc::from(name), version: check.version, part: check.part };
        let pick = self.dataset_pick(scope, &wanted, &At::Root).await?;
        let graph = VersionSelection { version: check.graph_version, state_version: None };
        let (_, program) = self.ready(scope, &check.graph, graph).await?;
        let fitting = self.dataset_fits(scope, &pick, &program).await?;
        Ok((pick, fitting))
    }

    /// Resolves a reference. A part without examples is a problem at `at`.
    pub(crate) async fn dataset_pick(
        &self,
        scope: &Scope,
        wanted: &DatasetRef,
        at: &At<'_>,
    ) -> Result<DatasetPick, AppError> {
        let row = dataset::get(scope, &self.db, &wanted.name, wanted.version).await?;
        let version = (row.id, row.version.version);
        let part = wanted.part.clone();
        let most = part.limit.unwrap_or(usize::MAX);
        let (mut count, mut last, mut after) = (0, -1, -1);
        'keys: loop {
            let keys = dataset_example::keys(scope, &self.db, version, after, KEYS).await?;
            let Some(end) = keys.last() else { break };
            after = end.position;
            for key in keys.iter().filter(|key| part.has(&key.id, key.split.as_deref())) {
                if count == most {
                    break 'keys;
                }
                (count, last) = (count + 1, key.position);
            }
        }
        if count == 0 {
            return Err(nothing(wanted, &row.version.splits, at));
        }
        let content_hash = Arc::from(row.version.content_hash);
        let (name, version) = (Arc::from(row.name), row.version.version);
        Ok(DatasetPick { id: row.id, name, version, content_hash, part, count, last })
    }

    /// The examples of a selection on one page of the version, after a position (-1 for the first page).
    /// There may be none on a page.
    pub(crate) async fn dataset_page(
        &self,
        scope: &Scope,
        pick: &DatasetPick,
        after: i32,
        limits: PageLimits,
    ) -> Result<ExamplePage, AppError> {
        // The database filters by the name of a split.
        let part = &pick.part;
        let split = part.split.as_deref().filter(|_| part.by_seed.is_none());
        let version = (pick.id, pick.version);
        let mut rows =
            dataset_example::page(scope, &self.db, version, split, after, limits).await?;
        let next = rows.last().map(|row| row.position).filter(|end| *end < pick.last);
        rows.retain(|row| pick.has(row));
        Ok(ExamplePage { rows, next })
    }

    /// Checks that all examples of a selection fit a graph.
    ///
    /// # Errors
    /// At most 100 problems, each at `/examples/{position}/…`.
    pub(crate) async fn dataset_fits(
        &self,
        scope: &Scope,
        pick: &DatasetPick,
        program: &Arc<Program>,
    ) -> Result<DatasetFit, AppError> {
        let (mut fitting, mut problems, mut after) = (DatasetFit::default(), Problems::new(), -1);
        loop {
            let page = self.dataset_page(scope, pick, after, CHECK_PAGE).await?;
            let program = program.clone();
            let check = run_blocking(move || {
                check_examples(&program, &page.rows, &mut fitting, &mut problems);
                (fitting, problems, page.next)
            });
            let broken = || AppError::Internal("the check of examples panicked".to_owned());
            let next;
            (fitting, problems, next) = check.await.ok_or_else(broken)?;
            match next {
                Some(next) if problems.len() < MOST_PROBLEMS => after = next,
                _ if problems.is_empty() => return Ok(fitting),
                _ => return Err(AppError::invalid(Invalid::Input, problems)),
            }
        }
    }
}

/// Checks examples until there are enough problems.
fn check_examples(
    program: &Program,
    rows: &[ExampleRow],
    fitting: &mut DatasetFit,
    problems: &mut Problems,
) {
    let examples = At::Root.key("examples");
    for row in rows {
        let position = usize::try_from(row.position).unwrap_or_default();
        if let Some(example) = fit(program, row, &examples.index(position), problems) {
            fitting.beside.extend(unmatched_expectations(program, &example).cloned());
        }
        if problems.len() >= MOST_PROBLEMS {
            let detail = format!("examples from number {} on were not checked", position + 1);
            problems.add(&examples, Code::TooLarge, detail);
            return;
        }
    }
}

/// Converts an example to the types of a graph. Reports problems under `at`.
pub(crate) fn fit(
    program: &Program,
    row: &ExampleRow,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<dsrs::optimize::Example> {
    let read = |text: &str, problems: &mut Problems| {
        let read = Payload::from_json(text);
        read.map_err(|error| problems.add(at, Code::InvalidValue, error.to_string())).ok()
    };
    let (inputs, expected) = (read(&row.inputs, problems)?, read(&row.expected, problems)?);
    let id = Arc::from(row.id.as_str());
    let written = RawExample { id: &id, inputs: &inputs, expected: &expected, cells: row.cells };
    written.fit(program, at, problems)
}

fn nothing(wanted: &DatasetRef, splits: &str, at: &At<'_>) -> AppError {
    let DatasetRef { name, part, .. } = wanted;
    let detail = match &part.split {
        Some(split) => format!(
            "`{name}` has no examples of the split `{split}`; its examples name {splits}; \
             `fractions` split by seed those that name none"
        ),
        None => format!("`{name}` has no examples"),
    };
    let mut problems = Problems::new();
    problems.add(at, Code::InvalidValue, detail);
    AppError::invalid(Invalid::Request, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DatasetRef, String> {
        let payload = Payload::from_json(text).unwrap();
        let mut problems = Problems::new();
        let found = DatasetRef::read(&payload, &At::Root.key("trainset"), &mut problems);
        found.ok_or(problems.to_string())
    }

    #[test]
    fn a_reference_is_a_name_or_an_object() {
        let plain = read("\"qa\"").unwrap();
        assert_eq!(plain, read(r#"{"dataset": "qa"}"#).unwrap());
        assert_eq!((plain.version, plain.part), (None, DatasetPart::default()));
        let text = r#"{"dataset": "qa", "version": 3, "split": "val", "seed": 5,
            "fractions": {"train": 0.5, "val": 0.5}, "limit": 9}"#;
        let found = read(text).unwrap();
        assert_eq!((found.version, found.part.limit), (Some(3), Some(9)));
        assert_eq!(found.part.by_seed, Split::of(5, [("train", 0.5), ("val", 0.5)]).ok());
        let refused = read(r#"{"version": 0, "seed": -1, "fractions": {"a": 2}, "odd": 1}"#);
        let refused = refused.unwrap_err();
        for part in [
            "/trainset/dataset: ",
            "/trainset/version: ",
            "/trainset/seed: ",
            "/trainset/fractions: `a` must be more than 0",
            "/trainset/odd: ",
        ] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
    }

    #[test]
    fn the_split_of_an_example_wins_over_the_seed() {
        let by_seed = Split::of(0, [("train", 0.5), ("val", 0.5)]).ok();
        let part = |by_seed: &Option<Split>| DatasetPart {
            split: Some("val".into()),
            by_seed: by_seed.clone(),
            limit: None,
        };
        let ids: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let count = |part: DatasetPart, split: Option<&str>| {
            ids.iter().filter(|id| part.has(id, split)).count()
        };
        assert_eq!(count(part(&by_seed), Some("val")), 100);
        assert_eq!(count(part(&by_seed), Some("other")), 0);
        assert!((30..70).contains(&count(part(&by_seed), None)));
        assert_eq!((count(part(&None), None), count(part(&None), Some("val"))), (0, 100));
    }

    #[test]
    fn a_selection_reads_back_as_written() {
        let by_seed = Split::of(7, [("train", 0.1), ("val", 0.9)]).ok();
        for by_seed in [None, by_seed] {
            let pick = DatasetPick {
                id: Uuid::from_u128(7),
                name: "qa".into(),
                version: 3,
                content_hash: "abc".into(),
                part: DatasetPart { split: Some("val".into()), by_seed, limit: Some(4) },
                count: 4,
                last: 17,
            };
            assert_eq!(DatasetPick::read(&pick.to_json()), Some(pick));
        }
    }
}
