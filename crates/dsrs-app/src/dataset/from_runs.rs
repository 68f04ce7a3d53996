//! Examples from recorded runs: the inputs of a run, and its outputs or corrections as expected outputs.
//! May not know jobs.

use std::collections::HashMap;

use dsrs::problem::{At, Code, Problems};
use dsrs::value::{Map, Payload};
use indexmap::IndexSet;
use uuid::Uuid;

use crate::clock::now;
use crate::dataset::example::{DatasetVersionBuilder, ExampleDraft};
use crate::dataset::{DatasetPut, MOST, check_name, finish};
use crate::{App, AppError, Invalid};
use dsrs_api::dataset::{ExpectedOutputs, FromRunsRequest};
use dsrs_store::dataset_edit::{self, DatasetEdit};
use dsrs_store::dataset_example::PageLimits;
use dsrs_store::run::{RunStatus, RunValues};
use dsrs_store::{Scope, StoreError};

/// Runs that are read at a time.
const RUNS: usize = 50;

/// How often to look for a dataset that other clients create and delete meanwhile.
const TRIES: usize = 5;

/// The size of a page of the version before.
const PAGE: PageLimits = PageLimits { count: 1000, bytes: 8 << 20 };

impl App {
    /// Appends examples to the newest version, or creates the dataset. Duplicates are not added. `problems` are those of
    /// the members of the request.
    pub async fn dataset_from_runs(
        &self,
        scope: &Scope,
        name: &str,
        (request, mut problems): (FromRunsRequest, Problems),
    ) -> Result<DatasetPut, AppError> {
        let mut edit = self.dataset_to_append_to(scope, name).await?;
        let mut builder = DatasetVersionBuilder::new(None, false);
        add_all_known(&mut edit, &mut builder).await?;
        edit.keep().await?;
        let before = builder.totals.count;
        let runs: IndexSet<Uuid> = request.runs.iter().filter_map(|id| id.parse().ok()).collect();
        let corrections = read_corrections(&request, &runs, &mut problems);
        let runs: Vec<Uuid> = runs.into_iter().collect();
        let mut work = RunExamples {
            request: &request,
            corrections,
            problems,
            graph: None,
            corrected: HashMap::new(),
        };
        for (chunk, ids) in runs.chunks(RUNS).enumerate() {
            let rows = edit.runs(ids).await?;
            if request.expected == ExpectedOutputs::Corrected {
                work.corrected = edit.corrections(ids).await?.into_iter().collect();
            }
            let mut piece = Vec::new();
            for (offset, id) in ids.iter().enumerate() {
                let runs = At::Root.key("runs");
                let at = runs.index(chunk * RUNS + offset);
                let found = rows.iter().find(|row| row.id == *id);
                let draft = work.draft(*id, found, &at);
                if draft
                    .as_ref()
                    .and_then(|draft| draft.id.as_deref())
                    .is_some_and(|id| builder.has_duplicate(id))
                {
                    continue;
                }
                piece.extend(draft.and_then(|d| builder.add(d, &at, &mut work.problems)));
            }
            if work.problems.is_empty() {
                edit.add(&piece).await?;
            }
        }
        let most = self.limits.dataset_examples as usize;
        if builder.totals.count > most {
            let detail = format!("the dataset would have more than {most} examples (`{MOST}`)");
            work.problems.add(&At::Root.key("runs"), Code::TooLarge, detail);
        }
        if !work.problems.is_empty() {
            return Err(AppError::invalid(Invalid::Request, work.problems));
        }
        let added = builder.totals.count - before;
        finish(edit, &builder, request.description.as_deref(), added).await
    }

