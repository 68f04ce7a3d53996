//! Settings: found in file, environment and flags, checked all at once, and handed on as one typed
//! [`Config`]. The lowest room of the server: it knows no database, no engine and no HTTP.

mod allow;
mod docs;
mod endpoint;
mod environment;
mod fallback;
mod file;
mod keys;
mod layers;
mod load;
mod mcp;
mod models;
mod nearest;
mod parse;
mod read_model;
mod read_models;
mod reader;
mod sandbox;
mod secrets;
mod table;
mod worker;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use secrecy::SecretString;

pub use allow::Allowed;
pub use docs::settings_markdown;
pub use endpoint::{Capability, Constrain, Provider};
pub use environment::{Environment, HostPaths};
pub use keys::ApiKeys;
pub use load::{ConfigError, Flags};
pub use mcp::{McpConfig, McpTransport};
pub use models::{CacheConfig, DEFAULT_ALIAS, ModelConfig, Models};
pub use sandbox::{SANDBOX_COMMAND, SandboxConfig};
pub use secrets::{SecretText, Secrets};
pub use table::{Kind, SETTINGS, Setting, setting};
pub use worker::WorkerConfig;

/// Everything the server was told, checked.
#[derive(Clone)]
pub struct Config {
    /// The address to listen on.
    pub bind: SocketAddr,
    /// The directory of the private Postgres.
    pub data_dir: PathBuf,
    /// How the database is found.
    pub database: DatabaseConfig,
    /// The keys that callers present.
    pub api_keys: ApiKeys,
    /// Whether an address that others can reach is fine without keys.
    pub insecure: bool,
    /// The language models by alias.
    pub models: Models,
    /// What tools may reach and name.
    pub tools: ToolSettings,
    /// When runs are recorded.
    pub record: Record,
    /// Whether a run is cancelled whose caller leaves.
    pub cancel_on_disconnect: bool,
    /// Bounds on requests and runs.
    pub limits: Limits,
    /// How background work is done.
    pub worker: WorkerConfig,
    /// Where Python of a model runs.
    pub sandbox: SandboxConfig,
    /// How long an `Idempotency-Key` is remembered.
    pub idempotency_window: Duration,
    /// How long runs and batches are kept that have ended; for good without it.
    pub retention: Option<Duration>,
    /// Time that running work gets when the server stops.
    pub shutdown_timeout: Duration,
    /// What is logged, in the words of `RUST_LOG`.
    pub log: String,
    /// Directories that the environment names.
    pub host: HostPaths,
    /// What is odd but no reason to refuse, for the log.
    pub warnings: Vec<String>,
}

/// How the database is found.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// A Postgres to use; without it the server keeps a private one.
    pub url: Option<SecretString>,
    /// Size of the connection pool.
    pub max_connections: u32,
    /// Where the private Postgres's programs are, instead of searching.
    pub pg_bin: Option<PathBuf>,
}

/// What tools may reach and name.
#[derive(Debug, Clone, Default)]
pub struct ToolSettings {
    /// What their requests may go to; nothing, where nothing is listed.
    pub allow: Vec<Allowed>,
    /// The secrets that they may name.
    pub secrets: Secrets,
    /// The MCP servers whose tools there are, in the order they were written.
    pub mcp: IndexMap<String, McpConfig>,
}

/// When a run is written to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Before the answer is sent.
    Ack,
    /// Soon after the answer.
    Async,
    /// Never.
    Off,
}

/// Bounds on requests and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body in bytes.
    pub body_bytes: usize,
    /// Largest body of a batch in bytes.
    pub batch_bytes: usize,
    /// Most items of a batch.
    pub batch_items: u32,
    /// Largest upload of a dataset in bytes.
    pub dataset_bytes: usize,
    /// Most examples of a dataset.
    pub dataset_examples: u32,
    /// Time limit of a run.
    pub run_timeout: Duration,
    /// Runs at the same time.
    pub max_concurrent_runs: u32,
    /// LM requests on their way at the same time, of all runs.
    pub max_concurrent_lm_requests: Option<u32>,
    /// LM requests on their way at the same time, of each run.
    pub max_concurrent_lm_requests_per_run: Option<u32>,
}
