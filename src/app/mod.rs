//! The operations of the service, one room per noun: ids, wall clocks, transactions and caches. Uses
//! `store`, `tool` and the engine; may not know HTTP.

mod access;
mod answer_builder;
pub mod archive;
mod audit;
mod background;
mod batch;
mod capacity;
mod chat_model;
mod clock;
mod compute;
mod dataset;
pub(crate) mod engine;
mod engine_worker;
mod error;
mod evaluation;
mod event;
mod exposure;
mod feedback;
mod graph;
mod item_upload;
mod job;
mod job_registry;
pub(crate) mod json;
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
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dsrs::sandbox::Sandbox;
use dsrs_sandbox::ChildSandbox;
use tokio::sync::{Notify, Semaphore};

use crate::app::archive::RunArchive;
use crate::app::engine::Engine;
use crate::app::engine_worker::EngineListener;
use crate::app::job::queue_places::QueuePlaces;
use crate::config::{Config, Limits, ModelTable, WebhookConfig, WorkerConfig};
use crate::shutdown::Shutdown;
use crate::store::run_recorder::{RunRecorder, recorder};
use crate::store::{Db, Scope, StoreError, background_run};
use crate::telemetry::Telemetry;
use crate::tool::{ToolSource, WebhookClient};
use event::buffer::EventBuffers;
use exposure::ExposureCache;
use item_upload::CheckRoom;
use job::active::ActiveWork;
use metrics::Metrics;
use metrics_text::QueueLook;
use program::Programs;
use run_spans::ModelEndpoints;
use spool::SpoolSpace;

pub use access::{Access, Identity, IdentityKey};
pub(crate) use answer_builder::AnswerBuilder;
pub use background::BackgroundTasks;
pub(crate) use batch::BatchRequest;
pub(crate) use batch::attempt::Batches;
pub(crate) use capacity::{Capacity, CapacityExceeded, CapacityShare};
pub(crate) use chat_model::{ChatMessage, ChatModel};
pub(crate) use clock::timestamp;
pub(crate) use compute::{ComputePool, compute_blocking};
pub(crate) use dataset::example::{ColumnMapping, example_line, is_split};
pub(crate) use dataset::from_runs::{ExpectedOutputs, FromRuns};
pub(crate) use dataset::reference::{DatasetPart, DatasetRef};
pub(crate) use dataset::selection::{DatasetCheck, DatasetFit, DatasetPick};
pub(crate) use dataset::{DatasetPut, DatasetRequest};
pub(crate) use engine::{EngineFinding, check_engine};
pub use error::{AppError, Invalid};
pub(crate) use evaluation::EvaluationRequest;
pub(crate) use evaluation::attempt::Evaluations;
pub(crate) use evaluation::comparison::ScoreComparison;
pub(crate) use evaluation::forecast::{EstimateBasis, UsageEstimate};
pub(crate) use evaluation::score_summary::ScoreSummary;
pub(crate) use event::log_reader::Followable;
pub(crate) use event::{EventKind, EventStream, StreamItem};
pub(crate) use feedback::{FeedbackRequest, FeedbackScore, ONLINE, USER};
pub(crate) use graph::profile::{GraphProfile, NodeProfile, ProfileRequest};
pub(crate) use graph::{GraphSketch, GraphUpdate, NodeSketch, SketchPort};
pub(crate) use item_upload::{ItemContent, ItemSource, WrittenItem};
pub(crate) use job::kind::JobKind;
pub use key::{CreatedKey, KeyAdministration, KeyInWorkspace, KeyRequest, PlainName};
pub(crate) use model::endpoint_check::{
    FeatureCheck, FeatureOutcome, check_embedding, check_model,
};
pub use model::{ModelError, engine_models};
pub(crate) use online_evaluation::OnlineEvaluationRequest;
pub(crate) use optimization::OptimizationRequest;
pub(crate) use optimization::attempt::Optimizations;
pub(crate) use optimization::plan::Activate;
pub use parse::ParseFailure;
pub use partition::add_all as add_partitions;
pub(crate) use precondition::Precondition;
pub(crate) use predictor::NodeRenderRequest;
pub use quota::{KeyQuota, QuotaRefusal, QuotaStatus, Quotas, RunPlace, Start};
pub use request_id::{RequestId, RunTimes};
pub(crate) use run::attempt::BackgroundRuns;
pub(crate) use run::execute::{ExecuteRequest, FinishedRun, StreamedExecution};
pub use run::failure::RunFailure;
pub(crate) use run::failure::whole_seconds;
pub(crate) use run::labels as run_labels;
pub(crate) use run::resume::{ResumeOutcome, ResumeRequest};
pub(crate) use run::signal::SignalRequest;
pub(crate) use run_spans::{AnsweredSpan, McpCall, McpCallEnd, McpCallSpan};
pub(crate) use schedule::calendar::zone_names;
pub(crate) use schedule::policy::{CatchUp, Overlap, ScheduleTarget};
pub(crate) use schedule::{
    ScheduleChange, ScheduleDraft, ScheduleWithTimes, StartRefusal, WorkAnswer, WorkRequest,
    WorkStarter, times_of,
};
pub(crate) use search::SearchMatches;
pub use spool::{SpoolError, check_spool_directory};
pub(crate) use spool::{SpoolFile, no_space};
pub use state::candidate::{StateCandidate, StatePromotion};
pub(crate) use state::history::{PredictorOutline, StateHistory};
pub(crate) use state::{StateActivation, StateComparison};
pub(crate) use state::{StateDocument, StateRequest, StateUpdate, StateVersion};
pub(crate) use strategy::{Assignable, PredictorPreview, Preview};
pub(crate) use task::{run_blocking, spawn_named, spawn_named_on};
pub(crate) use usage::{UsageItem, UsageScore};
pub(crate) use webhook::{ScoreThreshold, TEST_EVENT, WebhookChange, WebhookEvent, WebhookSecret};
pub use workspace::{workspace_create, workspace_get, workspace_list};

