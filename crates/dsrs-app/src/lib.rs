//! The operations of the service, one room per noun: ids, wall clocks, transactions and caches. Uses
//! `store`, `tool` and the engine; may not know HTTP.

// A build that leaves `mcp` out has code that only it uses.
#![cfg_attr(not(feature = "mcp"), allow(dead_code, unused_imports))]

mod access;
mod audit;
mod background;
mod batch;
mod capacity;
mod chat_model;
mod clock;
mod commit;
mod compute;
mod dataset;
pub mod engine;
mod engine_worker;
mod error;
mod evaluation;
mod event;
mod exposure;
mod feedback;
mod graph;
mod index;
mod item_upload;
mod job;
mod job_registry;
pub mod json;
mod key;
pub mod metrics;
mod metrics_text;
mod model;
mod online_evaluation;
mod optimization;
mod parse;
mod partition;
mod persist;
mod precondition;
mod predictor;
mod program;
mod quota;
mod request_id;
mod retention;
mod row_file;
mod run;
mod run_spans;
mod sandbox;
mod schedule;
mod search;
mod spool;
mod state;
mod strategy;
mod task;
mod usage;
mod webhook;
mod worker;
mod workspace;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dsrs::sandbox::Sandbox;
use dsrs_sandbox::ChildSandbox;
use tokio::sync::{Notify, Semaphore};

use crate::engine::Engine;
use crate::engine_worker::EngineListener;
use crate::index::search::IndexSearcher;
use crate::job::queue_places::QueuePlaces;
use dsrs_config::{Config, Limits, ModelTable, WebhookConfig, WorkerConfig};
use dsrs_shutdown::Shutdown;
use dsrs_store::run_recorder::{RunRecorder, recorder};
use dsrs_store::{Db, Scope, StoreError, background_run};
use dsrs_telemetry::Telemetry;
use dsrs_tool::{ToolSource, WebhookClient};
use event::buffer::EventBuffers;
use exposure::ExposureCache;
use item_upload::CheckRoom;
use job::active::ActiveWork;
use metrics::Metrics;
use metrics_text::QueueCache;
use program::Programs;
use run_spans::ModelEndpoints;

pub use access::{Access, Identity, IdentityKey};
pub use background::BackgroundTasks;
pub use batch::BatchRequest;
pub use batch::attempt::Batches;
pub use capacity::{Capacity, CapacityExceeded, CapacityShare};
pub use chat_model::{ChatMessage, ChatModel};
pub use clock::timestamp;
pub use commit::{AnswerBuilder, Commit};
pub use compute::{ComputePool, compute_blocking};
pub use dataset::example::{ColumnMapping, example_line};
pub use dataset::reference::{DatasetPart, DatasetRef};
pub use dataset::selection::{DatasetCheck, DatasetFit, DatasetPick};
pub use dataset::{DatasetPut, DatasetRequest};
pub use engine::{EngineFinding, check_engine};
pub use error::{AppError, Invalid, summary};
pub use evaluation::EvaluationRequest;
pub use evaluation::attempt::Evaluations;
pub use evaluation::comparison::ScoreComparison;
pub use evaluation::forecast::{EstimateBasis, UsageEstimate};
pub use evaluation::score_summary::ScoreSummary;
pub use event::log_reader::Followable;
pub use event::{EventKind, EventStream, StreamItem};
pub use graph::profile::{GraphProfile, NodeProfile, ProfileRequest};
pub use graph::{GraphSketch, GraphUpdate, NodeSketch, SketchPort};
pub use index::IndexWithBuilds;
pub use index::attempt::IndexBuilds;
pub use item_upload::{ItemContent, ItemSource, WrittenItem};
pub use job::kind::JobKind;
pub use key::{CreatedKey, KeyAdministration, KeyInWorkspace};
pub use model::endpoint_check::{FeatureCheck, FeatureOutcome, check_embedding, check_model};
pub use model::{ModelError, engine_models};
pub use optimization::OptimizationRequest;
pub use optimization::attempt::Optimizations;
pub use optimization::plan::Activate;
pub use parse::ParseFailure;
pub use partition::add_all as add_partitions;
pub use precondition::Precondition;
pub use predictor::NodeRenderRequest;
pub use quota::{KeyQuota, QuotaRefusal, QuotaStatus, Quotas, RunPlace, Start};
pub use request_id::{RequestId, RunTimes};
pub use run::attempt::BackgroundRuns;
pub use run::execute::{ExecuteRequest, FinishedRun, StreamedExecution};
pub use run::failure::RunFailure;
pub use run::failure::whole_seconds;
pub use run::labels as run_labels;
pub use run::request as run_request;
pub use run::resume::{ResumeOutcome, ResumeRequest};
pub use run::signal::SignalRequest;
pub use run_spans::{AnsweredSpan, McpCall, McpCallEnd, McpCallSpan};
pub use sandbox::WallSearch;
pub use schedule::calendar::zone_names;
pub use schedule::{ScheduleWithTimes, times_of};
pub use search::SearchMatches;
pub use spool::{SpoolError, SpoolFile, SpoolSpace, check_spool_directory, no_space};
pub use state::candidate::{StateCandidate, StatePromotion};
pub use state::history::{PredictorOutline, StateHistory};
pub use state::{StateActivation, StateComparison};
pub use state::{StateDocument, StateRequest, StateUpdate, StateVersion};
pub use strategy::{Assignable, PredictorPreview, Preview};
pub use task::{run_blocking, spawn_named, spawn_named_on};
pub use usage::{UsageItem, UsageScore};
pub use webhook::{TEST_EVENT, WebhookSecret};
pub use workspace::{workspace_create, workspace_get, workspace_list};

