//! The verbs of the service, noun first: ids, wall clocks, transactions and caches. Uses `store`,
//! `tool` and the engine; knows nothing of HTTP.

mod background;
mod batch;
mod clock;
mod dataset;
mod error;
mod evaluation;
mod graph;
mod item_upload;
mod job;
pub(crate) mod json;
pub mod metrics;
mod model;
mod optimization;
mod parse;
mod persist;
mod predictor;
mod program;
mod retention;
mod run;
mod sandbox;
mod state;
mod strategy;
mod task;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsrs::sandbox::Sandbox;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::config::{Config, Limits, ModelTable, WorkerConfig};
use crate::shutdown::Shutdown;
use crate::store::run_recorder::{RunRecorder, recorder};
use crate::store::{Db, StoreError};
use crate::tool::ToolSource;
use job::active::ActiveWork;
use metrics::Metrics;
use program::Programs;
use run::event_buffer::EventBuffers;

pub use background::Background;
pub(crate) use batch::BatchRequest;
pub(crate) use clock::{now, timestamp};
pub(crate) use dataset::example::{Columns, example_line, is_split};
pub(crate) use dataset::from_runs::FromRuns;
pub(crate) use dataset::selection::{DatasetCheck, DatasetPick, DatasetRef, Fitting};
pub(crate) use dataset::{DatasetPut, DatasetRequest};
pub use error::{AppError, Invalid};
pub(crate) use evaluation::EvaluationRequest;
pub(crate) use evaluation::comparison::Compared;
pub(crate) use graph::{GraphUpdate, Seen};
pub(crate) use item_upload::{ItemSource, Said, WrittenItem};
pub use model::{ModelError, engine_models};
pub(crate) use optimization::OptimizationRequest;
pub(crate) use optimization::plan::Activate;
pub use parse::ParseFailure;
pub(crate) use predictor::NodeRenderRequest;
pub(crate) use run::event_buffer::{BufferFollower, EventKind, StreamItem};
pub(crate) use run::event_reader::{EventLogFollower, FollowTarget};
pub(crate) use run::execute::{Ended, ExecuteRequest, Watch};
pub use run::failure::RunFailure;
pub(crate) use run::failure::whole_seconds;
pub(crate) use run::resume::{ResumeOutcome, ResumeRequest};
pub(crate) use run::signal::SignalRequest;
pub use state::candidate::{StateCandidate, StatePromotion};
pub(crate) use state::{StateDocument, StateRequest, StateView};
pub(crate) use task::{run_blocking, spawn_named, spawn_named_on};

/// The service: everything that the verbs share.
pub struct App {
    pub(crate) db: Db,
    pub(crate) models: Arc<dsrs::lm::Models>,
    pub(crate) model_settings: ModelTable,
    tools: Arc<ToolSource>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) shutdown: Shutdown,
    pub(crate) limits: Limits,
    pub(crate) worker: WorkerConfig,
    active_work: Arc<ActiveWork>,
    /// Where Python of a model runs; none when that is switched off.
    sandbox: Option<Arc<dyn Sandbox>>,
    pub(crate) idempotency_window: Duration,
    /// Where uploads wait that are too large for memory.
    pub(crate) spool_dir: PathBuf,
    recorder: RunRecorder,
    /// Whether a run is cancelled whose caller leaves.
    pub(crate) cancel_on_disconnect: bool,
    event_buffers: EventBuffers,
    run_slots: Arc<Semaphore>,
    programs: Programs,
    /// Where the database is asked and long work is done, whichever thread a run is on.
    workers: Handle,
}

impl App {
    /// Puts the service together over an open, migrated database, on the runtime it is called in. `models` is the table that runs
    /// use; it is handed in, so that a test can put scripted models there. What has to go on
    /// beside requests is in the [`Background`], which the caller keeps and stops.
    #[must_use]
    pub fn start(
        config: &Config,
        db: Db,
        models: dsrs::lm::Models,
        metrics: Arc<Metrics>,
        shutdown: Shutdown,
    ) -> (Arc<Self>, Background) {
        let (recorder, writer) = recorder(db.clone(), config.record);
        let app = Arc::new(Self {
            programs: Programs::new(),
            workers: Handle::current(),
            cancel_on_disconnect: config.cancel_on_disconnect,
            event_buffers: EventBuffers::default(),
            run_slots: Arc::new(Semaphore::new(config.limits.max_concurrent_runs as usize)),
            models: Arc::new(models),
            model_settings: config.models.clone(),
            tools: Arc::new(ToolSource::new(&config.tools)),
            limits: config.limits,
            worker: config.worker,
            active_work: Arc::default(),
            sandbox: sandbox::open(&config.sandbox),
            idempotency_window: config.idempotency_window,
            spool_dir: config.host.temp.clone(),
            recorder,
            metrics,
            shutdown,
            db,
        });
        let background = Background::start(&app, writer, config.retention);
        (app, background)
    }

    /// Waits until every MCP server of the settings has been tried once, so that definitions know its
    /// tools.
    pub async fn tools_tried(&self) {
        self.tools.attempted().await;
    }

    /// Where Python of a model runs; none when that is switched off.
    #[must_use]
    pub fn sandbox(&self) -> Option<&Arc<dyn Sandbox>> {
        self.sandbox.as_ref()
    }

    /// Whether the database answers and is migrated, and whether the server takes work.
    pub(crate) async fn readiness(&self) -> Readiness {
        let database = self.db.ping().await;
        let migrated = match &database {
            Ok(()) => self.db.is_migrated().await.unwrap_or(false),
            Err(_) => false,
        };
        Readiness { stopping: self.shutdown.is_draining(), database, migrated }
    }

    /// The metrics, as Prometheus reads them.
    pub(crate) fn metrics_text(&self) -> String {
        let stats = self.recorder.stats();
        self.metrics.gauge("dsrs_recorder_commits", stats.commits as f64);
        self.metrics.gauge("dsrs_recorder_runs", stats.runs as f64);
        self.metrics.gauge("dsrs_recorder_lost", stats.lost as f64);
        self.metrics.render()
    }
}

/// What readiness consists of.
pub(crate) struct Readiness {
    pub(crate) stopping: bool,
    pub(crate) database: Result<(), StoreError>,
    pub(crate) migrated: bool,
}
