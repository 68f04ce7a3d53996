//! Built programs, shared: by content and state hash for as long as they are used, and by name for
//! as long as no graph changes anywhere, so that a hot graph costs no query at all.

use std::sync::Arc;

use dsrs::graph::{GraphState, Program};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use moka::sync::Cache;
use uuid::Uuid;

use super::{AppError, StoredEnv};
use crate::store::graph::{self, GraphPin, GraphRef, GraphRow, Pick};
use crate::store::{Db, Scope};

const BUILT: u64 = 2_000;
const FOUND: u64 = 10_000;

/// A version of a graph with a state, built.
pub struct Loaded {
    /// Which it is.
    pub pin: GraphPin,
    /// Ready to run.
    pub program: Arc<Program>,
}

type Hashes = (String, String);
type Question = (Uuid, GraphRef, Pick);

/// The caches.
pub struct Programs {
    untuned: Cache<String, Arc<Program>>,
    tuned: Cache<Hashes, Arc<Program>>,
    found: Cache<Question, (u64, Arc<Loaded>)>,
}

impl Programs {
    /// Empty caches.
    #[must_use]
    pub fn new() -> Self {
        Self { untuned: Cache::new(BUILT), tuned: Cache::new(BUILT), found: Cache::new(FOUND) }
    }

    /// A version of a graph, built.
    ///
    /// # Errors
    /// When there is none, or the database cannot be asked.
    pub async fn load(
        &self,
        scope: &Scope,
        db: &Db,
        graph: &GraphRef,
        pick: Pick,
    ) -> Result<Arc<Loaded>, AppError> {
        let epoch = db.changes().epoch();
        let question = (scope.workspace, graph.clone(), pick);
        if let (Some(now), Some((then, loaded))) = (epoch, self.found.get(&question))
            && now == then
        {
            return Ok(loaded);
        }
        let pin = graph::pin(scope, db, graph, pick).await?;
        let program = match self.tuned.get(&(pin.content_hash.clone(), pin.state_hash.clone())) {
            Some(program) => program,
            None => {
                let exact =
                    Pick { version: Some(pin.version), state_version: Some(pin.state_version) };
                let row = graph::get(scope, db, &GraphRef::Id(pin.id), exact).await?;
                self.build(&row)?
            }
        };
        let loaded = Arc::new(Loaded { pin, program });
        if let Some(epoch) = epoch {
            self.found.insert(question, (epoch, loaded.clone()));
        }
        Ok(loaded)
    }

    /// The program of a row.
    ///
    /// # Errors
    /// [`AppError::Stored`] when what was accepted once no longer builds.
    pub fn build(&self, row: &GraphRow) -> Result<Arc<Program>, AppError> {
        let key = (row.content_hash.clone(), row.state.content_hash.clone());
        if let Some(program) = self.tuned.get(&key) {
            return Ok(program);
        }
        let untuned = self.untuned(row)?;
        let state = stored_state(&row.state.predictors)?;
        let program = if state.0.is_empty() {
            untuned
        } else {
            let built = untuned.with_state(&StoredEnv, &state, &At::Root);
            Arc::new(built.map_err(AppError::Stored)?)
        };
        self.tuned.insert(key, program.clone());
        Ok(program)
    }

    /// The program of a row's definition, every predictor at its defaults.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn untuned(&self, row: &GraphRow) -> Result<Arc<Program>, AppError> {
        if let Some(program) = self.untuned.get(&row.content_hash) {
            return Ok(program);
        }
        let document = stored_json(&row.definition)?;
        let built = Program::from_document(&document, &StoredEnv).map_err(AppError::Stored)?;
        let program = Arc::new(built);
        self.untuned.insert(row.content_hash.clone(), program.clone());
        Ok(program)
    }
}

impl Default for Programs {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads stored overrides.
///
/// # Errors
/// [`AppError::Stored`] when they cannot be read any more.
pub fn stored_state(predictors: &str) -> Result<GraphState, AppError> {
    let payload = stored_json(predictors)?;
    let mut problems = Problems::new();
    let state = GraphState::read(&payload, &At::Root, &mut problems).unwrap_or_default();
    problems.or(state).map_err(AppError::Stored)
}

fn stored_json(text: &str) -> Result<Payload, AppError> {
    Payload::from_json(text).map_err(|error| {
        let mut problems = Problems::new();
        problems.add(&At::Root, dsrs::problem::Code::WrongType, error.to_string());
        AppError::Stored(problems)
    })
}
