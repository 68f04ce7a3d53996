//! Every setting of the server, once: path, kind, default, meaning. Environment names, flags,
//! `--help` and the table in the README are all made from this list. It knows nothing of how a
//! value is found or checked.

use super::endpoint::Provider;

/// What a setting's text is, for `--help` and the table of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Free text.
    Text,
    /// Text that is never printed.
    Secret,
    /// `IP:PORT`.
    Address,
    /// A path of a file or directory.
    Path,
    /// A URL.
    Url,
    /// `true` or `false`; the flag stands alone.
    Switch,
    /// A whole number.
    Count,
    /// A decimal number.
    Number,
    /// Bytes, with an optional unit such as `4MiB`.
    Bytes,
    /// A duration such as `30s`; a bare number is seconds.
    Duration,
    /// A whole number of milliseconds.
    Millis,
    /// Several values, separated by commas.
    List,
    /// One of a few words.
    OneOf(&'static [&'static str]),
}

impl Kind {
    /// The placeholder that `--help` shows for a value of this kind.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Secret => "SECRET",
            Self::Address => "IP:PORT",
            Self::Path => "PATH",
            Self::Url => "URL",
            Self::Switch => "BOOL",
            Self::Count | Self::Number => "N",
            Self::Bytes => "BYTES",
            Self::Duration => "DURATION",
            Self::Millis => "MS",
            Self::List => "A,B",
            Self::OneOf(_) => "WORD",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Dotted path in the settings file; a `*` stands for a name that the owner chooses, such as a
    /// model's alias.
    pub path: &'static str,
    /// What its text is.
    pub kind: Kind,
    /// The text taken when nothing is given.
    pub default: Option<&'static str>,
    /// Environment variables without our prefix that mean the same.
    pub also: &'static [&'static str],
    /// Whether there is a flag for it.
    pub flag: bool,
    /// One line for people.
    pub doc: &'static str,
}

impl Setting {
    /// The setting's own environment variable, where it has one; a chosen name stands as `NAME`.
    pub fn env_name(&self) -> Option<String> {
        let spellable = self.path.matches('*').count() < 2;
        let shown = self.path.replace(".*.", "__NAME__").replace(".*", "__NAME").replace('.', "_");
        spellable.then(|| format!("DSRS_{}", shown.to_uppercase()))
    }

    /// The flag without its dashes, if there is one.
    pub fn flag_name(&self) -> Option<String> {
        self.flag.then(|| self.path.replace(['.', '_'], "-"))
    }

    /// The table in whose members the owner chooses names, for a row of such a one: `models` of
    /// `models.*.timeout_ms`.
    pub fn section(&self) -> Option<&'static str> {
        self.path.split_once(".*").map(|(section, _)| section)
    }

    /// The row's path with a chosen name put in.
    pub fn path_for(&self, name: &str) -> String {
        self.path.replacen('*', name, 1)
    }

    /// Whether a plain path is one of this row's.
    fn describes(&self, path: &str) -> bool {
        let Some((before, after)) = self.path.split_once('*') else { return self.path == path };
        let Some(rest) = path.strip_prefix(before) else { return false };
        // Aliases of models are the only names with dots.
        if before == MODELS {
            return rest.strip_suffix(after).is_some_and(|alias| !alias.is_empty());
        }
        let (name, rest) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
        let member = |start: &str| rest.strip_prefix(start).is_some_and(|name| !name.is_empty());
        !name.is_empty() && after.strip_suffix('*').map_or(rest == after, member)
    }
}

/// How the path of every model setting begins.
const MODELS: &str = "models.";

/// The row of a plain path such as `limits.body_bytes` or `models.fast.model`.
pub fn setting(path: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|row| row.describes(path))
}

const fn row(path: &'static str, kind: Kind, doc: &'static str) -> Setting {
    Setting { path, kind, default: None, also: &[], flag: false, doc }
}

impl Setting {
    const fn default(self, text: &'static str) -> Self {
        Self { default: Some(text), ..self }
    }

