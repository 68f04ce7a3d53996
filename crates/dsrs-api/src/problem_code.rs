//! Every top-level problem code with its title and its `status`, a member of the document of a problem. Knows nothing of
//! the code that raises them.

/// Stable top-level codes of problems. Codes are added, never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemCode {
    /// The body is not JSON.
    InvalidJson,
    /// The bytes are not an HTTP request.
    MalformedRequest,
    /// A query parameter, path segment or header is invalid.
    InvalidParameter,
    /// No key, or a wrong one.
    Unauthenticated,
    /// The tokens or the money of the key are spent.
    BudgetExhausted,
    /// The key may not do this.
    Forbidden,
    /// Without keys: the request names a host of another site.
    ForbiddenHost,
    /// Without keys: a page of another site sent the request.
    ForbiddenOrigin,
    /// No such resource or route.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed,
    /// The route cannot answer in a form that `Accept` allows.
    NotAcceptable,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The name is in use.
    AlreadyExists,
    /// The run was cancelled.
    RunCancelled,
    /// The run has ended.
    RunFinished,
    /// The run is in the archive.
    RunArchived,
    /// The run has not ended.
    RunUnfinished,
    /// The node does not wait for a value.
    NodeNotWaiting,
    /// An optimization has no result to activate.
    NothingFound,
    /// The first request with this idempotency key is still running.
    IdempotencyInProgress,
    /// `If-Match` names another version.
    PreconditionFailed,
    /// The body is over the limit.
    TooLarge,
    /// The URI is over the limit.
    UriTooLong,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The body has problems.
    InvalidRequest,
    /// The graph is invalid.
    InvalidGraph,
    /// The inputs do not fit the graph.
    InvalidInput,
    /// The state does not fit the graph's predictors.
    InvalidState,
    /// Two evaluations have no examples in common.
    NotComparable,
    /// The name in the body is not the one in the path.
    NameMismatch,
    /// Graph version and state version do not belong together.
    StateMismatch,
    /// The model alias is not configured.
    UnknownModel,
    /// No model is configured at all.
    NoModel,
    /// A stored graph that a node uses is gone.
    MissingGraph,
    /// A predictor has tools, but its model does not support them.
    ToolsUnsupported,
    /// No program of the LM succeeded.
    ProgramFailed,
    /// A tool that a node calls refused the call, or its result does not fit.
    ToolFailed,
    /// A tool that a node calls cannot answer now.
    ToolUnavailable,
    /// The sandbox failed, not the program in it.
    SandboxFailed,
    /// The own code of a typed module failed.
    ModuleFailed,
    /// An op cannot compute its value.
    OpFailed,
    /// The LM's answer does not fit the schema.
    ParseError,
    /// An assert failed.
    ConstraintFailed,
    /// An optimization cannot be done.
    OptimizationFailed,
    /// No attempt of a strategy could be judged.
    RewardFailed,
    /// More examples of an evaluation failed than it allows.
    TooManyErrors,
    /// More examples of an evaluation have no score than it allows.
    TooManyUnmeasured,
    /// The budget of a run is spent.
    BudgetSpent,
    /// A limit of tokens cut the answer of a model.
    AnswerIncomplete,
    /// A model, its provider or a filter refused to answer.
    AnswerFiltered,
    /// The credit or the quota of a provider is used up.
    ProviderQuotaExhausted,
    /// A value that a node received is outside the range of its type.
    InvalidValue,
    /// The idempotency key was used with another body.
    IdempotencyKeyReused,
    /// The quota is used up.
    RateLimited,
    /// The headers are over the limit.
    HeadersTooLarge,
    /// An error of the server.
    Internal,
    /// The run has reached its maximum number of attempts.
    RunAbandoned,
    /// The provider of the LM failed.
    LmError,
    /// The server cannot accept requests now.
    Unavailable,
    /// The time limit is exceeded.
    Timeout,
}

