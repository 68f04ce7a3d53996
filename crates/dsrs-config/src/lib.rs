//! Settings: read from file, environment and flags, checked all at once, and returned as one typed
//! [`Config`]. The lowest room of the server: it knows no database and no HTTP, and of the
//! engine only plain data.

mod allow;
mod archive;
mod endpoint;
mod engine;
mod engine_kind;
mod environment;
mod fallback;
mod file;
mod http;
mod keys;
mod layers;
mod limits_page;
mod load;
mod log;
mod mcp;
mod model_data;
mod models;
mod nearest;
mod origins;
mod read_model;
mod read_models;
mod read_secrets;
mod reader;
mod sandbox;
mod secrets;
mod setting;
mod settings;
mod settings_page;
mod telemetry;
mod value;
mod webhooks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;

pub use allow::Destination;
pub use archive::{ArchiveConfig, storage_options};
pub use endpoint::{CacheMarks, Capability, Constrain, Provider, TokenLimitField};
pub use engine::{EngineConfig, RestateConfig};
pub use engine_kind::{EngineKey, EngineKind};
pub use environment::{Environment, HostPaths};
pub use http::HttpConfig;
pub use keys::ApiKeys;
pub use limits_page::limits_markdown;
pub use load::{ConfigError, Flags};
pub use log::{LogConfig, LogFormat};
pub use mcp::{McpConfig, McpTransport};
pub use model_data::{TokenLimits, TokenPrices};
pub use models::{CacheConfig, DEFAULT_ALIAS, ModelConfig, ModelTable};
pub use origins::{SettingSource, setting_sources};
pub use sandbox::{SANDBOX_COMMAND, SandboxConfig};
pub use secrets::{Secret, SecretText, Secrets};
pub use setting::{FlagCommands, Setting, SettingKind};
pub use settings::{DatabaseConfig, Limits, RetentionConfig, WorkerConfig, all_settings, setting};
pub use settings_page::settings_markdown;
pub use telemetry::{OtlpProtocol, Sampler, SamplerRoot, TelemetryConfig};
pub use value::read_duration;
pub use webhooks::WebhookConfig;

/// The checked settings.
#[derive(Clone)]
pub struct Config {
    /// The address to listen on.
    pub bind: SocketAddr,
    /// The address for monitoring alone, if there is one.
    pub monitor_bind: Option<SocketAddr>,
    /// The directory of the private Postgres.
    pub data_dir: PathBuf,
    /// How the database is found.
    pub database: DatabaseConfig,
    /// The API keys that the server accepts.
    pub api_keys: ApiKeys,
    /// Whether the server may listen on a public address without keys.
    pub insecure: bool,
    /// How HTTP requests are admitted and answered.
    pub http: HttpConfig,
    /// The language models by alias.
    pub models: ModelTable,
    /// What tools may reach and name.
    pub tools: ToolSettings,
    /// How messages of webhooks are sent.
    pub webhooks: WebhookConfig,
    /// When runs are recorded.
    pub record: Record,
    /// Whether an execution is cancelled if its client disconnects.
    pub cancel_on_disconnect: bool,
    /// Limits of requests and runs.
    pub limits: Limits,
    /// Where uploads wait.
    pub uploads: UploadConfig,
    /// How background work is done.
    pub worker: WorkerConfig,
    /// Where Python that a model wrote runs.
    pub sandbox: SandboxConfig,
    /// How long an `Idempotency-Key` is remembered.
    pub idempotency_window: Duration,
    /// When old data is removed.
    pub retention: RetentionConfig,
    /// Where runs are written before they are removed.
    pub archive: Option<ArchiveConfig>,
    /// What hands background work to workers.
    pub engine: EngineConfig,
    /// Time for running work to finish when the server stops.
    pub shutdown_timeout: Duration,
    /// What is logged, and how.
    pub log: LogConfig,
    /// Where spans are sent to, if anywhere.
    pub telemetry: Option<TelemetryConfig>,
    /// Directories that the environment names.
    pub host: HostPaths,
    /// Oddities that are no reason to refuse, for the log.
    pub warnings: Vec<String>,
}

/// Where uploads wait.
#[derive(Debug, Clone)]
pub struct UploadConfig {
    /// The directory of their files.
    pub directory: PathBuf,
    /// The most bytes of all of them together.
    pub max_spool_bytes: u64,
    /// The same for each workspace.
    pub max_spool_bytes_per_workspace: Option<u64>,
    /// The most uploads at a time.
    pub max_concurrent: u32,
    /// The same for each workspace.
    pub max_concurrent_per_workspace: Option<u32>,
}

impl Config {
    /// Whether others can reach the server although no key is configured. They could run models at the
    /// operator's expense.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_public = !self.bind.ip().to_canonical().is_loopback();
        is_public && self.api_keys.is_empty() && !self.insecure
    }
}

/// What tools may reach and name.
#[derive(Debug, Clone, Default)]
pub struct ToolSettings {
    /// The destinations of their requests; none if the list is empty.
    pub allow: Vec<Destination>,
    /// The secrets that they may name.
    pub secrets: Secrets,
    /// The MCP servers whose tools exist, in the order of the file.
    pub mcp: IndexMap<String, McpConfig>,
}

/// When a run is written to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Before the response is sent.
    Ack,
    /// Soon after the response.
    Async,
    /// Never.
    Off,
}