    const fn flag(self) -> Self {
        Self { flag: true, ..self }
    }

    const fn also(self, names: &'static [&'static str]) -> Self {
        Self { also: names, ..self }
    }
}

/// The table.
pub static SETTINGS: &[Setting] = &[
    row("bind", Kind::Address, "address to listen on; port 0 takes a free one")
        .default("127.0.0.1:8080")
        .flag(),
    row("data_dir", Kind::Path, "directory of the private Postgres").default("./data").flag(),
    row("database.url", Kind::Url, "a Postgres to use instead of the private one")
        .also(&["DATABASE_URL"])
        .flag(),
    row("database.max_connections", Kind::Count, "size of the connection pool")
        .default("16")
        .flag(),
    row(
        "database.pg_bin",
        Kind::Path,
        "directory with `initdb` and `postgres`, instead of searching",
    )
    .also(&["PG_BIN"])
    .flag(),
    row("api_keys", Kind::Secret, "keys that callers present, separated by commas"),
    row("api_keys_file", Kind::Path, "file with one such key a line").flag(),
    row("insecure", Kind::Switch, "allow an address others can reach without any key")
        .default("false")
        .flag(),
    row("default_model", Kind::Text, "alias that `default` stands for").flag(),
    row("model", Kind::Text, "model of the alias `default` when none is configured")
        .default("gpt-4o-mini")
        .flag(),
    row("openai.base_url", Kind::Url, "endpoint of models that name none")
        .also(&["OPENAI_BASE_URL"])
        .flag(),
    row("openai.api_key", Kind::Secret, "key for that endpoint").also(&["OPENAI_API_KEY"]),
    row("models.*.provider", Kind::OneOf(Provider::WORDS), "protocol the endpoint speaks")
        .default("openai"),
    row("models.*.base_url", Kind::Url, "endpoint, up to and with its version, such as `/v1`"),
    row("models.*.model", Kind::Text, "the provider's name of the model"),
    row("models.*.api_key_env", Kind::Text, "environment variable that holds the key"),
    row("models.*.api_key", Kind::Secret, "the key itself"),
    row("models.*.temperature", Kind::Number, "sampling temperature, 0 to 2"),
    row("models.*.max_tokens", Kind::Count, "longest answer in tokens"),
    row("models.*.top_p", Kind::Number, "nucleus sampling, above 0 up to 1"),
    row("models.*.seed", Kind::Count, "seed for repeatable sampling"),
    row("models.*.timeout_ms", Kind::Millis, "time limit of one request").default("60000"),
    row("models.*.max_connections", Kind::Count, "open connections to the endpoint").default("256"),
    row(
        "models.*.max_concurrent",
        Kind::Count,
        "requests on their way at the same time; runs take turns",
    ),
    row(
        "models.*.fallback",
        Kind::List,
        "aliases that are asked, in order, when this one fails for good",
    ),
    row("models.*.cache_bytes", Kind::Bytes, "room to keep replies in for the same requests"),
    row("models.*.cache_ttl", Kind::Duration, "how long a reply is kept").default("1h"),
    row("models.*.capabilities", Kind::List, "what the endpoint can do beyond plain chat"),
    row("models.*.embedding", Kind::Switch, "makes vectors of texts and answers nothing")
        .default("false"),
    row(
        "models.*.constrain",
        Kind::OneOf(&["none", "gbnf", "json_schema"]),
        "what the endpoint holds answers to while it writes them",
    )
    .default("none"),
    row("models.*.input_price", Kind::Number, "price of a million input tokens"),
    row("models.*.output_price", Kind::Number, "price of a million output tokens"),
    row("secrets.*", Kind::Secret, "a secret that tools name; definitions never hold its text"),
    row(
        "tools.allow",
        Kind::List,
        "what tools may reach: hosts, `*.` of a host, `*` for every public one, addresses and networks",
    ),
    row("mcp.*.command", Kind::List, "an MCP server to start: its program and arguments"),
    row(
        "mcp.*.env.*",
        Kind::Secret,
        "a variable that it starts with; `${NAME}` is a secret's text",
    ),
    row("mcp.*.url", Kind::Url, "an MCP server to ask over HTTP"),
    row("mcp.*.headers.*", Kind::Secret, "a header for it; `${NAME}` is a secret's text"),
    row("mcp.*.timeout_ms", Kind::Millis, "time limit of one call").default("30000"),
    row(
        "runs.record",
        Kind::OneOf(&["ack", "async", "off"]),
        "record runs before the answer, behind it, or not at all",
    )
    .default("ack")
    .flag(),
    row(
        "runs.cancel_on_disconnect",
        Kind::Switch,
        "cancel an execution whose caller leaves, its LM requests too",
    )
    .default("true")
    .flag(),
    row("limits.body_bytes", Kind::Bytes, "largest request body").default("4MiB").flag(),
    row("limits.batch_bytes", Kind::Bytes, "largest body of a batch").default("256MiB").flag(),
    row("limits.batch_items", Kind::Count, "most items of a batch").default("1000000").flag(),
    row("limits.dataset_bytes", Kind::Bytes, "largest upload of a dataset").default("1GiB").flag(),
    row("limits.dataset_examples", Kind::Count, "most examples of a dataset")
        .default("1000000")
        .flag(),
    row("limits.run_timeout_ms", Kind::Millis, "time limit of a run").default("300000").flag(),
    row("limits.max_concurrent_runs", Kind::Count, "runs at the same time").default("1024").flag(),
    row(
        "limits.max_concurrent_lm_requests",
        Kind::Count,
        "LM requests on their way at the same time; runs take turns",
    )
    .flag(),
    row(
        "limits.max_concurrent_lm_requests_per_run",
        Kind::Count,
        "LM requests of one run on their way at the same time",
    )
    .flag(),
    row("worker.enabled", Kind::Switch, "work on background runs beside serving")
        .default("true")
        .flag(),
    row("worker.concurrency", Kind::Count, "background runs at the same time").default("64").flag(),
    row(
        "worker.lease",
        Kind::Duration,
        "how long a worker may be silent before another takes its runs over",
    )
    .default("15s")
    .flag(),
    row(
        "worker.batch_concurrency",
        Kind::Count,
        "items of one batch at the same time; a batch may ask for fewer",
    )
    .default("32")
    .flag(),
    row(
        "worker.evaluation_concurrency",
        Kind::Count,
        "examples of one evaluation at the same time; an evaluation may ask for fewer",
    )
    .default("64")
    .flag(),
    row("worker.attempts", Kind::Count, "workers that may end over one run before it fails")
        .default("5")
        .flag(),
    row("worker.events", Kind::Switch, "keep what is told of background runs, to be followed")
        .default("true")
        .flag(),
    row("sandbox.enabled", Kind::Switch, "run Python that a model wrote, in a confined process")
        .default("true")
        .flag(),
    row("sandbox.time_s", Kind::Count, "time limit of one such program, in seconds")
        .default("5")
        .flag(),
    row("sandbox.memory_mib", Kind::Count, "memory limit of one such program, in MiB")
        .default("128")
        .flag(),
    row("sandbox.output_kib", Kind::Count, "limit of what one such program prints, in KiB")
        .default("64")
        .flag(),
    row(
        "retention.runs",
        Kind::Duration,
        "age at which ended runs and batches, and deleted datasets, are removed, such as `90d`; never, if not given",
    )
    .flag(),
    row("idempotency_window", Kind::Duration, "how long an `Idempotency-Key` is remembered")
        .default("24h")
        .flag(),
    row("shutdown_timeout", Kind::Duration, "time that running work gets when the server stops")
        .default("30s")
        .flag(),
    row("log", Kind::Text, "what is logged, as in `info,sqlx=warn`")
        .default("info,sqlx=warn,graphile_worker=warn")
        .also(&["RUST_LOG"])
        .flag(),
];