impl ProblemCode {
    /// Every code, in the order of its status.
    pub const ALL: &'static [Self] = &[
        Self::InvalidJson,
        Self::MalformedRequest,
        Self::InvalidParameter,
        Self::Unauthenticated,
        Self::BudgetExhausted,
        Self::ProviderQuotaExhausted,
        Self::Forbidden,
        Self::ForbiddenHost,
        Self::ForbiddenOrigin,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::RequestTimeout,
        Self::AlreadyExists,
        Self::RunCancelled,
        Self::RunFinished,
        Self::RunArchived,
        Self::RunUnfinished,
        Self::NodeNotWaiting,
        Self::NothingFound,
        Self::IdempotencyInProgress,
        Self::PreconditionFailed,
        Self::TooLarge,
        Self::UriTooLong,
        Self::UnsupportedMediaType,
        Self::InvalidRequest,
        Self::InvalidGraph,
        Self::InvalidInput,
        Self::InvalidState,
        Self::NotComparable,
        Self::NameMismatch,
        Self::StateMismatch,
        Self::UnknownModel,
        Self::NoModel,
        Self::MissingGraph,
        Self::ToolsUnsupported,
        Self::ProgramFailed,
        Self::ParseError,
        Self::AnswerIncomplete,
        Self::AnswerFiltered,
        Self::ConstraintFailed,
        Self::OptimizationFailed,
        Self::RewardFailed,
        Self::TooManyErrors,
        Self::TooManyUnmeasured,
        Self::BudgetSpent,
        Self::InvalidValue,
        Self::IdempotencyKeyReused,
        Self::RateLimited,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::RunAbandoned,
        Self::SandboxFailed,
        Self::ModuleFailed,
        Self::OpFailed,
        Self::ToolFailed,
        Self::ToolUnavailable,
        Self::LmError,
        Self::Unavailable,
        Self::Timeout,
    ];

    /// The table: status, code, title.
    const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::InvalidJson => (400, "invalid_json", "The body is not JSON"),
            Self::MalformedRequest => (400, "malformed_request", "Not an HTTP request"),
            Self::InvalidParameter => (400, "invalid_parameter", "A parameter does not fit"),
            Self::Unauthenticated => (401, "unauthenticated", "A key is needed"),
            Self::BudgetExhausted => (402, "budget_exhausted", "The budget is spent"),
            Self::Forbidden => (403, "forbidden", "The key does not allow this"),
            Self::ForbiddenHost => (403, "forbidden_host", "The host is not this machine"),
            Self::ForbiddenOrigin => {
                (403, "forbidden_origin", "The request is of another web site")
            }
            Self::NotFound => (404, "not_found", "No such thing"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "The route has no such method"),
            Self::NotAcceptable => (406, "not_acceptable", "No acceptable form of answer"),
            Self::RequestTimeout => (408, "request_timeout", "The body arrived too slowly"),
            Self::AlreadyExists => (409, "already_exists", "The name is taken"),
            Self::RunCancelled => (409, "run_cancelled", "The run was cancelled"),
            Self::RunFinished => (409, "run_finished", "The run has ended"),
            Self::RunArchived => (409, "run_archived", "The run is in the archive"),
            Self::RunUnfinished => (409, "run_unfinished", "The run has not ended"),
            Self::NodeNotWaiting => (409, "node_not_waiting", "The node does not wait for a value"),
            Self::NothingFound => (409, "nothing_found", "Nothing better was found"),
            Self::IdempotencyInProgress => {
                (409, "idempotency_in_progress", "The first request is still running")
            }
            Self::PreconditionFailed => (412, "precondition_failed", "There is a newer version"),
            Self::TooLarge => (413, "too_large", "The body is too large"),
            Self::UriTooLong => (414, "uri_too_long", "The URI is too long"),
            Self::UnsupportedMediaType => (415, "unsupported_media_type", "The body must be JSON"),
            Self::InvalidRequest => unprocessable("invalid_request", "The body does not fit"),
            Self::InvalidGraph => unprocessable("invalid_graph", "The graph is not valid"),
            Self::InvalidInput => unprocessable("invalid_input", "The inputs do not fit"),
            Self::InvalidState => unprocessable("invalid_state", "The state does not fit"),
            Self::NameMismatch => unprocessable("name_mismatch", "Two different names"),
            Self::NotComparable => unprocessable("not_comparable", "Nothing to compare by"),
            Self::StateMismatch => {
                unprocessable("state_mismatch", "Graph and state version do not fit")
            }
            Self::UnknownModel => unprocessable("unknown_model", "The model is not configured"),
            Self::NoModel => unprocessable("no_model", "No model is configured"),
            Self::MissingGraph => unprocessable("missing_graph", "A graph that is used is gone"),
            Self::ToolsUnsupported => {
                unprocessable("tools_unsupported", "The model does not support tools")
            }
            Self::ProgramFailed => unprocessable("program_failed", "The LM's programs failed"),
            Self::ToolFailed => unprocessable("tool_failed", "The call of a tool failed"),
            Self::ToolUnavailable => (503, "tool_unavailable", "A tool cannot answer now"),
            Self::SandboxFailed => (500, "sandbox_failed", "The sandbox failed"),
            Self::ModuleFailed => (500, "module_failed", "The code of a module failed"),
            Self::OpFailed => unprocessable("op_failed", "An op has no value for its inputs"),
            Self::ParseError => unprocessable("parse_error", "The LM's answer does not fit"),
            Self::AnswerIncomplete => {
                unprocessable("answer_incomplete", "The LM's answer is incomplete")
            }
            Self::AnswerFiltered => unprocessable("answer_filtered", "The LM refused to answer"),
            Self::ProviderQuotaExhausted => {
                let title = "The quota of the provider is used up";
                (402, "provider_quota_exhausted", title)
            }
            Self::ConstraintFailed => unprocessable("constraint_failed", "An assert failed"),
            Self::OptimizationFailed => {
                unprocessable("optimization_failed", "The optimization cannot be done")
            }
            Self::RewardFailed => unprocessable("reward_failed", "No attempt could be judged"),
            Self::TooManyErrors => unprocessable("too_many_errors", "Too many examples failed"),
            Self::TooManyUnmeasured => {
                unprocessable("too_many_unmeasured", "Too many examples have no score")
            }
            Self::BudgetSpent => unprocessable("budget_spent", "The budget of the run is spent"),
            Self::InvalidValue => unprocessable("invalid_value", "A value does not fit its type"),
            Self::IdempotencyKeyReused => {
                unprocessable("idempotency_key_reused", "The key belongs to another request")
            }
            Self::RateLimited => (429, "rate_limited", "Too many requests"),
            Self::HeadersTooLarge => {
                let status = 431;
                (status, "headers_too_large", "The headers are too large")
            }
            Self::Internal => (500, "internal", "Something broke"),
            Self::RunAbandoned => (500, "run_abandoned", "The run has no attempts left"),
            Self::LmError => (502, "lm_error", "The LM failed"),
            Self::Unavailable => (503, "unavailable", "Not available now"),
            Self::Timeout => (504, "timeout", "The time is over"),
        }
    }

    /// The `status` of its problems.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// The code as clients see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// A short title, the same for every problem of the code.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().2
    }

    /// The code of a name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

const fn unprocessable(
    code: &'static str,
    title: &'static str,
) -> (u16, &'static str, &'static str) {
    (422, code, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_again_by_its_name() {
        for code in ProblemCode::ALL {
            assert_eq!(ProblemCode::named(code.as_str()), Some(*code));
        }
    }
}
