//! From flags and environment to a checked [`Config`], or every problem at once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use url::Url;

use super::allow::read_allowed;
use super::environment::Environment;
use super::file::read_file;
use super::keys::{ApiKeys, unusable};
use super::layers::Layers;
use super::mcp::read_servers;
use super::read_models::read_models;
use super::reader::Reader;
use super::sandbox::read_sandbox;
use super::secrets::read_secrets;
use super::worker::read_worker;
use super::{Config, DatabaseConfig, Limits, Record, ToolSettings, parse};

/// The file that is read when none is named and it is there.
const USUAL_FILE: &str = "dsrs.toml";

/// What the command line said.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// Text of each flag that was given, by the setting's path.
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
        let layers = Layers::collect(file, env, &flags.settings);
        let mut read = Reader { layers: &layers, env, problems };
        match (assemble(&mut read), read.problems.is_empty()) {
            (Some(config), true) => Ok(config),
            _ => Err(ConfigError { problems: read.problems }),
        }
    }
}

fn settings_file(flags: &Flags, env: &Environment) -> Option<PathBuf> {
    let named = flags.config.clone().or_else(|| env.get("DSRS_CONFIG").map(PathBuf::from));
    let usual = || Some(PathBuf::from(USUAL_FILE)).filter(|path| path.exists());
    named.or_else(usual)
}

/// Reads everything before giving up, so that every problem is found.
fn assemble(read: &mut Reader<'_>) -> Option<Config> {
    let bind = read.required("bind", parse::address);
    let data_dir = read.required("data_dir", parse::text);
    let database = read_database(read);
    let api_keys = read_keys(read);
    let insecure = read.required("insecure", parse::switch);
    let models = read_models(read);
    let tools = read_tools(read);
    let record = read.required("runs.record", record);
    let cancel_on_disconnect = read.required("runs.cancel_on_disconnect", parse::switch);
    let limits = read_limits(read);
    let worker = read_worker(read);
    let sandbox = read_sandbox(read);
    let idempotency_window = read.required("idempotency_window", parse::duration);
    let retention = read.optional("retention.runs", parse::duration);
    let shutdown_timeout = read.required("shutdown_timeout", parse::duration);
    let log = read.required("log", parse::text);
    let config = Config {
        bind: bind?,
        data_dir: data_dir?.into(),
        database: database?,
        api_keys,
        insecure: insecure?,
        models: models?,
        tools,
        record: record?,
        cancel_on_disconnect: cancel_on_disconnect?,
        limits: limits?,
        worker: worker?,
        sandbox: sandbox?,
        idempotency_window: idempotency_window?,
        retention,
        shutdown_timeout: shutdown_timeout?,
        log: log?,
        host: read.env.host(),
        warnings: read.layers.warnings.clone(),
    };
    refuse_open_bind(read, &config);
    Some(config)
}

/// Others could run models on the owner's bill.
fn refuse_open_bind(read: &mut Reader<'_>, config: &Config) {
    let open = !config.bind.ip().to_canonical().is_loopback();
    if open && config.api_keys.is_empty() && !config.insecure {
        read.problems.push(format!(
            "bind {} can be reached by others and no key is set; set DSRS_API_KEYS, or pass --insecure to allow it",
            config.bind
        ));
    }
}

fn read_database(read: &mut Reader<'_>) -> Option<DatabaseConfig> {
    let url = read.optional("database.url", parse::database_url);
    let max_connections = read.required("database.max_connections", parse::positive);
    let pg_bin = read.optional("database.pg_bin", parse::text);
    Some(DatabaseConfig {
        url: url.map(|url: Url| SecretString::from(String::from(url))),
        max_connections: max_connections?,
        pg_bin: pg_bin.map(PathBuf::from),
    })
}

fn read_tools(read: &mut Reader<'_>) -> ToolSettings {
    let allow = read_allowed(read, "tools.allow");
    let secrets = read_secrets(read);
    let mcp = read_servers(read, &secrets);
    ToolSettings { allow, secrets, mcp }
}

fn read_limits(read: &mut Reader<'_>) -> Option<Limits> {
    let body_bytes = read.required("limits.body_bytes", parse::bytes);
    let batch_bytes = read.required("limits.batch_bytes", parse::bytes);
    let batch_items = read.required("limits.batch_items", parse::positive);
    let dataset_bytes = read.required("limits.dataset_bytes", parse::bytes);
    let dataset_examples = read.required("limits.dataset_examples", parse::positive);
    let run_timeout = read.required("limits.run_timeout_ms", parse::millis);
    let max_concurrent_runs = read.required("limits.max_concurrent_runs", parse::positive);
    let requests = "limits.max_concurrent_lm_requests";
    let max_concurrent_lm_requests = read.optional(requests, parse::positive);
    let max_concurrent_lm_requests_per_run =
        read.optional(&format!("{requests}_per_run"), parse::positive);
    Some(Limits {
        body_bytes: body_bytes?,
        batch_bytes: batch_bytes?,
        batch_items: batch_items?,
        dataset_bytes: dataset_bytes?,
        dataset_examples: dataset_examples?,
        run_timeout: run_timeout?,
        max_concurrent_runs: max_concurrent_runs?,
        max_concurrent_lm_requests,
        max_concurrent_lm_requests_per_run,
    })
}

fn record(word: &str) -> Result<Record, String> {
    match word {
        "ack" => Ok(Record::Ack),
        "async" => Ok(Record::Async),
        "off" => Ok(Record::Off),
        _ => Err("expected ack, async or off".to_owned()),
    }
}

/// The keys given directly and those of the file together.
fn read_keys(read: &mut Reader<'_>) -> ApiKeys {
    let mut keys: Vec<String> = Vec::new();
    if let Some(given) = read.given("api_keys") {
        keys.extend(given.list().map(str::to_owned));
        check_keys(read, "api_keys", &keys);
    }
    if let Some(path) = read.optional("api_keys_file", parse::text) {
        let found = read_key_file(read, Path::new(&path));
        check_keys(read, "api_keys_file", &found);
        keys.extend(found);
    }
    ApiKeys::new(keys.iter().map(String::as_str))
}

fn check_keys(read: &mut Reader<'_>, path: &str, keys: &[String]) {
    for (position, key) in keys.iter().enumerate() {
        if let Some(reason) = unusable(key) {
            read.problems.push(format!("{path}: key {} {reason}", position + 1));
        }
    }
}

fn read_key_file(read: &mut Reader<'_>, path: &Path) -> Vec<String> {
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
        // A file that was meant to close the door must not leave it open.
        read.problems.push(format!("api_keys_file: {} holds no key", path.display()));
    }
    keys
}
