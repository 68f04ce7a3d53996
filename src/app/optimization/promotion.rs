//! Putting in force what an optimization found: a state version, or a graph version that nobody gets
//! before. Done only while what it was measured against still is, or by a client who has seen what is.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::optimize::Candidate as Tried;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::graph::new_version;
use crate::app::json::JsonObject;
use crate::app::optimization::program_builder::AppWorkshop;
use crate::app::precondition::Precondition;
use crate::app::program::read_state;
use crate::app::state::{StateText, overrides};
use crate::app::{App, AppError, Invalid};
use crate::store::Scope;
use crate::store::graph::GraphRef;
use crate::store::graph_edit::{self, Expect, LockedGraph};
use crate::store::job::Lease;
use crate::store::optimization::{self, OptimizationRow};
use crate::store::optimization_candidate::{self, CandidateRow};
use crate::store::state::NewState;

/// What an optimization found.
#[derive(Clone, Copy)]
pub(crate) struct Found<'f> {
    /// The state version that it was stored as; a graph version is to be made where there is none.
    pub(crate) state: Option<i32>,
    /// The candidate.
    pub(crate) tried: &'f Tried,
    /// Its mean score on the held-out examples.
    pub(crate) score: Option<f64>,
    /// The content hash of the trainset.
    pub(crate) dataset: Option<&'f str>,
}

/// What became of putting it in force.
pub(crate) enum Put {
    /// It is, as this graph version with this state version.
    InForce((i32, i32)),
    /// Something else is by now, which says what.
    Moved(String),
}

/// `{activated, reason, graph_version, state_version}`.
pub(crate) fn activation_json(versions: Option<(i32, i32)>, why: &str) -> String {
    let mut object = JsonObject::new();
    object.shown("activated", versions.is_some()).text("reason", why);
    object.shown_or_null("graph_version", versions.map(|(graph, _)| graph));
    object.shown_or_null("state_version", versions.map(|(_, state)| state));
    object.finish()
}

