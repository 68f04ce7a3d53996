//! Activates the result of an optimization: a state version, or a new graph version. The optimization
//! does so only while the versions that it was measured against are active. A client may also do so
//! after that, if it has seen what is active. May not know HTTP.

use std::sync::Arc;

use dsrs::graph::{Program, document_references};
use dsrs::optimize::Candidate as Tried;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::now;
use crate::graph::new_version;
use crate::json::JsonObject;
use crate::optimization::program_builder::CandidateBuilder;
use crate::precondition::Precondition;
use crate::program::read_state;
use crate::state::{StateText, overrides};
use crate::{App, AppError, Invalid};
use dsrs_store::Scope;
use dsrs_store::graph::GraphRef;
use dsrs_store::graph_edit::{self, ExpectedVersion, LockedGraph};
use dsrs_store::job::{self, Lease};
use dsrs_store::optimization::{self, OptimizationRow};
use dsrs_store::optimization_candidate::{self, CandidateRow};
use dsrs_store::state::NewState;

/// The candidate that an optimization has chosen.
#[derive(Clone, Copy)]
pub(crate) struct ChosenCandidate<'f> {
    /// Its state version; `None` if the candidate becomes a graph version.
    pub(crate) state: Option<i32>,
    /// The candidate itself.
    pub(crate) tried: &'f Tried,
    /// Its mean score on the held-out examples.
    pub(crate) score: Option<f64>,
    /// The content hash of the trainset.
    pub(crate) dataset: Option<&'f str>,
}

pub(crate) enum ActivationOutcome {
    /// This graph version with this state version is active.
    Active((i32, i32)),
    /// Something else is active by now; the text says what.
    Conflict(String),
}

/// `{activated, reason, graph_version, state_version}`.
pub(crate) fn activation_json(versions: Option<(i32, i32)>, why: &str) -> String {
    let mut object = JsonObject::new();
    object.shown("activated", versions.is_some()).text("reason", why);
    object.shown_or_null("graph_version", versions.map(|(graph, _)| graph));
    object.shown_or_null("state_version", versions.map(|(_, state)| state));
    object.finish()
}

/// Reads a stored candidate; `document` is the graph that the optimization started from.
pub(crate) fn read_candidate(
    row: &CandidateRow,
    document: &Arc<Payload>,
) -> Result<Tried, AppError> {
    let document = match &row.definition {
        None => document.clone(),
        Some(text) => Arc::new(
            Payload::from_json(text)
                .map_err(|error| AppError::Internal(format!("a stored candidate: {error}")))?,
        ),
    };
    Ok(Tried { document, state: read_state(&row.state)? })
}

impl App {
    /// One candidate, and its differences from the program that the optimization started from.
    pub async fn optimization_candidate(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        number: i32,
    ) -> Result<(CandidateRow, String), AppError> {
        let row = job::get::<OptimizationRow>(scope, &self.db, id).await?;
        let found = optimization_candidate::get(scope, &self.db, id, number).await?;
        let builder = CandidateBuilder::new(self.clone(), scope.clone(), &row).await?;
        let candidate = read_candidate(&found, builder.document())?;
        let diff = self.candidate_diff(scope, &row, &builder, &candidate).await?;
        Ok((found, diff))
    }

    /// Activates the result for a client. Without a precondition, it fails if other versions than those of
    /// the start are active.
    pub async fn optimization_activate(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        precondition: Option<&Precondition>,
    ) -> Result<OptimizationRow, AppError> {
        let row = job::get::<OptimizationRow>(scope, &self.db, id).await?;
        if !row.status.has_ended() {
            let detail = "the optimization has not ended: wait for its end, or cancel it";
            return Err(AppError::RunUnfinished(detail.to_owned()));
        }
        let Some(best) = row.best else {
            let detail =
                "the optimization found no candidate better than the program it started from";
            return Err(AppError::NothingFound(detail.to_owned()));
        };
        let candidate = optimization_candidate::get(scope, &self.db, id, best).await?;
        let builder = CandidateBuilder::new(self.clone(), scope.clone(), &row).await?;
        let tried = read_candidate(&candidate, builder.document())?;
        let (score, dataset) = measured(&row);
        let (state, dataset) = (row.found_state, dataset.as_deref());
        let found = ChosenCandidate { state, tried: &tried, score, dataset };
        match self.optimization_put(scope, &row, &found, precondition, None).await? {
            ActivationOutcome::Conflict(why) => Err(AppError::Superseded(why)),
            ActivationOutcome::Active(versions) => {
                let activated = activation_json(Some(versions), "a client activated it");
                optimization::note_activation(scope, &self.db, id, &activated).await?;
                Ok(job::get(scope, &self.db, id).await?)
            }
        }
    }

