//! Selections of examples: the version and part that a reference resolves to, its examples page by
//! page, and the check that they fit a graph. May not know metrics or jobs.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::optimize::{RawExample, Split, unmatched_expectations};
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, shared_text, text};
use dsrs::value::Payload;
use indexmap::IndexSet;
use uuid::Uuid;

use crate::dataset::reference::{DatasetPart, DatasetRef, positive, read_part};
use crate::item_upload::MOST_PROBLEMS;
use crate::json::JsonObject;
use crate::{App, AppError, Invalid, compute_blocking};
use dsrs_store::Scope;
use dsrs_store::dataset;
use dsrs_store::dataset_example::{self, ExampleRow, PageLimits};
use dsrs_store::graph::{GraphRef, VersionSelection};

/// The keys of one page.
const KEYS: i64 = 10_000;

/// The size of a page in a check.
const CHECK_PAGE: PageLimits = PageLimits { count: 1000, bytes: 8 << 20 };

/// A resolved reference: examples that never change.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetPick {
    /// The dataset's id.
    pub id: Uuid,
    /// Its name when the reference was resolved.
    pub name: Arc<str>,
    pub version: i32,
    /// The content hash of the version.
    pub content_hash: Arc<str>,
    pub part: DatasetPart,
    /// The number of examples.
    pub count: usize,
    /// The position of the last example; -1 if there is none.
    pub last: i32,
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

    /// Reads the text of `to_json`.
    pub fn read(json: &str) -> Option<Self> {
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
    pub(crate) rows: Vec<ExampleRow>,
    /// The position after which the next page begins; `None` on the last page.
    pub(crate) next: Option<i32>,
}

/// The request to check a dataset against a graph.
#[derive(Debug)]
pub struct DatasetCheck {
    pub graph: GraphRef,
    /// The version of the graph; the newest if not named.
    pub graph_version: Option<i32>,
    /// The version of the dataset; the newest if not named.
    pub version: Option<i32>,
    pub part: DatasetPart,
}

impl DatasetCheck {
    /// Reads `{graph, graph_version?}` and the members for version and part.
    pub fn read(object: &mut Object<'_, '_, '_>) -> Option<Self> {
        let graph = object.required("graph", text).map(GraphRef::parse);
        let graph_version = object.optional("graph_version", positive);
        let (version, part) = read_part(object);
        Some(Self { graph: graph?, graph_version, version, part })
    }
}

/// The result of a check in which all examples fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetFit {
    /// Names of expected values that are no outputs of the graph.
    pub beside: IndexSet<Arc<str>>,
}

impl App {
    /// Checks a part of a dataset against a graph. Stores nothing.
    pub async fn dataset_check(
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
    pub async fn dataset_pick(
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
            let check = compute_blocking(self.limits.run_timeout, move || {
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
            problems.add_last(&examples, Code::TooLarge, detail);
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