/// How long work waits for the tools of MCP servers that are starting.
const TOOLS_TIME: Duration = Duration::from_secs(20);

/// The service: what all operations share.
pub struct App {
    pub db: Db,
    pub(crate) models: Arc<dsrs::lm::Models>,
    pub model_settings: ModelTable,
    tools: Arc<ToolSource>,
    pub metrics: Arc<Metrics>,
    pub shutdown: Shutdown,
    pub limits: Limits,
    pub worker: WorkerConfig,
    pub access: Arc<Access>,
    pub quotas: Arc<Quotas>,
    active_work: Arc<ActiveWork>,
    /// Runs Python that models write; `None` if it is disabled.
    sandbox: Option<Arc<ChildSandbox>>,
    pub idempotency_window: Duration,
    /// Where runs are written before they are removed.
    pub(crate) archive: Option<dsrs_archive::RunArchive>,
    /// What hands background work to workers.
    pub(crate) engine: Arc<dyn Engine>,
    /// The space for uploads that are too large for memory.
    pub spool: SpoolSpace,
    /// The memory for the bodies of all other requests.
    pub body_memory: Arc<Capacity>,
    /// Sends messages of webhooks.
    webhook_client: WebhookClient,
    webhook_settings: WebhookConfig,
    /// Wakes the task that sends messages.
    deliveries_due: Notify,
    /// Whether this process fires schedules: only one with routes does.
    fires_schedules: AtomicBool,
    /// Wakes the task that fires schedules.
    firings_due: Notify,
    recorder: RunRecorder,
    /// Where spans are sent to, if anywhere.
    pub telemetry: Option<Arc<Telemetry>>,
    model_endpoints: Arc<ModelEndpoints>,
    /// The places in the queue of background runs.
    pub(crate) run_queue: QueuePlaces,
    /// Whether a run is cancelled if its client disconnects.
    pub(crate) cancel_on_disconnect: bool,
    event_buffers: EventBuffers,
    run_slots: Arc<Semaphore>,
    workspace_runs: Arc<Capacity>,
    /// The followers of events.
    followers: Arc<Capacity>,
    queue_cache: QueueCache,
    programs: Programs,
    exposures: ExposureCache,
    /// Searches passages.
    pub(crate) indexes: Arc<IndexSearcher>,
    /// The threads for what callers make the server compute.
    compute: ComputePool,
}

