//! States that an optimization found: written without being put in force, and promoted only while
//! what they were measured against still is. Knows nothing of how they were found.

use dsrs::graph::GraphState;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::state::{StateText, overrides};
use crate::app::{App, AppError, Invalid};
use crate::store::Scope;
use crate::store::graph::{self, GraphRef, Pick};
use crate::store::graph_edit::{self, Expect};
use crate::store::state::{NewState, StateRow};

/// A state version to be written, not in force.
#[derive(Clone, Copy, Debug)]
pub struct StateCandidate<'c> {
    /// The graph.
    pub graph: Uuid,
    /// The graph version that it was made for, the newest or an older one.
    pub graph_version: i32,
    /// The state version that it was made from.
    pub parent: i32,
    /// What it says.
    pub state: &'c GraphState,
    /// The optimization that made it.
    pub optimization: Uuid,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<&'c str>,
}

/// A state version to be put in force, if nobody else has changed what is.
#[derive(Clone, Copy, Debug)]
pub struct StatePromotion {
    /// The graph.
    pub graph: Uuid,
    /// The state version that is to be in force for its graph version.
    pub version: i32,
    /// The one that has to be in force until then.
    pub instead_of: i32,
    /// The optimization that promotes.
    pub optimization: Uuid,
}

impl App {
    /// Writes a state version without putting it in force. The same state of the same optimization
    /// is written once, however often it is asked for.
    ///
    /// # Errors
    /// A graph, graph version or parent that is not there, and everything that does not fit.
    pub async fn state_candidate(
        &self,
        scope: &Scope,
        candidate: StateCandidate<'_>,
    ) -> Result<StateRow, AppError> {
        let by_id = GraphRef::Id(candidate.graph);
        let pick = Pick { version: Some(candidate.graph_version), state_version: None };
        let row = graph::get(scope, &self.db, &by_id, pick).await?;
        let plain = self.plain_program(scope, &row.definition, &row.content_hash).await?;
        let tune = |env: &dyn BuildEnv| plain.with_state(env, candidate.state, &At::Root);
        let tuned = self.written(scope, None, tune).await?;
        let tuned = tuned.map_err(|problems| AppError::invalid(Invalid::State, problems))?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, Expect::Newest).await?;
        locked.state(candidate.parent).await?;
        let new = NewState {
            parent: Some(candidate.parent),
            optimization: Some(candidate.optimization),
            score: candidate.score,
            dataset_hash: candidate.dataset_hash,
            predictors: &text.text,
            content_hash: &text.hash,
        };
        Ok(locked.add_state(candidate.graph_version, new, now()).await?)
    }

    /// Puts a state version in force for its graph version, if `instead_of` still is; whether it is
    /// in force now. Asking again does no harm.
    ///
    /// # Errors
    /// A graph or state version that is not there.
    pub async fn state_promote(
        &self,
        scope: &Scope,
        promotion: StatePromotion,
    ) -> Result<bool, AppError> {
        let by_id = GraphRef::Id(promotion.graph);
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, Expect::Newest).await?;
        let (row, in_force) = locked.state(promotion.version).await?;
        if in_force == promotion.instead_of && in_force != row.version {
            locked.activate_state(&row, Some(promotion.optimization), now()).await?;
            return Ok(true);
        }
        Ok(in_force == row.version)
    }
}
