//! Failures of LM requests, and whether a retry may help. Errors contain no secrets: clients put
//! neither keys nor request headers into them.

use std::time::Duration;

/// An LM request that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LmError {
    /// The kind of failure.
    pub kind: LmErrorKind,
    /// A description for people: the host of the endpoint and the message of the provider.
    pub message: String,
    /// The HTTP status, if the endpoint answered.
    pub status: Option<u16>,
    /// The wait that the provider asks for.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LmErrorKind {
    /// No connection, or a lost one.
    Connection,
    /// No answer in time.
    Timeout,
    /// 429.
    RateLimited,
    /// The credit or the quota of the key is used up. Waiting does not help; another provider may answer.
    QuotaExhausted,
    /// A failure of the provider (5xx, 408, 409).
    Provider,
    /// The provider refuses the request (other 4xx). A retry does not help.
    Refused,
    /// The provider does not support or cannot parse the constraint. The request may succeed without it.
    ConstraintRefused,
    /// A filter, the provider or the model refused to answer. Another model may answer.
    Filtered,
    /// The conversation exceeds the context of the model. A shorter one may succeed.
    ContextOverflow,
    /// An answer that is not in the format of the provider.
    Malformed,
    /// The run was cancelled.
    Cancelled,
    /// Not sent, because the budget does not allow it.
    Budget,
}

impl LmErrorKind {
    /// The name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Provider => "provider",
            Self::Refused => "refused",
            Self::ConstraintRefused => "constraint_refused",
            Self::Filtered => "filtered",
            Self::ContextOverflow => "context_overflow",
            Self::Malformed => "malformed",
            Self::Cancelled => "cancelled",
            Self::Budget => "budget",
        }
    }
}

impl LmError {
    /// Whether the same request may succeed if it is sent again.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        use LmErrorKind::{Connection, Malformed, Provider, RateLimited, Timeout};
        matches!(self.kind, Connection | Timeout | RateLimited | Provider | Malformed)
    }

    /// Whether the budget or cancellation ended the request. Such a failure says nothing about the model.
    #[must_use]
    pub const fn is_unpaid(&self) -> bool {
        matches!(self.kind, LmErrorKind::Budget | LmErrorKind::Cancelled)
    }

    /// Whether the failure may be one of the constraint, although the provider does not say so.
    #[must_use]
    pub const fn may_be_of_constraint(&self) -> bool {
        use LmErrorKind::{Malformed, Provider, Refused};
        matches!(self.kind, Refused | Provider | Malformed)
    }

    /// Whether another model may answer the same request, because the model or its provider failed. A
    /// refused request is a mistake that should be visible.
    #[must_use]
    pub const fn is_the_models(&self) -> bool {
        use LmErrorKind::{ContextOverflow, Filtered, QuotaExhausted};
        self.is_transient() || matches!(self.kind, ContextOverflow | Filtered | QuotaExhausted)
    }
}
