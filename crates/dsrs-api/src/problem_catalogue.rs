//! The catalogue of problems: for each code an example of its `detail`, its cause and the way out. Read by the OpenAPI
//! document and by the page under the `type` of a problem. Knows nothing of the code that raises them.

use crate::problem_code::ProblemCode;

/// What a problem means.
#[derive(Clone, Copy, Debug)]
pub struct ProblemEntry {
    /// A `detail` as the server writes it.
    pub example: &'static str,
    /// When it is answered.
    pub cause: &'static str,
    /// What a client does about it.
    pub way_out: &'static str,
}

impl ProblemCode {
    /// The entry of the code.
    #[must_use]
    pub const fn entry(self) -> ProblemEntry {
        let (example, cause, way_out) = match self {
            Self::InvalidJson => (
                "expected `,` or `}` at line 3 column 5",
                "The body is not JSON: a syntax error, a repeated member, or bytes that are not UTF-8.",
                "Correct the text at the line and column of `detail`.",
            ),
            Self::MalformedRequest => (
                "the request line is not `METHOD /path HTTP/1.1`",
                "The bytes on the connection are not an HTTP/1.1 request.",
                "Send the request with an HTTP client; speak TLS only to a proxy that ends it.",
            ),
            Self::InvalidParameter => (
                "`limit` is a number from 1 to 200, not `many`",
                "A query parameter, a segment of the path or a header is unknown, repeated or of a wrong form.",
                "Correct the parameter that `detail` names; the operation lists its parameters.",
            ),
            Self::Unauthenticated => (
                "the request has no API key: send `Authorization: Bearer KEY`",
                "The server has keys, and the request names none, or one that is wrong, revoked or expired.",
                "Send a valid key in `Authorization: Bearer KEY`.",
            ),
            Self::BudgetExhausted => (
                "the key has spent its budget of 5.00 for this month",
                "The key has used its tokens or its money for this period.",
                "Wait until the period ends (`retry_after`), raise the budget of the key, or use another key.",
            ),
            Self::Forbidden => (
                "the key has the scope `read`, this needs `write`",
                "The key is valid, but its scope or its workspace does not allow this.",
                "Use a key with the scope that `detail` names.",
            ),
            Self::ForbiddenHost => (
                "`Host: evil.example` is not a name of this server",
                "A server without keys answers only requests that name this machine.",
                "List the name in `http.allowed_hosts`, or configure a key.",
            ),
            Self::ForbiddenOrigin => (
                "a page of https://evil.example sent the request",
                "A server without keys does not answer pages of other web sites.",
                "List the origin in `http.allowed_origins`, or configure a key.",
            ),
            Self::NotFound => (
                "there is no graph `support-reply`",
                "The path names nothing: the resource was never created, was deleted, or belongs to another workspace.",
                "Check the name or id against the list of its kind.",
            ),
            Self::MethodNotAllowed => (
                "the route allows GET and PUT",
                "The route exists, but not with this method.",
                "Use one of the methods in the header `Allow`.",
            ),
            Self::NotAcceptable => (
                "the route answers `application/json`",
                "`Accept` allows none of the media types of the route.",
                "Accept the media type that `detail` names, or leave the header out.",
            ),
            Self::RequestTimeout => (
                "the body did not arrive within 60 s",
                "The client sent the body too slowly.",
                "Send it again over a faster connection, or in smaller parts; the time is fixed (`docs/limits.md`).",
            ),
            Self::AlreadyExists => (
                "there is a graph `support-reply` already",
                "Another resource of the workspace has this name.",
                "Choose another name, or change the existing resource with `PUT`.",
            ),
            Self::RunCancelled => (
                "the run was cancelled",
                "The run was cancelled before it ended: by a request, or because its client disconnected.",
                "Start it again, or resume it: completed nodes do not run again.",
            ),
            Self::RunFinished => (
                "the run has ended as `succeeded`",
                "The run has ended, so that it cannot be cancelled, resumed or signalled.",
                "Read its result, or start a new run.",
            ),
            Self::RunArchived => (
                "the run is in the archive, where it takes no more feedback",
                "Retention has moved the run to the archive, which is not changed.",
                "Give feedback earlier, or set `retention.runs` to a longer time.",
            ),
            Self::RunUnfinished => (
                "the run is still `running`",
                "The request needs a run that has ended.",
                "Wait for its end: poll it or follow its events.",
            ),
            Self::NodeNotWaiting => (
                "`approve` does not wait for a value",
                "The run does not wait at this node: it is not there yet, or has its value already.",
                "Signal one of the nodes whose status in the run is `waiting`.",
            ),
            Self::NothingFound => (
                "the optimization found nothing better than the original program",
                "The optimization has no result to activate.",
                "Keep the active state, or start another optimization with more budget or another optimizer.",
            ),
            Self::IdempotencyInProgress => (
                "the first request with this key is still running",
                "A request with the same `Idempotency-Key` has not been answered yet.",
                "Repeat the request after `Retry-After`: the answer will be that of the first one.",
            ),
            Self::PreconditionFailed => (
                "version 4 is the newest, `If-Match` names version 3",
                "Somebody stored a newer version since you read yours.",
                "Read the newest version, apply your change to it, and send it with its `ETag`.",
            ),
            Self::TooLarge => (
                "the body is over 10485760 bytes (`limits.body_bytes`)",
                "The body is over the limit of its route.",
                "Send less at once, or raise the setting that `detail` names.",
            ),
            Self::UriTooLong => (
                "the URI is over 65535 bytes",
                "The path and the query are too long together.",
                "Send long values in a body.",
            ),
            Self::UnsupportedMediaType => (
                "the body must be `application/json`",
                "`Content-Type` names none of the media types that the route reads.",
                "Send one of the media types of the operation, and name it in `Content-Type`.",
            ),
            Self::InvalidRequest => (
                "the body has 1 problem",
                "Members of the body are missing, unknown or of a wrong type.",
                "Correct every place in `errors`.",
            ),
            Self::InvalidGraph => (
                "the graph has 1 problem",
                "The definition is not a valid graph: a wrong type, an unknown name, a cycle, an edge that does not fit.",
                "Correct every place in `errors`; `POST /v1/graphs/validate` checks without storing.",
            ),
            Self::InvalidInput => (
                "the inputs have 1 problem",
                "The inputs do not fit the inputs of the graph.",
                "Correct every place in `errors`; the graph shows the types of its inputs.",
            ),
            Self::InvalidState => (
                "the state has 1 problem",
                "The state does not fit the predictors of the graph.",
                "Correct every place in `errors`; `GET /v1/graphs/{graph}/predictors` lists the predictors.",
            ),
            Self::NotComparable => (
                "the evaluations have no examples in common",
                "Two evaluations have different datasets or metrics.",
                "Compare evaluations of the same dataset with the same metric.",
            ),
            Self::NameMismatch => (
                "the graph is `a`, the body names `b`",
                "The name in the body is not that in the path.",
                "Leave `name` out of the body, or send the name of the path: graphs are not renamed.",
            ),
            Self::StateMismatch => (
                "state version 7 belongs to graph version 3, not 2",
                "The chosen versions of the graph and its state do not belong together.",
                "Choose a state version of that graph version, or leave one of the two out.",
            ),
            Self::UnknownModel => (
                "the model `large` is not configured; there are `default` and `small`",
                "A node names an alias that the server does not have.",
                "Use one of the aliases of `GET /v1/models`, or configure it.",
            ),
            Self::NoModel => (
                "no model is configured: set OPENAI_API_KEY or a model in the configuration",
                "The graph calls an LM, and the server has no model.",
                "Configure a model (docs/models.md) and start the server again.",
            ),
            Self::MissingGraph => (
                "the graph `triage` that the node `inner` uses is gone",
                "A stored graph that a node uses was deleted.",
                "Create the graph again, or remove the node.",
            ),
            Self::ToolsUnsupported => (
                "the model `small` does not support tools",
                "A predictor has tools, and its model cannot call them.",
                "Choose a model that supports tools, or the text form of tools.",
            ),
            Self::ProgramFailed => (
                "no program succeeded in 3 attempts: NameError: name 'x' is not defined",
                "Every program that the model wrote failed in the sandbox.",
                "Look at the programs in the trace; raise `max_iters`, or improve the instruction.",
            ),
            Self::ParseError => (
                "the LM's answer does not fit: `capital`: is missing",
                "The answer of the model cannot be read as the outputs of the signature.",
                "Look at `raw` and `report`; add demos, or use constrained decoding.",
            ),
            Self::AnswerIncomplete => (
                "the LM's answer is incomplete: `max_tokens` (64) ended it in `items`; raise `max_tokens`, or set \
                 `on_length` to `continue` or `accept`",
                "A limit of tokens cut the answer of the model within an output. The same request is not sent again.",
                "Raise `max_tokens`, lower `reasoning_effort`, or set `on_length` of the predictor.",
            ),
            Self::AnswerFiltered => (
                "model gpt-5-mini refused to answer (`content_filter`): filtered: violence",
                "The model, its provider or a filter refused to answer. The request is not repeated; a fallback of \
                 the model was tried.",
                "Change the inputs or the instruction, or configure a fallback of another provider.",
            ),
            Self::ProviderQuotaExhausted => (
                "model gpt-5-mini at api.openai.com: answered 429 Too Many Requests: You exceeded your current quota",
                "The credit or the quota of the provider's key is used up. Waiting does not help.",
                "Add credit at the provider, or configure a fallback of another provider.",
            ),
            Self::ConstraintFailed => (
                "`score <= 10` does not hold for `rating`",
                "An assert of the signature does not hold for a value.",
                "Correct the input that the pointer names; for an output, improve the instruction or allow retries.",
            ),
            Self::OptimizationFailed => (
                "no example of the trainset can be used",
                "The optimization cannot be done with this data or these settings.",
                "Correct what `detail` names, and start it again.",
            ),
            Self::RewardFailed => (
                "the reward failed for all 3 attempts",
                "A strategy that chooses among attempts could judge none of them.",
                "Look at the errors of the reward in the trace.",
            ),
            Self::TooManyErrors => (
                "6 of 20 examples failed, `max_errors` is 5",
                "More examples of an evaluation failed than `max_errors` allows.",
                "Look at the failed examples; correct the cause or raise `max_errors`.",
            ),
            Self::TooManyUnmeasured => (
                "3 of 20 examples have no score, more than the share of 0.05 that may (`max_unmeasured`)",
                "The runs of too many examples failed for reasons that are not the program's: the provider, the time or a \
                 budget. A score of the others would say little.",
                "Correct the cause that `detail` names, or wait until the provider answers; then start it again.",
            ),
            Self::BudgetSpent => (
                "the run may cost 0.10 (`limits.run_cost`)",
                "The next request to a model could exceed the budget of the run.",
                "Raise the setting that `detail` names, or make the run smaller; completed nodes stay stored.",
            ),
            Self::InvalidValue => (
                "`count` is 300, `u8` goes to 255",
                "A value between nodes is outside the range of its type.",
                "Widen the type, or constrain the output that made the value.",
            ),
            Self::IdempotencyKeyReused => (
                "the key belongs to a request with another body",
                "An `Idempotency-Key` was sent again with another request.",
                "Use a new key for each new request.",
            ),
            Self::RateLimited => (
                "the key may start 60 runs a minute",
                "The key or its workspace has used its quota.",
                "Wait for `Retry-After`; the headers `RateLimit` and `RateLimit-Policy` show the quota.",
            ),
            Self::HeadersTooLarge => (
                "the headers are over 65536 bytes",
                "The headers of the request are too large.",
                "Send fewer or shorter headers.",
            ),
            Self::Internal => (
                "an internal error occurred; the log has details",
                "The server has a fault.",
                "Repeat the request; if it fails again, report it with `request_id`.",
            ),
            Self::RunAbandoned => (
                "5 workers failed while they ran it",
                "Workers ended without finishing the job, as often as `worker.attempts` allows.",
                "Look at the log of the workers (memory, restarts), then resume the run.",
            ),
            Self::ToolFailed => (
                "the call of `search` failed: the server responded with status 404: no such index",
                "The tool of a `call` node refused the call, or its result does not have the type of the output.",
                "Correct the arguments, the tool, or `select` and `output` of the node.",
            ),
            Self::ToolUnavailable => (
                "the call of `search` failed: no response within 10000 ms (the tool's timeout_ms)",
                "The tool of a `call` node did not answer, after the retries of the node.",
                "Repeat the run later, after `Retry-After` if there is one.",
            ),
            Self::SandboxFailed => (
                "the process of the sandbox ended unexpectedly",
                "The sandbox itself failed, not a program in it.",
                "Look at the log; check that the machine permits the sandbox (docs/sandbox.md).",
            ),
            Self::ModuleFailed => (
                "the module `Desk` failed: no such order",
                "The Rust code of a typed module returned an error.",
                "Correct the module or its input.",
            ),
            Self::OpFailed => (
                "`items[3]`: the list has 3 elements",
                "An op cannot compute its output from these inputs.",
                "Correct the expression of the op, or the value before it.",
            ),
            Self::LmError => (
                "the endpoint answered 500 after 3 attempts",
                "The provider of the model failed, refused the request or does not answer.",
                "Look at the attempts in the trace; try again later, or configure a fallback.",
            ),
            Self::Unavailable => (
                "the database does not answer",
                "The server cannot accept the request now: the database is away, or it has too much to do.",
                "Repeat the request after `Retry-After`.",
            ),
            Self::Timeout => (
                "the run took longer than 60 s (`timeout_ms`)",
                "The request, a node or a model took longer than its limit.",
                "Raise the limit, or start a background run.",
            ),
        };
        ProblemEntry { example, cause, way_out }
    }

    /// Whether its answers say when to repeat the request.
    #[must_use]
    pub const fn names_retry(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::BudgetExhausted
                | Self::IdempotencyInProgress
                | Self::Unavailable
        )
    }

    /// The path under which the server explains the code: the `type` of its problems.
    #[must_use]
    pub fn path(self) -> String {
        format!("/problems/{}", self.as_str())
    }
}