/// A candidate as it was stored; `document` is the graph that the optimization began with.
pub(crate) fn tried(row: &CandidateRow, document: &Arc<Payload>) -> Result<Tried, AppError> {
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
    /// One candidate, with what turns the program that the optimization began with into it.
    pub(crate) async fn optimization_candidate(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        number: i32,
    ) -> Result<(CandidateRow, String), AppError> {
        let row = self.optimization_get(scope, id).await?;
        let found = optimization_candidate::get(scope, &self.db, id, number).await?;
        let workshop = AppWorkshop::new(self.clone(), scope.clone(), &row).await?;
        let candidate = tried(&found, workshop.document())?;
        let diff = self.candidate_diff(scope, &row, &workshop, &candidate).await?;
        Ok((found, diff))
    }

    /// Puts in force what an optimization found. Without a
    /// precondition, the state version that the optimization started from has to be active.
    pub(crate) async fn optimization_activate(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
        precondition: Option<&Precondition>,
    ) -> Result<OptimizationRow, AppError> {
        let row = self.optimization_get(scope, id).await?;
        if !row.status.has_ended() {
            let detail = "the optimization has not ended; wait for its end, or cancel it";
            return Err(AppError::RunUnfinished(detail.to_owned()));
        }
        let Some(best) = row.best else {
            let detail = "the optimization found nothing better than what was there";
            return Err(AppError::NothingFound(detail.to_owned()));
        };
        let candidate = optimization_candidate::get(scope, &self.db, id, best).await?;
        let workshop = AppWorkshop::new(self.clone(), scope.clone(), &row).await?;
        let tried = tried(&candidate, workshop.document())?;
        let (score, dataset) = measured(&row);
        let (state, dataset) = (row.found_state, dataset.as_deref());
        let found = Found { state, tried: &tried, score, dataset };
        match self.optimization_put(scope, &row, &found, precondition, None).await? {
            Put::Moved(why) => Err(AppError::Superseded(why)),
            Put::InForce(versions) => {
                let activated = activation_json(Some(versions), "a client put it in force");
                optimization::note_activation(scope, &self.db, id, &activated).await?;
                self.optimization_get(scope, id).await
            }
        }
    }

    /// Puts in force what was found, under the graph's lock. `by` is the optimization that does it,
    /// if no client does: it does so once, and only as long as its job is held; what clients did since
    /// then stays. Doing it again changes nothing.
    pub(crate) async fn optimization_put(
        &self,
        scope: &Scope,
        row: &OptimizationRow,
        found: &Found<'_>,
        precondition: Option<&Precondition>,
        by: Option<Lease>,
    ) -> Result<Put, AppError> {
        let by_id = GraphRef::Id(row.graph_id);
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, Expect::Newest).await?;
        if let Some(lease) = by
            && let Some(versions) = locked.put_by(lease.job).await?
        {
            return Ok(Put::InForce(versions));
        }
        let head = locked.head();
        let (version, in_force) = (head.version, head.state.version);
        let is_ours = match found.state {
            Some(state) => (version, in_force) == (row.graph_version, state),
            None => version > row.graph_version && head.state.optimization == Some(row.id),
        };
        if is_ours {
            return Ok(Put::InForce((version, in_force)));
        }
        if version != row.graph_version {
            return Ok(Put::Moved(newer_graph(row, version)));
        }
        let as_it_was = in_force == row.state_version;
        if !precondition.map_or(as_it_was, |expected| expected.accepts(head.id, in_force)) {
            return Ok(Put::Moved(newer_state(row, in_force)));
        }
        match found.state {
            Some(state) => {
                let (state, _) = locked.state(state).await?;
                if !may_put(&mut locked, by).await? {
                    return Ok(Put::Moved(TAKEN_OVER.to_owned()));
                }
                locked.activate_state(&state, by.map(|lease| lease.job), now()).await?;
                Ok(Put::InForce((version, state.version)))
            }
            None => self.put_graph(scope, row, found, locked, by).await,
        }
    }

    /// Makes a candidate the next graph version.
    async fn put_graph(
        &self,
        scope: &Scope,
        row: &OptimizationRow,
        found: &Found<'_>,
        mut locked: LockedGraph,
        by: Option<Lease>,
    ) -> Result<Put, AppError> {
        let Found { tried, score, dataset, .. } = *found;
        let head = locked.head();
        let build = |env: &dyn BuildEnv| {
            let plain = Program::from_document(&tried.document, env)?;
            let tuned = plain.with_state(env, &tried.state, &At::Root)?;
            Ok((plain, tuned))
        };
        let root = Some((head.id, head.name.as_str()));
        let built = Box::pin(self.written(scope, root, build)).await?;
        let (plain, tuned) = built.map_err(|found| AppError::invalid(Invalid::Graph, found))?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let parent = head.state.version;
        if !may_put(&mut locked, by).await? {
            return Ok(Put::Moved(TAKEN_OVER.to_owned()));
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
        Ok(Put::InForce((next.version, next.state.version)))
    }
}

const TAKEN_OVER: &str = "another server works on the optimization by now";

/// Whether whoever puts something in force still may: an optimization only as long as its job is held,
/// looked at last of all, so that nobody who renews leases has to wait.
async fn may_put(locked: &mut LockedGraph, by: Option<Lease>) -> Result<bool, AppError> {
    Ok(match by {
        Some(lease) => locked.holds(lease).await?,
        None => true,
    })
}

/// The score of what was found, and the hash of the trainset, as they are stored.
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
        "the graph has version {version} by now, and this was made for version {}; optimize the \
         newer version",
        row.graph_version
    )
}

fn newer_state(row: &OptimizationRow, in_force: i32) -> String {
    format!(
        "state version {in_force} is in force by now, and this was measured against version {}; \
         `If-Match` with the tag of what is in force puts it in force all the same",
        row.state_version
    )
}
