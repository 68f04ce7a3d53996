//! Examples made of chosen runs: what a run was given, and what it gave or should have given.

use std::sync::Arc;

use dsrs::problem::{At, Code, Problems};
use dsrs::value::{Map, Payload};
use indexmap::{IndexMap, IndexSet};
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::dataset::example::{Draft, Gathering};
use crate::app::dataset::{DatasetPut, MOST, check_name, finish};
use crate::app::{App, AppError, Invalid};
use crate::store::dataset_edit::{self, DatasetEdit};
use crate::store::dataset_example::Room;
use crate::store::run::{RunStatus, Said};
use crate::store::{Scope, StoreError};

/// Runs that are read at a time.
const RUNS: usize = 50;

/// How often a dataset is looked for that others make and delete at the same time.
const LOOKS: usize = 5;

/// What of the version before is read at a time.
const KNOWN: Room = Room { count: 1000, bytes: 8 << 20 };

/// Which runs become examples, and how.
#[derive(Debug)]
pub(crate) struct FromRuns {
    /// The runs, in the order of the examples.
    pub(crate) runs: IndexSet<Uuid>,
    /// Whether what they gave is what is expected.
    pub(crate) expects_outputs: bool,
    /// What was to come out, by run and field, where it is not what the run gave.
    pub(crate) corrections: IndexMap<Uuid, Map>,
    /// The split that the examples name.
    pub(crate) split: Option<Arc<str>>,
    /// What the version says of itself.
    pub(crate) description: Option<Arc<str>>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

impl App {
    /// Appends examples to the newest version, or makes the dataset; an example that is there already
    /// is not there twice.
    pub(crate) async fn dataset_from_runs(
        &self,
        scope: &Scope,
        name: &str,
        request: FromRuns,
    ) -> Result<DatasetPut, AppError> {
        let mut edit = self.dataset_to_append_to(scope, name).await?;
        let mut gathering = Gathering::new(None, false);
        know_all(&mut edit, &mut gathering).await?;
        edit.keep().await?;
        let before = gathering.account.count;
        let mut work = Work { request: &request, problems: request.faults.clone(), graph: None };
        let runs: Vec<Uuid> = request.runs.iter().copied().collect();
        for (chunk, ids) in runs.chunks(RUNS).enumerate() {
            let said = edit.runs(ids).await?;
            let mut piece = Vec::new();
            for (offset, id) in ids.iter().enumerate() {
                let runs = At::Root.key("runs");
                let at = runs.index(chunk * RUNS + offset);
                let found = said.iter().find(|said| said.id == *id);
                let draft = work.draft(*id, found, &at);
                piece.extend(draft.and_then(|d| gathering.keep(d, &at, &mut work.problems)));
            }
            if work.problems.is_empty() {
                edit.add(&piece).await?;
            }
        }
        let most = self.limits.dataset_examples as usize;
        if gathering.account.count > most {
            let detail = format!("the dataset would have more than {most} examples (`{MOST}`)");
            work.problems.add(&At::Root.key("runs"), Code::TooLarge, detail);
        }
        if !work.problems.is_empty() {
            return Err(AppError::invalid(Invalid::Request, work.problems));
        }
        let added = gathering.account.count - before;
        finish(edit, &gathering, request.description.as_deref(), added).await
    }

    /// The dataset of this name, or a new one. Whoever finds none, and is then told that there is one,
    /// looks again: another was faster.
    async fn dataset_to_append_to(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<DatasetEdit, AppError> {
        let mut problems = Problems::new();
        check_name(name, &mut problems);
        // What cannot be the name of a dataset is none's.
        problems.or(()).map_err(|_| StoreError::not_found("dataset", name))?;
        for _ in 0..LOOKS {
            match dataset_edit::lock(scope, &self.db, name).await {
                Err(StoreError::NotFound { .. }) => {}
                found => return Ok(found?),
            }
            match dataset_edit::create(scope, &self.db, Uuid::now_v7(), name, now()).await {
                Err(StoreError::AlreadyExists { .. }) => {}
                made => return Ok(made?),
            }
        }
        Err(AppError::Unavailable(format!("dataset `{name}` comes and goes; try again")))
    }
}

/// Reads the version before, so that the next one's hash and account begin with it.
async fn know_all(edit: &mut DatasetEdit, gathering: &mut Gathering) -> Result<(), AppError> {
    let mut after = -1;
    loop {
        let rows = edit.known(after, KNOWN).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.position;
        for row in &rows {
            gathering.know(row);
        }
    }
}

/// Examples being made of runs.
struct Work<'r> {
    request: &'r FromRuns,
    problems: Problems,
    /// The graph whose runs they are.
    graph: Option<(Uuid, String)>,
}

impl Work<'_> {
    /// The example that a run is; what is wrong goes to the problems.
    fn draft(&mut self, id: Uuid, found: Option<&Said>, at: &At<'_>) -> Option<Draft> {
        let Some(said) = found else {
            self.problems.add(at, Code::InvalidValue, format!("there is no run `{id}`"));
            return None;
        };
        let before = self.problems.len();
        if said.status != RunStatus::Succeeded {
            let detail = format!("run `{id}` has not succeeded: it is {}", said.status);
            self.problems.add(at, Code::InvalidValue, detail);
        }
        let own = (said.graph_id, said.graph_name.clone());
        let (graph, name) = self.graph.get_or_insert(own);
        if *graph != said.graph_id {
            let detail = format!(
                "run `{id}` is of graph `{}`, the first one of `{name}`; take the runs of one graph",
                said.graph_name
            );
            self.problems.add(at, Code::InvalidValue, detail);
        }
        let inputs = self.fields(&said.inputs, at);
        let outputs = said.outputs.as_deref().filter(|_| self.request.expects_outputs);
        let outputs = outputs.map(|text| self.fields(text, at));
        let mut expected = outputs.unwrap_or(Some(Map::new()))?;
        for (name, value) in self.request.corrections.get(&id).into_iter().flatten() {
            expected.insert(name.clone(), value.clone());
        }
        let inputs = inputs.filter(|_| self.problems.len() == before)?;
        Some(Draft { id: None, split: self.request.split.clone(), inputs, expected, cells: false })
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
