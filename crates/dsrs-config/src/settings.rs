//! Every setting of the server, once. A new setting is one line here and its use: file, environment,
//! flag, `--help`, the table of `docs/settings.md` and the checked value all follow from the line. How a
//! value is found belongs to `layers`, how its text is parsed to `value`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use dsrs::lm::{ExtraBody, ExtraHeaders, ReasoningEffort};
use secrecy::SecretString;
use url::Url;

use super::Record;
use super::endpoint::{CacheMarks, Constrain, Provider, TokenLimitField};
use super::engine_kind::{EngineKey, EngineKind};
use super::log::LogFormat;
use super::reader::SettingReader;
use super::setting::FlagCommands::{All, Serve, Work};
use super::setting::{Setting, settings};
use super::value::{
    ADDRESS, ARCHIVE_URL, BYTES, CACHE_MARKS, CONSTRAIN, DATABASE_URL, DURATION, EDGES, ENGINE,
    ENGINE_KEY, ENUM_VALUES, EXTRA_BODY, EXTRA_HEADERS, HTTP_URL, LEASE, LIST, LOG_FORMAT, MILLIS,
    NODES, OUTPUT_KIB, PATH, POSITIVE, PRICE, PROVIDER, REASONING_EFFORT, RECORD, SECRET,
    SECRET_LIST, SEED, SERVICE_PREFIX, STALENESS, SWITCH, TEMPERATURE, TEXT, TOKEN_LIMIT_FIELD,
    TOP_P, TYPES,
};