impl App {
    /// Starts the service with an open, migrated database on the current runtime. `models` are the
    /// models that runs use; a test passes scripted ones. The returned [`BackgroundTasks`] has the tasks
    /// besides requests; the caller stops it.
    ///
    /// # Errors
    /// If the system starts no threads, there is no such archive, or the address for the engine is in use.
    pub fn start(
        config: &Config,
        db: Db,
        models: dsrs::lm::Models,
        metrics: Arc<Metrics>,
        shutdown: Shutdown,
    ) -> io::Result<(Arc<Self>, BackgroundTasks)> {
        let engine_listener = EngineListener::open(config)?;
        let (recorder, writer) = recorder(db.clone(), config.record);
        let telemetry = config.telemetry.as_ref().map(Telemetry::start).transpose();
        let app = Arc::new(Self {
            queue_cache: QueueCache::default(),
            programs: Programs::new(),
            exposures: ExposureCache::new(),
            indexes: Arc::new(IndexSearcher::new(db.clone())),
            compute: ComputePool::start()?,
            cancel_on_disconnect: config.cancel_on_disconnect,
            event_buffers: EventBuffers::default(),
            run_slots: Arc::new(Semaphore::new(config.limits.max_concurrent_runs as usize)),
            workspace_runs: Capacity::new(
                u64::MAX,
                config.limits.max_runs_per_workspace.map(u64::from),
            ),
            followers: Capacity::new(
                config.limits.max_followers.into(),
                config.limits.max_followers_per_workspace.map(u64::from),
            ),
            models: Arc::new(models.with_run_budget(model::run_budget(&config.limits))),
            model_settings: config.models.clone(),
            tools: Arc::new(ToolSource::new(&config.tools)),
            limits: config.limits,
            worker: config.worker,
            access: Arc::new(Access::new(&config.api_keys, Some(db.clone()))),
            quotas: Arc::new(Quotas::new(db.clone())),
            active_work: Arc::default(),
            sandbox: sandbox::open(config),
            idempotency_window: config.idempotency_window,
            archive: dsrs_archive::open(config.archive.as_ref(), &db)?,
            engine: engine::open(&config.engine)?,
            spool: SpoolSpace::new(&config.uploads),
            body_memory: Capacity::new(
                config.limits.body_memory as u64,
                config.limits.body_memory_per_workspace.map(|bytes| bytes as u64),
            ),
            webhook_client: WebhookClient::new(config.webhooks.allow.clone()),
            webhook_settings: config.webhooks.clone(),
            deliveries_due: Notify::new(),
            fires_schedules: AtomicBool::new(false),
            firings_due: Notify::new(),
            recorder,
            telemetry: telemetry.map_err(io::Error::other)?,
            model_endpoints: Arc::new(ModelEndpoints::of(&config.models)),
            run_queue: QueuePlaces::new(background_run::JOB),
            metrics,
            shutdown,
            db,
        });
        let background = BackgroundTasks::start(&app, writer, config.retention, engine_listener);
        Ok((app, background))
    }

    /// The models for many runs of one graph, whose requests are counted under its name.
    pub(crate) fn observed_models(&self, graph: &str) -> Arc<dsrs::lm::Models> {
        Arc::new(dsrs::lm::Models::clone(&self.models).observed(self.metrics.graph(graph)))
    }

    /// Waits until the server has tried to connect to every configured MCP server, so that
    /// definitions can name its tools; not for one that takes long to start.
    pub async fn tools_tried(&self) {
        self.tools.attempted(TOOLS_TIME).await;
    }

    /// Runs Python that models write; `None` if it is disabled.
    #[must_use]
    pub fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.sandbox.clone().map(|sandbox| sandbox as Arc<dyn Sandbox>)
    }

    /// Waits for a search for the walls around the programs of models, for the metrics.
    pub async fn walls_found(&self, search: WallSearch) {
        let Some(found) = search.found().await else { return };
        for (wall, stands) in found.walls {
            self.metrics.wall(wall.as_str(), stands);
        }
        self.metrics.gauge(metrics::catalogue::SANDBOX_USABLE, f64::from(u8::from(found.usable)));
    }

    /// Whether the database answers, is migrated and sends notifications, and whether the server accepts
    /// work.
    pub async fn readiness(&self) -> Readiness {
        let database = self.db.ping().await;
        let migrated = match &database {
            Ok(()) => self.db.is_migrated().await.unwrap_or(false),
            Err(_) => false,
        };
        Readiness {
            stopping: self.shutdown.is_draining(),
            database,
            migrated,
            confirmed: self.db.changes().is_confirmed(),
        }
    }

    /// The threads for what callers make the server compute.
    pub fn compute(&self) -> &ComputePool {
        &self.compute
    }

    /// Where the items of an upload are checked.
    fn check_room(&self, scope: &Scope) -> CheckRoom {
        CheckRoom { rows: self.spool.file(scope.workspace), time: self.limits.run_timeout }
    }

    /// A place for one more client that follows events.
    ///
    /// # Errors
    /// If there are too many.
    pub fn follower_place(&self, scope: &Scope) -> Result<CapacityShare, AppError> {
        self.followers.place(scope.workspace).map_err(CapacityExceeded::of_followers)
    }
}

/// The parts of readiness.
pub struct Readiness {
    pub stopping: bool,
    pub database: Result<(), StoreError>,
    pub migrated: bool,
    /// Whether notifications of other servers arrive.
    pub confirmed: bool,
}