/// How long work waits for the tools of MCP servers that are starting.
const TOOLS_TIME: Duration = Duration::from_secs(20);

/// The service: what all operations share.
pub struct App {
    pub(crate) db: Db,
    pub(crate) models: Arc<dsrs::lm::Models>,
    pub(crate) model_settings: ModelTable,
    tools: Arc<ToolSource>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) shutdown: Shutdown,
    pub(crate) limits: Limits,
    pub(crate) worker: WorkerConfig,
    pub(crate) access: Arc<Access>,
    pub(crate) quotas: Arc<Quotas>,
    active_work: Arc<ActiveWork>,
    /// Runs Python that models write; `None` if it is disabled.
    sandbox: Option<Arc<ChildSandbox>>,
    pub(crate) idempotency_window: Duration,
    /// Where runs are written before they are removed.
    pub(crate) archive: Option<RunArchive>,
    /// What hands background work to workers.
    pub(crate) engine: Arc<dyn Engine>,
    /// The space for uploads that are too large for memory.
    pub(crate) spool: SpoolSpace,
    /// The memory for the bodies of all other requests.
    pub(crate) body_memory: Arc<Capacity>,
    /// Sends messages of webhooks.
    webhook_client: WebhookClient,
    webhook_settings: WebhookConfig,
    /// Wakes the task that sends messages.
    deliveries_due: Notify,
    /// Starts the work of schedules; only a process with routes has one.
    pub(crate) work_starter: OnceLock<&'static dyn WorkStarter>,
    /// Wakes the task that fires schedules.
    firings_due: Notify,
    recorder: RunRecorder,
    /// Where spans are sent to, if anywhere.
    pub(crate) telemetry: Option<Arc<Telemetry>>,
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
    queue_look: QueueLook,
    programs: Programs,
    exposures: ExposureCache,
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
            queue_look: QueueLook::default(),
            programs: Programs::new(),
            exposures: ExposureCache::new(),
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
            archive: archive::open(config.archive.as_ref(), &db)?,
            engine: engine::open(&config.engine)?,
            spool: SpoolSpace::new(&config.uploads),
            body_memory: Capacity::new(
                config.limits.body_memory as u64,
                config.limits.body_memory_per_workspace.map(|bytes| bytes as u64),
            ),
            webhook_client: WebhookClient::new(config.webhooks.allow.clone()),
            webhook_settings: config.webhooks.clone(),
            deliveries_due: Notify::new(),
            work_starter: OnceLock::new(),
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

    /// Finds which walls stand around the programs of models, for the log and the metrics.
    pub async fn walls_found(&self) {
        let Some(sandbox) = &self.sandbox else { return };
        let found = sandbox::find_walls(sandbox).await;
        for (wall, stands) in found.walls {
            self.metrics.wall(wall.as_str(), stands);
        }
        self.metrics.gauge(metrics::catalogue::SANDBOX_USABLE, f64::from(u8::from(found.usable)));
    }

    /// Whether the database answers, is migrated and sends notifications, and whether the server accepts
    /// work.
    pub(crate) async fn readiness(&self) -> Readiness {
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
    pub(crate) fn compute(&self) -> &ComputePool {
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
    pub(crate) fn follower_place(&self, scope: &Scope) -> Result<CapacityShare, AppError> {
        self.followers.place(scope.workspace).map_err(CapacityExceeded::of_followers)
    }
}

/// The parts of readiness.
pub(crate) struct Readiness {
    pub(crate) stopping: bool,
    pub(crate) database: Result<(), StoreError>,
    pub(crate) migrated: bool,
    /// Whether notifications of other servers arrive.
    pub(crate) confirmed: bool,
}
