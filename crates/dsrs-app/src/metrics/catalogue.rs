//! Every metric: its name, type, labels and meaning. The page for operators, the dashboard and the alert rules are
//! compared with this list. Knows no values.

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Any number.
    Gauge,
    /// Counts in buckets.
    Histogram,
}

impl MetricKind {
    /// The word in the text format of Prometheus.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    pub name: &'static str,
    /// The type.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it counts.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($name:ident = $text:literal, $kind:ident, [$($label:literal),*], $help:literal;)+) => {
        $(pub(crate) const $name: &str = $text;)+

        /// Every metric of the service.
        pub const ALL_METRICS: &[MetricInfo] = &[$(MetricInfo {
            name: $name,
            kind: MetricKind::$kind,
            labels: &[$($label),*],
            help: $help,
        },)+];
    };
}

metrics! {
    HTTP_REQUESTS = "dsrs_http_requests_total", Counter, ["route", "method", "status"], "requests answered";
    HTTP_SECONDS = "dsrs_http_request_duration_seconds", Histogram, ["route", "method"], "time to the head of the answer";
    RUNS = "dsrs_runs_total", Counter, ["graph", "outcome"], "runs that ended: `succeeded`, `failed`, `cancelled`, or `waiting` for a signal";
    RUN_SECONDS = "dsrs_run_duration_seconds", Histogram, ["graph"], "time of a run; of a background run, of its last attempt";
    RUN_OVERHEAD = "dsrs_run_overhead_seconds", Histogram, [], "time of a run in which it waited neither for a model, nor for its turn at one, nor for a tool: what the server adds";
    RUN_SCORE = "dsrs_run_score", Histogram, ["graph", "score", "source"], "scores of runs, given as feedback or computed by online evaluations (`source` is `online`); the sum divided by the count is their mean";
    RUNS_RUNNING = "dsrs_runs_running", Gauge, [], "runs in progress in this process";
    LM_REQUESTS = "dsrs_lm_requests_total", Counter, ["alias", "graph"], "requests sent to models, retries included";
    LM_STORED = "dsrs_lm_stored_replies_total", Counter, ["alias", "graph"], "requests that a cache or a recorded reply answered instead";
    LM_SECONDS = "dsrs_lm_request_duration_seconds", Histogram, ["alias", "graph"], "time from sending a request to the end of its answer, or its failure";
    LM_FIRST_TOKEN = "dsrs_lm_time_to_first_token_seconds", Histogram, ["alias", "graph"], "time from sending a request to the first text of its answer, where answers are streamed";
    LM_QUEUE = "dsrs_lm_queue_duration_seconds", Histogram, ["alias", "graph"], "time that a request waited for its turn, if it had to";
    LM_ERRORS = "dsrs_lm_errors_total", Counter, ["alias", "graph", "kind"], "requests to models that failed, by kind";
    LM_RETRIES = "dsrs_lm_retries_total", Counter, ["alias", "graph"], "requests sent again after a failure that may be transient";
    LM_FALLBACKS = "dsrs_lm_fallbacks_total", Counter, ["alias", "graph"], "requests sent to this model because another one had failed";
    LM_TOKENS = "dsrs_lm_tokens_total", Counter, ["alias", "graph", "type"], "tokens: `input`, of these `cached` if the provider read them from its cache and `cache_write` if it wrote them to it; `output`, of these `reasoning`";
    LM_COST = "dsrs_lm_cost_total", Counter, ["alias", "graph"], "cost, in the currency of the configured prices";
    PARSE_REPAIRS = "dsrs_parse_repairs_total", Counter, ["kind"], "leniencies with which answers were read, by kind (docs/parsing.md)";
    QUEUE_JOBS = "dsrs_queue_jobs", Gauge, ["kind"], "jobs of all servers that wait for a worker";
    QUEUE_AGE = "dsrs_queue_oldest_age_seconds", Gauge, ["kind"], "age of the oldest of them";
    LEASES_TAKEN_OVER = "dsrs_leases_taken_over_total", Counter, [], "jobs returned to the queue because their worker no longer renewed its lease";
    POOL_CONNECTIONS = "dsrs_database_connections", Gauge, ["pool", "state"], "connections to Postgres, `idle` or `used`";
    POOL_MAX = "dsrs_database_connections_max", Gauge, ["pool"], "the most connections that a pool opens";
    RECORDER_COMMITS = "dsrs_recorder_commits_total", Counter, [], "transactions that recorded runs: under load many runs share one";
    RECORDER_RUNS = "dsrs_recorder_runs_total", Counter, [], "runs recorded";
    RECORDER_LOST = "dsrs_recorder_lost_total", Counter, [], "runs that could not be recorded";
    RECORDER_QUEUED = "dsrs_recorder_queued", Gauge, [], "writes that wait for the recorder";
    SCHEDULE_FIRINGS = "dsrs_schedule_firings_total", Counter, ["outcome"], "firings of schedules: `started`, `refused` if the work cannot be started, or `skipped` because earlier work is in progress";
    WEBHOOK_ATTEMPTS = "dsrs_webhook_attempts_total", Counter, ["outcome"], "messages sent to webhooks: `delivered`, `retry` if another attempt follows, `given_up`, or `gone` if the receiver wants no more";
    SPANS = "dsrs_trace_spans_total", Counter, ["outcome"], "spans for OpenTelemetry: `sent`; `dropped` because too many waited; `failed` because the collector did not accept them";
    CHANGES_CONFIRMED = "dsrs_changes_confirmed", Gauge, [], "1 if notifications of changes arrive from Postgres; else every use of a graph or key is looked up";
    FOLLOWERS = "dsrs_event_followers", Gauge, [], "clients that follow events, out of `limits.max_followers`";
    EVENT_BUFFERS = "dsrs_event_buffers", Gauge, [], "runs whose events are in memory";
    PROGRAMS = "dsrs_program_cache_entries", Gauge, [], "programs in the cache";
    BODY_MEMORY = "dsrs_body_memory_bytes", Gauge, [], "memory of request bodies, out of `limits.body_memory`";
    SPOOLED = "dsrs_uploads_spooled_bytes", Gauge, [], "files of uploads in progress, out of `uploads.max_spool_bytes`";
    SANDBOX_USABLE = "dsrs_sandbox_usable", Gauge, [], "1 if every required wall of the sandbox stands";
    SANDBOX_WALL = "dsrs_sandbox_wall", Gauge, ["wall"], "1 if this wall of the sandbox stands";
    BUILD_INFO = "dsrs_build_info", Gauge, ["version"], "1; the version of the server";
    STARTED = "process_start_time_seconds", Gauge, [], "when the process started, in seconds since 1970";
    CPU_SECONDS = "process_cpu_seconds_total", Counter, [], "CPU time of the process, of user and system (Linux)";
    RESIDENT = "process_resident_memory_bytes", Gauge, [], "memory of the process (Linux)";
    OPEN_FILES = "process_open_fds", Gauge, [], "open files and connections of the process (Linux)";
}
