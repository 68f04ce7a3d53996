//! How a request to an LM fails, and whether another try may help. Carries no secrets: providers
//! put neither keys nor request headers into it.

use std::time::Duration;

/// A request to an LM that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LmError {
    /// What kind of failure.
    pub kind: LmErrorKind,
    /// What happened, for a person: names the endpoint's host and the provider's own message.
    pub message: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LmErrorKind {
    /// No connection, or it broke off.
    Connection,
    /// No answer in time.
    Timeout,
    /// 429.
    RateLimited,
    /// A failure on the provider's side (5xx, 408, 409).
    Provider,
    /// The provider refuses the request as such (other 4xx): another try will not help.
    Refused,
    /// The provider does not know the constraint on the answer, or cannot read it: the request may
    /// succeed without.
    ConstraintRefused,
    /// The conversation is longer than the model can read: a shorter one may succeed.
    ContextOverflow,
    /// An answer that is not of the provider's own format.
    Malformed,
    /// Given up because nobody wants the answer any more.
    Cancelled,
    /// Not sent, because the budget that it was to be paid from does not allow it.
    Budget,
}

impl LmError {
    /// Whether the same request may succeed if it is sent again.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        use LmErrorKind::{Budget, Cancelled, ConstraintRefused, ContextOverflow, Refused};
        !matches!(self.kind, Refused | ConstraintRefused | ContextOverflow | Cancelled | Budget)
    }

    /// Whether nobody pays for the request, or nobody wants its answer any more: it says nothing of
    /// the model.
    #[must_use]
    pub const fn is_unpaid(&self) -> bool {
        matches!(self.kind, LmErrorKind::Budget | LmErrorKind::Cancelled)
    }

    /// Whether another model may answer the same request: the failure is the model's or its
    /// provider's. A request that is refused as such is a mistake that is better seen.
    #[must_use]
    pub const fn is_the_models(&self) -> bool {
        self.is_transient() || matches!(self.kind, LmErrorKind::ContextOverflow)
    }
}
