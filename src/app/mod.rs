//! The verbs of the service, noun first: ids, wall clocks, transactions and caches. Uses `store`
//! and the engine; knows nothing of HTTP.

mod env;
mod error;
pub mod metrics;
mod program;
mod running;

use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};
use dsrs::lm::Models;
use uuid::Uuid;

use crate::config::Limits;
use crate::store::Db;
use crate::store::run_recorder::RunRecorder;

pub use env::{StoredEnv, WriteEnv};
pub use error::AppError;
pub use metrics::Metrics;
pub use program::{Loaded, Programs};
pub use running::Running;

/// Everything that the verbs stand on. Shared by all requests.
pub struct App {
    /// The database.
    pub db: Db,
    /// The models by alias.
    pub models: Arc<Models>,
    /// Built programs.
    pub programs: Programs,
    /// Where finished runs go.
    pub recorder: RunRecorder,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Bounds on requests and runs.
    pub limits: Limits,
    /// The runs at work, and how they are stopped.
    pub running: Running,
}

impl App {
    /// An application over a migrated database.
    #[must_use]
    pub fn new(
        db: Db,
        models: Arc<Models>,
        recorder: RunRecorder,
        metrics: Arc<Metrics>,
        limits: Limits,
    ) -> Self {
        let running = Running::new(limits.max_concurrent_runs);
        Self { db, models, programs: Programs::new(), recorder, metrics, limits, running }
    }

    /// What a definition that is being written may refer to.
    #[must_use]
    pub fn write_env(&self) -> WriteEnv<'_> {
        WriteEnv(&self.models)
    }
}

/// A new id, ordered by time.
#[must_use]
pub fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// The present time, as precise as the database keeps it, so that what is answered at once and
/// what is read back later are the same.
#[must_use]
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}