settings! {
    /// Where the server listens and keeps its files.
    pub(super) struct HostSettings in "" {
        /// address to listen on; port 0 selects a free port
        bind: SocketAddr = required(ADDRESS).default("127.0.0.1:8080").flag(Serve);
        /// address that answers `/healthz`, `/readyz` and `/metrics` alone, without a key; none if not set
        monitor_bind: Option<SocketAddr> = optional(ADDRESS).flag(Work);
        /// directory of the private Postgres
        data_dir: PathBuf = required(PATH).default("./data").flag(All);
    }

    /// How the database is found.
    pub struct DatabaseConfig in "database." {
        /// a Postgres to use instead of the private one
        url: Option<SecretString> = optional(DATABASE_URL).also(&["DATABASE_URL"]).flag(All);
        /// a streaming replica of that Postgres, which answers lists of runs and look-ups of runs that succeeded
        replica_url: Option<SecretString> = optional(DATABASE_URL).flag(Work);
        /// how far the replica may be behind; the database itself answers if it is further
        replica_max_lag: Duration = required(DURATION).default("10s").flag(Work);
        /// size of the connection pool
        max_connections: u32 = required(POSITIVE).default("16").flag(All);
        /// longest time that a server may serve a graph's versions from memory without having confirmed that it missed no change
        max_staleness: Duration = required(STALENESS).default("5s").flag(Work);
        /// directory with `initdb` and `postgres`, instead of searching
        pg_bin: Option<PathBuf> = optional(PATH).also(&["PG_BIN"]).flag(All);
    }

    /// Who may call.
    pub(super) struct AccessSettings in "" {
        /// API keys that the server accepts, separated by commas
        api_keys: Vec<String> = listed(SECRET_LIST);
        /// file with API keys, one on each line
        api_keys_file: Option<PathBuf> = optional(PATH).flag(Serve);
        /// allow an address that others can reach without an API key
        insecure: bool = required(SWITCH).default("false").flag(Serve);
    }

    /// How HTTP requests are admitted and answered.
    pub(super) struct HttpSettings in "http." {
        /// without an API key, hosts that requests may name besides those of this machine; entries as in `tools.allow`
        allowed_hosts: Vec<String> = listed(LIST).flag(Serve);
        /// origins whose pages may call the server from a browser, such as `https://app.example.com`
        allowed_origins: Vec<String> = listed(LIST).flag(Serve);
        /// compress answers over 8 KiB for clients that accept gzip
        compress: bool = required(SWITCH).default("true").flag(Serve);
    }

    /// The model that applies if a graph names none.
    pub(super) struct DefaultModelSettings in "" {
        /// alias that `default` refers to
        default_model: Option<String> = optional(TEXT).flag(Work);
        /// model of the alias `default` if no model is configured
        model: Option<String> = optional(TEXT).default("gpt-4o-mini").flag(Work);
        /// file with prices and context lengths of models in place of the built-in table (`docs/models.md`)
        model_data: Option<PathBuf> = optional(PATH).flag(Work);
    }

    /// The endpoint of models that name none.
    pub(super) struct OpenAiSettings in "openai." {
        /// endpoint of models without a `base_url`
        base_url: Option<Url> = optional(HTTP_URL).also(&["OPENAI_BASE_URL"]).flag(Work);
        /// API key of that endpoint
        api_key: Option<SecretString> = optional(SECRET).also(&["OPENAI_API_KEY"]);
    }

    /// One model, as configured.
    pub(super) struct ModelSettings in "models.*." {
        /// protocol of the endpoint
        provider: Option<Provider> = optional(PROVIDER).default("openai");
        /// endpoint, including its version, such as `/v1`
        base_url: Option<Url> = optional(HTTP_URL);
        /// the provider's name of the model
        model: Option<String> = optional(TEXT);
        /// environment variable that holds the API key
        api_key_env: Option<String> = optional(TEXT);
        /// the API key
        api_key: Option<SecretString> = optional(SECRET);
        /// sampling temperature, 0 to 2
        temperature: Option<f64> = optional(TEMPERATURE);
        /// maximum length of an answer, in tokens
        max_tokens: Option<u32> = optional(POSITIVE);
        /// nucleus sampling, above 0 and up to 1
        top_p: Option<f64> = optional(TOP_P);
        /// seed for repeatable sampling
        seed: Option<i64> = optional(SEED);
        /// how much a reasoning model reasons: none, minimal, low, medium, high, xhigh, max, or a number of tokens
        reasoning_effort: Option<ReasoningEffort> = optional(REASONING_EFFORT);
        /// the provider's name of the class of service, such as `flex`
        service_tier: Option<String> = optional(TEXT);
        /// further members of each request, as a JSON object
        extra_body: Option<ExtraBody> = optional(EXTRA_BODY);
        /// further headers of each request, as a JSON object of texts
        extra_headers: Option<ExtraHeaders> = optional(EXTRA_HEADERS);
        /// member of the request that limits the length of an answer; `auto`: what the endpoint accepts
        max_tokens_field: Option<TokenLimitField> = optional(TOKEN_LIMIT_FIELD).default("auto");
        /// mark the end of the shared part of prompts for the provider's cache; `auto`: if the protocol has marks
        cache_marks: Option<CacheMarks> = optional(CACHE_MARKS).default("auto");
        /// time limit of one request
        timeout as "timeout_ms": Option<Duration> = optional(MILLIS).default("60000");
        /// maximum number of open connections to the endpoint; further requests wait
        max_connections: Option<u32> = optional(POSITIVE).default("2048");
        /// maximum number of concurrent requests; runs take turns
        max_concurrent: Option<u32> = optional(POSITIVE);
        /// aliases to try, in order, if this model fails
        fallback: Vec<String> = listed(LIST);
        /// memory for cached replies to identical requests; no cache if not set
        cache_bytes: Option<usize> = optional(BYTES);
        /// lifetime of a cached reply
        cache_ttl: Option<Duration> = optional(DURATION).default("1h");
        /// capabilities of the endpoint beyond plain chat
        capabilities: Vec<String> = listed(LIST);
        /// whether this is an embedding model, which returns vectors instead of answers
        embedding: Option<bool> = optional(SWITCH).default("false");
        /// constrained decoding: what the endpoint enforces while it generates an answer
        constrain: Option<Constrain> = optional(CONSTRAIN).default("auto");
        /// longest input, in tokens
        context_tokens: Option<u32> = optional(POSITIVE);
        /// price of a million input tokens
        input_price: Option<f64> = optional(PRICE);
        /// price of a million output tokens
        output_price: Option<f64> = optional(PRICE);
        /// price of a million input tokens that the provider reads from its cache
        cached_input_price: Option<f64> = optional(PRICE);
        /// price of a million input tokens that the provider writes to its cache
        cache_write_price: Option<f64> = optional(PRICE);
    }

    /// One secret that tools may name, as configured.
    pub(super) struct SecretSettings in "secrets.*." {
        /// a secret that tools refer to by name; definitions never contain its text
        value: Option<SecretString> = optional(SECRET);
        /// hosts that the secret may be sent to, as in `tools.allow` without `*`; none if not set
        hosts: Vec<String> = listed(LIST);
        /// MCP servers that the secret may be passed to; none if not set
        mcp: Vec<String> = listed(LIST);
    }

    /// The texts of secrets, without what they are bound to. Behind the rows above, so that
    /// `DSRS_SECRETS__A__HOSTS` is not a secret's name.
    pub(super) struct SecretTextSettings in "secrets." {
        /// short form of `secrets.NAME.value`, mostly for environment variables
        names as "*": Vec<String> = members(SECRET);
    }

    /// What tools may reach.
    pub(super) struct ToolAccessSettings in "tools." {
        /// destinations that tools may reach: hosts, `*.` of a host, `*` for every public host, addresses and networks
        allow: Vec<String> = listed(LIST);
    }

    /// Where messages of webhooks go, and how long they are tried.
    pub(super) struct WebhookSection in "webhooks." {
        /// destinations that webhooks may have, as in `tools.allow`; a private address must be listed
        allow: Vec<String> = listed(LIST).default("*").flag(Work);
        /// time in which a receiver must answer
        timeout: Duration = required(DURATION).default("15s").flag(Work);
        /// time after which a message is sent again for the first time; each further wait is four times as long, up to 8 h
        first_retry: Duration = required(DURATION).default("5s").flag(Work);
        /// number of attempts at a message, about a day with the default of `webhooks.first_retry`
        attempts: u32 = required(POSITIVE).default("10").flag(Work);
        /// a webhook whose attempts have all failed for this time is disabled
        disable_after: Duration = required(DURATION).default("5d").flag(Work);
        /// age at which messages and the log of their delivery are removed
        retention: Duration = required(DURATION).default("7d").flag(Work);
    }

    /// One MCP server, as configured.
    pub(super) struct McpSettings in "mcp.*." {
        /// an MCP server to start: its program and arguments
        command: Vec<String> = items(LIST);
        /// an environment variable of the process; `${NAME}` inserts a secret
        env as "env.*": Vec<String> = members(SECRET);
        /// an MCP server to call over HTTP
        url: Option<Url> = optional(HTTP_URL);
        /// a header of each request; `${NAME}` inserts a secret
        headers as "headers.*": Vec<String> = members(SECRET);
        /// time limit of one call
        timeout as "timeout_ms": Option<Duration> = optional(MILLIS).default("30000");
        /// what stands before the names of its tools for models
        prefix: Option<String> = optional(TEXT);
    }

    /// How executions are recorded and cancelled.
    pub(super) struct RunSettings in "runs." {
        /// record runs before the response is sent, after it, or never
        record: Record = required(RECORD).default("ack").flag(Serve);
        /// if the client disconnects, cancel its execution and the execution's LM requests
        cancel_on_disconnect: bool = required(SWITCH).default("true").flag(Work);
    }

    /// Limits of requests and runs.
    #[derive(Copy, PartialEq)]
    pub struct Limits in "limits." {
        /// maximum number of open connections; further ones wait until one is closed
        connections: u32 = required(POSITIVE).default("10000").flag(Serve);
        /// time in which a client must accept a part of an answer; then its connection is closed
        write_timeout: Duration = required(DURATION).default("60s").flag(Serve);
        /// maximum size of a request body
        body_bytes: usize = required(BYTES).default("4MiB").flag(Serve);
        /// memory for the bodies of all requests in progress, together; more are refused
        body_memory: usize = required(BYTES).default("256MiB").flag(Serve);
        /// the same for the requests of one workspace
        body_memory_per_workspace: Option<usize> = optional(BYTES).flag(Serve);
        /// maximum number of nodes of a graph, up to 5000
        graph_nodes: u32 = required(NODES).default("5000").flag(Serve);
        /// maximum number of edges of a graph, up to 50000
        graph_edges: u32 = required(EDGES).default("50000").flag(Serve);
        /// maximum number of types that a graph defines, up to 1000
        graph_types: u32 = required(TYPES).default("1000").flag(Serve);
        /// maximum size of a graph as JSON without spaces
        graph_bytes: usize = required(BYTES).default("4MiB").flag(Serve);
        /// maximum number of values of an enum in a graph, up to 100000
        enum_values: u32 = required(ENUM_VALUES).default("10000").flag(Serve);
        /// maximum size of one text in a graph
        text_bytes: usize = required(BYTES).default("1MiB").flag(Serve);
        /// maximum size of the body of a batch
        batch_bytes: usize = required(BYTES).default("256MiB").flag(Work);
        /// maximum number of items of a batch
        batch_items: u32 = required(POSITIVE).default("1000000").flag(Work);
        /// maximum size of a dataset upload
        dataset_bytes: usize = required(BYTES).default("1GiB").flag(Work);
        /// maximum number of examples of a dataset
        dataset_examples: u32 = required(POSITIVE).default("1000000").flag(Work);
        /// time limit of a run
        run_timeout as "run_timeout_ms": Duration = required(MILLIS).default("300000").flag(Work);
        /// maximum number of concurrent executions
        max_concurrent_runs: u32 = required(POSITIVE).default("1024").flag(Work);
        /// maximum number of concurrent executions of one workspace in one server
        max_runs_per_workspace: Option<u32> = optional(POSITIVE).flag(Serve);
        /// maximum number of queued background runs of one workspace; more are refused
        max_queued_runs: u32 = required(POSITIVE).default("10000").flag(Serve);
        /// maximum number of runs of one workspace that wait for values; more runs of graphs with `await` nodes are refused
        max_waiting_runs: u32 = required(POSITIVE).default("10000").flag(Serve);
        /// maximum number of clients of one server that follow events
        max_followers: u32 = required(POSITIVE).default("10000").flag(Serve);
        /// the same for the clients of one workspace
        max_followers_per_workspace: Option<u32> = optional(POSITIVE).flag(Serve);
        /// maximum number of concurrent LM requests of all runs; runs take turns
        max_concurrent_lm_requests: Option<u32> = optional(POSITIVE).flag(Work);
        /// maximum number of concurrent LM requests of each run
        max_concurrent_lm_requests_per_run: Option<u32> = optional(POSITIVE).flag(Work);
        /// maximum number of LM requests of one run, retries included
        run_lm_calls: Option<u32> = optional(POSITIVE).flag(Work);
        /// maximum number of input and output tokens of one run
        run_tokens: Option<u32> = optional(POSITIVE).flag(Work);
        /// maximum cost of one run, in the currency of the prices of models
        run_cost: Option<f64> = optional(PRICE).flag(Work);
    }

    /// Where uploads wait.
    pub(super) struct UploadSettings in "uploads." {
        /// directory for batches and datasets that are being uploaded; `TMPDIR` or `/tmp` if not set
        directory: Option<PathBuf> = optional(PATH).flag(Serve);
        /// space for all uploads that are in progress, together; more are refused
        max_spool_bytes: usize = required(BYTES).default("8GiB").flag(Serve);
        /// the same for the uploads of one workspace
        max_spool_bytes_per_workspace: Option<usize> = optional(BYTES).flag(Serve);
        /// maximum number of concurrent uploads, of which up to 512 KiB each are in memory; more are refused
        max_concurrent: u32 = required(POSITIVE).default("256").flag(Serve);
        /// the same for the uploads of one workspace
        max_concurrent_per_workspace: Option<u32> = optional(POSITIVE).flag(Serve);
    }

    /// How background work is done.
    #[derive(Copy, PartialEq, Eq)]
    pub struct WorkerConfig in "worker." {
        /// process background work besides serving requests
        enabled: bool = required(SWITCH).default("true").flag(Serve);
        /// maximum number of concurrent jobs in one process
        concurrency: u32 = required(POSITIVE).default("64").flag(Work);
        /// time without a heartbeat after which another worker claims a worker's jobs
        lease: Duration = required(LEASE).default("15s").flag(Work);
        /// maximum number of concurrent items of one batch on one server; a batch may ask for fewer
        batch_concurrency: u32 = required(POSITIVE).default("32").flag(Work);
        /// maximum number of concurrent examples of one evaluation on one server; an evaluation may ask for fewer
        evaluation_concurrency: u32 = required(POSITIVE).default("64").flag(Work);
        /// maximum number of attempts at a job; then it fails
        attempts: u32 = required(POSITIVE).default("5").flag(Work);
        /// store the events of background runs, so that clients can follow them
        events: bool = required(SWITCH).default("true").flag(Work);
    }

    /// Limits of the Python sandbox.
    pub(super) struct SandboxSettings in "sandbox." {
        /// run Python that a model wrote, in a confined process
        enabled: bool = required(SWITCH).default("true").flag(Work);
        /// time limit of one program, in seconds
        time_s: u32 = required(POSITIVE).default("5").flag(Work);
        /// memory limit of one program, in MiB
        memory_mib: u32 = required(POSITIVE).default("128").flag(Work);
        /// maximum size of the output of one program, in KiB
        output_kib: usize = required(OUTPUT_KIB).default("64").flag(Work);
        /// maximum number of concurrent sessions of programs (`rlm`, `code_act`) in one process
        sessions: u32 = required(POSITIVE).default("32").flag(Work);
        /// walls without which no program runs (`docs/sandbox.md`); `auto`: all that this platform can have
        require: Vec<String> = listed(LIST).default("auto").flag(Work);
    }

    /// Removal of old data.
    #[derive(Copy, Default, PartialEq, Eq)]
    pub struct RetentionConfig in "retention." {
        /// age at which ended runs and batches and deleted datasets are removed, such as `90d`; never if not set
        runs: Option<Duration> = optional(DURATION).flag(Work);
        /// age at which ended evaluations are removed; never if not set
        evaluations: Option<Duration> = optional(DURATION).flag(Work);
        /// age at which ended optimizations are removed; never if not set
        optimizations: Option<Duration> = optional(DURATION).flag(Work);
        /// age at which entries of the audit log are removed; never if not set
        audit: Option<Duration> = optional(DURATION).flag(Work);
    }

    /// Where old runs go.
    pub(super) struct ArchiveSettings in "archive." {
        /// directory or bucket to which runs are written before `retention.runs` removes them: `file:///…`, `s3://…`, `gs://…`, `az://…`
        url: Option<Url> = optional(ARCHIVE_URL).flag(Work);
    }

    /// What hands background work to workers.
    pub(super) struct EngineSettings in "" {
        /// engine of background work: the database alone, or Restate beside it (`docs/operations/engine.md`)
        engine: EngineKind = required(ENGINE).default("postgres").flag(Work);
    }

    /// How Restate is reached, and how it reaches this server.
    pub(super) struct RestateSettings in "restate." {
        /// addresses of Restate's ingress, separated by commas; work goes to them in turn
        ingress: Vec<String> = listed(LIST).flag(Work);
        /// address of Restate's admin API, for `engine check`
        admin: Option<Url> = optional(HTTP_URL).flag(Work);
        /// address on which Restate reaches this worker; workers of one machine may share it
        bind: SocketAddr = required(ADDRESS).default("127.0.0.1:9080").flag(Work);
        /// URL under which Restate finds the workers, for `engine check --apply`
        url: Option<Url> = optional(HTTP_URL).flag(Work);
        /// start of the names of the services in Restate, for more than one installation beside one Restate
        prefix: String = required(SERVICE_PREFIX).default("dsrs").flag(Work);
        /// public key with which Restate's requests are signed, such as `publickeyv1_…`
        identity_key: Option<EngineKey> = optional(ENGINE_KEY).flag(Work);
    }

    /// How the process behaves.
    pub(super) struct ProcessSettings in "" {
        /// how long an `Idempotency-Key` is remembered
        idempotency_window: Duration = required(DURATION).default("24h").flag(Serve);
        /// time for running work to finish when the server stops
        shutdown_timeout: Duration = required(DURATION).default("30s").flag(Work);
        /// log filter, such as `info,sqlx=warn`; in the file also `log.filter`
        log: String = required(TEXT).default("info,sqlx=warn").also(&["RUST_LOG"]).flag(All);
    }

    /// How the log is written.
    pub(super) struct LogSettings in "log." {
        /// form of the log: lines for people, or one JSON object a line
        format: LogFormat = required(LOG_FORMAT).default("pretty").flag(All);
        /// requests that take at least this long are logged as warnings, with what took so long
        slow_request: Duration = required(DURATION).default("30s").flag(Serve);
    }
}

/// Every setting, in the order of the sections.
pub fn all_settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().copied().flatten()
}

/// The row of a plain path such as `limits.body_bytes` or `models.fast.model`.
pub fn setting(path: &str) -> Option<&'static Setting> {
    all_settings().find(|row| row.describes(path))
}
