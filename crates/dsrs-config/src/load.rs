//! Loads flags, environment and file into a checked [`Config`], or reports every problem at once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::allow::read_destinations;
use super::archive::read_archive;
use super::engine::read_engine;
use super::environment::Environment;
use super::file::read_file;
use super::http::read_http;
use super::keys::{ApiKeys, unusable};
use super::layers::Layers;
use super::mcp::read_servers;
use super::read_models::read_models;
use super::read_secrets::read_secrets;
use super::reader::SettingReader;
use super::sandbox::read_sandbox;
use super::settings::{
    AccessSettings, DatabaseConfig, HostSettings, Limits, LogSettings, ProcessSettings,
    RetentionConfig, RunSettings, ToolAccessSettings, UploadSettings, WorkerConfig, all_settings,
};
use super::telemetry::read_telemetry;
use super::webhooks::read_webhooks;
use super::{Config, LogConfig, ToolSettings, UploadConfig};

/// The file that is read if none is named and this one exists.
const DEFAULT_FILE: &str = "dsrs.toml";

/// The flags of the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// Text of each flag, by the path of its setting.
    pub settings: BTreeMap<String, String>,
}

/// Every reason why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// One readable line each; never empty.
    pub problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads flags over environment over file over defaults, and checks the result.
    pub fn load(flags: &Flags, env: &Environment) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let file = match settings_file(flags, env) {
            Some(path) => read_file(&path, &mut problems),
            None => Vec::new(),
        };
        let layers = Layers::collect(all_settings(), file, env, &flags.settings);
        let mut read = SettingReader { layers: &layers, env, problems, warnings: Vec::new() };
        match (assemble(&mut read), read.problems.is_empty()) {
            (Some(config), true) => Ok(config),
            _ => Err(ConfigError { problems: read.problems }),
        }
    }
}

/// The file that is read, if there is one.
pub(super) fn settings_file(flags: &Flags, env: &Environment) -> Option<PathBuf> {
    let named = flags.config.clone().or_else(|| env.get("DSRS_CONFIG").map(PathBuf::from));
    let default = || Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists());
    named.or_else(default)
}

/// Reads everything before it gives up, so that every problem is found.
fn assemble(read: &mut SettingReader<'_>) -> Option<Config> {
    let host = HostSettings::read(read, "");
    let database = DatabaseConfig::read(read, "");
    let access = AccessSettings::read(read, "");
    let api_keys = access.as_ref().map(|access| read_keys(read, access));
    let http = read_http(read);
    let models = read_models(read);
    let tools = read_tools(read);
    let webhooks = read_webhooks(read);
    let runs = RunSettings::read(read, "");
    let limits = Limits::read(read, "");
    let uploads = UploadSettings::read(read, "");
    let worker = WorkerConfig::read(read, "");
    let sandbox = read_sandbox(read);
    let retention = RetentionConfig::read(read, "");
    let archive = read_archive(read);
    let engine = read_engine(read);
    let process = ProcessSettings::read(read, "");
    let log = LogSettings::read(read, "");
    let telemetry = read_telemetry(read.env, &mut read.problems, &mut read.warnings);
    let (host, runs, process, uploads, log) = (host?, runs?, process?, uploads?, log?);
    let paths = read.env.host();
    Some(Config {
        bind: host.bind,
        monitor_bind: host.monitor_bind,
        data_dir: host.data_dir,
        database: database?,
        api_keys: api_keys?,
        insecure: access?.insecure,
        http: http?,
        models: models?,
        tools: tools?,
        webhooks: webhooks?,
        record: runs.record,
        cancel_on_disconnect: runs.cancel_on_disconnect,
        limits: limits?,
        uploads: UploadConfig {
            directory: uploads.directory.unwrap_or_else(|| paths.temp.clone()),
            max_spool_bytes: uploads.max_spool_bytes as u64,
            max_spool_bytes_per_workspace: uploads
                .max_spool_bytes_per_workspace
                .map(|bytes| bytes as u64),
            max_concurrent: uploads.max_concurrent,
            max_concurrent_per_workspace: uploads.max_concurrent_per_workspace,
        },
        worker: worker?,
        sandbox: sandbox?,
        idempotency_window: process.idempotency_window,
        retention: retention?,
        archive: archive?,
        engine: engine?,
        shutdown_timeout: process.shutdown_timeout,
        log: LogConfig { filter: process.log, format: log.format, slow_request: log.slow_request },
        telemetry,
        host: paths,
        warnings: read.layers.warnings.iter().chain(&read.warnings).cloned().collect(),
    })
}

fn read_tools(read: &mut SettingReader<'_>) -> Option<ToolSettings> {
    let access = ToolAccessSettings::read(read, "")?;
    let allow = read_destinations(read, "tools.allow", &access.allow);
    let secrets = read_secrets(read)?;
    let mcp = read_servers(read, &secrets);
    Some(ToolSettings { allow, secrets, mcp })
}

/// The keys of the setting and those of the file together.
fn read_keys(read: &mut SettingReader<'_>, access: &AccessSettings) -> ApiKeys {
    let mut keys = access.api_keys.clone();
    check_keys(read, "api_keys", &keys);
    if let Some(path) = &access.api_keys_file {
        let found = read_key_file(read, path);
        check_keys(read, "api_keys_file", &found);
        keys.extend(found);
    }
    ApiKeys::new(keys.iter().map(String::as_str))
}

fn check_keys(read: &mut SettingReader<'_>, path: &str, keys: &[String]) {
    for (position, key) in keys.iter().enumerate() {
        if let Some(reason) = unusable(key) {
            read.problems.push(format!("{path}: key {} {reason}", position + 1));
        }
    }
}

fn read_key_file(read: &mut SettingReader<'_>, path: &Path) -> Vec<String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            read.problems.push(format!("api_keys_file: cannot read {}: {error}", path.display()));
            return Vec::new();
        }
    };
    let lines = text.lines().map(str::trim);
    let keys: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    if keys.is_empty() {
        // An empty file must not open the server to everyone.
        read.problems.push(format!("api_keys_file: {} contains no key", path.display()));
    }
    keys
}