    /// The dataset of this name, or a new one. If another client creates it in between, it is looked up
    /// again.
    async fn dataset_to_append_to(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<DatasetEdit, AppError> {
        let mut problems = Problems::new();
        check_name(name, &mut problems);
        // No dataset has an invalid name.
        problems.or(()).map_err(|_| StoreError::not_found("dataset", name))?;
        for _ in 0..TRIES {
            match dataset_edit::lock(scope, &self.db, name).await {
                Err(StoreError::NotFound { .. }) => {}
                found => return Ok(found?),
            }
            match dataset_edit::create(scope, &self.db, Uuid::now_v7(), name, now()).await {
                Err(StoreError::AlreadyExists { .. }) => {}
                made => return Ok(made?),
            }
        }
        Err(AppError::Unavailable(format!(
            "dataset other clients create and delete `{name}` meanwhile; try again"
        )))
    }
}

/// Reads the version before, so that hash and totals of the next one begin with it.
async fn add_all_known(
    edit: &mut DatasetEdit,
    builder: &mut DatasetVersionBuilder,
) -> Result<(), AppError> {
    let mut after = -1;
    loop {
        let rows = edit.known(after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.position;
        for row in &rows {
            builder.add_known(row);
        }
    }
}

/// The corrections of a request by run. Those of no requested run are reported.
fn read_corrections<'r>(
    request: &'r FromRunsRequest,
    runs: &IndexSet<Uuid>,
    problems: &mut Problems,
) -> HashMap<Uuid, &'r Map> {
    let root = At::Root;
    let at = root.key("corrections");
    let mut read = |(name, outputs): (&'r String, &'r Map)| {
        let run = name.parse().ok().filter(|run| runs.contains(run));
        if run.is_none() {
            let detail = format!("`{name}` is the id of none of `runs`");
            problems.add(&at.key(name), Code::InvalidValue, detail);
        }
        Some((run?, outputs))
    };
    request.corrections.iter().filter_map(&mut read).collect()
}

/// The examples of the requested runs.
struct RunExamples<'r> {
    request: &'r FromRunsRequest,
    /// The corrections of the request, by run.
    corrections: HashMap<Uuid, &'r Map>,
    problems: Problems,
    /// The graph of the first run.
    graph: Option<(Uuid, String)>,
    /// The corrected outputs of the runs that are read at a time.
    corrected: HashMap<Uuid, String>,
}

impl RunExamples<'_> {
    /// The example of a run. Reports problems.
    fn draft(&mut self, id: Uuid, found: Option<&RunValues>, at: &At<'_>) -> Option<ExampleDraft> {
        let Some(row) = found else {
            self.problems.add(at, Code::InvalidValue, format!("there is no run `{id}`"));
            return None;
        };
        let before = self.problems.len();
        let corrected = self.corrected.remove(&id);
        if self.request.expected == ExpectedOutputs::Corrected && corrected.is_none() {
            let detail = format!("run `{id}` has no feedback with corrected outputs");
            self.problems.add(at, Code::InvalidValue, detail);
        } else if row.status != RunStatus::Succeeded && corrected.is_none() {
            let detail = format!("run `{id}` has not succeeded: it is {}", row.status);
            self.problems.add(at, Code::InvalidValue, detail);
        }
        let own = (row.graph_id, row.graph_name.clone());
        let (graph, name) = self.graph.get_or_insert(own);
        if *graph != row.graph_id {
            let detail = format!(
                "run `{id}` is of graph `{}`, the first one of `{name}`; use runs of one graph",
                row.graph_name
            );
            self.problems.add(at, Code::InvalidValue, detail);
        }
        let inputs = self.fields(&row.inputs, at);
        let expects_outputs = self.request.expected != ExpectedOutputs::None;
        let outputs = row.outputs.as_deref().filter(|_| expects_outputs);
        let outputs = outputs.map(|text| self.fields(text, at));
        let mut expected = outputs.unwrap_or(Some(Map::new()))?;
        // The example of corrected outputs has the id of its run: so it is known where it is from.
        let example_id = corrected.as_ref().map(|_| id.to_string().into());
        if let Some(corrected) = corrected {
            for (name, value) in self.fields(&corrected, at)? {
                expected.insert(name, value);
            }
        }
        for (name, value) in self.corrections.get(&id).copied().into_iter().flatten() {
            expected.insert(name.clone(), value.clone());
        }
        let inputs = inputs.filter(|_| self.problems.len() == before)?;
        Some(ExampleDraft {
            id: example_id,
            split: self.request.split.as_deref().map(Into::into),
            inputs,
            expected,
            cells: false,
        })
    }

    fn fields(&mut self, json: &str, at: &At<'_>) -> Option<Map> {
        match Payload::from_record(json) {
            Ok(Payload::Map(fields)) => Some(fields.as_ref().clone()),
            _ => {
                self.problems.add(at, Code::InvalidValue, "the run's record cannot be read");
                None
            }
        }
    }
}