    /// Activates the result under the lock of the graph. `by` is the lease of the optimization, unless a
    /// client activates it: an optimization does so once, only while it holds the lease, and does not
    /// undo what clients have done since. Safe to repeat.
    pub(crate) async fn optimization_put(
        &self,
        scope: &Scope,
        row: &OptimizationRow,
        found: &ChosenCandidate<'_>,
        precondition: Option<&Precondition>,
        by: Option<Lease>,
    ) -> Result<ActivationOutcome, AppError> {
        let by_id = GraphRef::Id(row.graph_id);
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, ExpectedVersion::Newest).await?;
        if let Some(lease) = by
            && let Some(versions) = locked.put_by(lease.job).await?
        {
            return Ok(ActivationOutcome::Active(versions));
        }
        let head = locked.head();
        let (version, active) = (head.version, head.state.version);
        let is_ours = match found.state {
            Some(state) => (version, active) == (row.graph_version, state),
            None => version > row.graph_version && head.state.optimization == Some(row.id),
        };
        if is_ours {
            return Ok(ActivationOutcome::Active((version, active)));
        }
        if version != row.graph_version {
            return Ok(ActivationOutcome::Conflict(newer_graph(row, version)));
        }
        let is_unchanged = active == row.state_version;
        if !precondition.map_or(is_unchanged, |expected| expected.accepts(head.id, active)) {
            return Ok(ActivationOutcome::Conflict(newer_state(row, active)));
        }
        match found.state {
            Some(state) => {
                let (state, _) = locked.state(state).await?;
                if !may_activate(&mut locked, by).await? {
                    return Ok(ActivationOutcome::Conflict(TAKEN_OVER.to_owned()));
                }
                locked.activate_state(&state, by.map(|lease| lease.job), now()).await?;
                Ok(ActivationOutcome::Active((version, state.version)))
            }
            None => self.put_graph(scope, row, found, locked, by).await,
        }
    }

    /// Makes the candidate the next graph version.
    async fn put_graph(
        &self,
        scope: &Scope,
        row: &OptimizationRow,
        found: &ChosenCandidate<'_>,
        mut locked: LockedGraph,
        by: Option<Lease>,
    ) -> Result<ActivationOutcome, AppError> {
        let ChosenCandidate { tried, score, dataset, .. } = *found;
        let head = locked.head();
        let build = |env: &dyn BuildEnv| {
            let plain = Program::from_document(&tried.document, env)?;
            let tuned = plain.with_state(env, &tried.state, &At::Root)?;
            Ok((plain, tuned))
        };
        let root = Some((head.id, head.name.as_str()));
        let references = document_references(&tried.document);
        let built = Box::pin(self.build_new(scope, root, references, build)).await?;
        let (plain, tuned) = built.map_err(|found| AppError::invalid(Invalid::Graph, found))?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let parent = head.state.version;
        if !may_activate(&mut locked, by).await? {
            return Ok(ActivationOutcome::Conflict(TAKEN_OVER.to_owned()));
        }
        let state = NewState {
            parent: Some(parent),
            optimization: Some(row.id),
            score,
            dataset_hash: dataset,
            predictors: &text.text,
            content_hash: &text.hash,
        };
        let next = locked
            .put_version(new_version(&plain), state, by.map(|lease| lease.job), now())
            .await?;
        Ok(ActivationOutcome::Active((next.version, next.state.version)))
    }
}

const TAKEN_OVER: &str = "another worker has claimed the optimization";

/// Whether the activation may proceed: an optimization must hold its lease. This is checked last, so that
/// the renewal of leases does not wait for the lock.
async fn may_activate(locked: &mut LockedGraph, by: Option<Lease>) -> Result<bool, AppError> {
    Ok(match by {
        Some(lease) => locked.holds(lease).await?,
        None => true,
    })
}

/// The stored score of the result, and the hash of the trainset.
fn measured(row: &OptimizationRow) -> (Option<f64>, Option<String>) {
    let read = |text: &str| Payload::from_record(text).ok();
    let member = |payload: Payload, name: &str| payload.as_map()?.get(name).cloned();
    let best = row.result.as_deref().and_then(read).and_then(|result| member(result, "best"));
    let score = match best.and_then(|best| member(best, "score")) {
        Some(Payload::Float(score)) => Some(score),
        _ => None,
    };
    let trainset = read(&row.request).and_then(|request| member(request, "trainset"));
    let hash = trainset.and_then(|trainset| member(trainset, "content_hash"));
    (score, hash.and_then(|hash| hash.as_str().map(str::to_owned)))
}

fn newer_graph(row: &OptimizationRow, version: i32) -> String {
    format!(
        "version {version} of the graph is active by now, and this result is for version {}: optimize \
         the newer version",
        row.graph_version
    )
}

fn newer_state(row: &OptimizationRow, active: i32) -> String {
    format!(
        "state version {active} is active by now, and this result was measured against version {}; \
         `If-Match` with the tag of the active version activates it all the same",
        row.state_version
    )
}
