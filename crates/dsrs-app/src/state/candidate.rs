//! States that an optimization found: stored without being activated, and promoted only while the
//! state that they were compared with is active. May not know how they were found.

use dsrs::graph::{GraphState, document_references};
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use uuid::Uuid;

use crate::clock::now;
use crate::state::{StateText, overrides};
use crate::{App, AppError, Invalid};
use dsrs_store::Scope;
use dsrs_store::graph::{self, GraphRef, VersionSelection};
use dsrs_store::graph_edit::{self, ExpectedVersion};
use dsrs_store::state::{NewState, StateRow};

/// A state version to store without activating it.
#[derive(Clone, Copy, Debug)]
pub struct StateCandidate<'c> {
    pub graph: Uuid,
    /// Its graph version, the newest or an older one.
    pub graph_version: i32,
    /// The state version that it was derived from.
    pub parent: i32,
    pub state: &'c GraphState,
    /// The optimization that found it.
    pub optimization: Uuid,
    /// Its measured score.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<&'c str>,
}

/// A state version to activate if the active one has not changed.
#[derive(Clone, Copy, Debug)]
pub struct StatePromotion {
    pub graph: Uuid,
    /// The state version to activate for its graph version.
    pub version: i32,
    /// The state version that has to be active until then.
    pub instead_of: i32,
    /// The optimization that promotes.
    pub optimization: Uuid,
}

impl App {
    /// Stores a state version without activating it. Repeated calls with the same state and
    /// optimization store it once.
    ///
    /// # Errors
    /// If the graph, graph version or parent does not exist, or the state is invalid for it.
    pub async fn state_candidate(
        &self,
        scope: &Scope,
        candidate: StateCandidate<'_>,
    ) -> Result<StateRow, AppError> {
        let by_id = GraphRef::Id(candidate.graph);
        let pick = VersionSelection { version: Some(candidate.graph_version), state_version: None };
        let row = graph::get(scope, &self.db, &by_id, pick).await?;
        let plain = self.plain_program(scope, &row.definition, &row.content_hash).await?;
        let tune = |env: &dyn BuildEnv| plain.with_state(env, candidate.state, &At::Root);
        let tuned =
            self.build_new(scope, None, document_references(plain.document()), tune).await?;
        let tuned = tuned.map_err(|problems| AppError::invalid(Invalid::State, problems))?;
        let text = StateText::of(&overrides(&plain, &tuned));
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, ExpectedVersion::Newest).await?;
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

    /// Activates a state version for its graph version if `instead_of` is still active. Returns
    /// whether it is active now. Repeated calls have no further effect.
    ///
    /// # Errors
    /// If the graph or state version does not exist.
    pub async fn state_promote(
        &self,
        scope: &Scope,
        promotion: StatePromotion,
    ) -> Result<bool, AppError> {
        let by_id = GraphRef::Id(promotion.graph);
        let mut locked = graph_edit::lock(scope, &self.db, &by_id, ExpectedVersion::Newest).await?;
        let (row, active) = locked.state(promotion.version).await?;
        if active == promotion.instead_of && active != row.version {
            locked.activate_state(&row, Some(promotion.optimization), now()).await?;
            return Ok(true);
        }
        Ok(active == row.version)
    }
}
