//! Why a prediction failed, with what a client needs to see: predictor, field and raw text.
//! `author_error` converts the errors of an author's own code.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::NodePause;
use crate::adapter::BrokenInput;
use crate::coerce::ParseReport;
use crate::lm::{LmError, LmErrorKind};

/// A prediction that failed.
///
/// In a module, `?` converts texts and the common errors of an author's own code, and
/// [`OrFail`](super::OrFail) any other; the error is stored as the source:
///
/// ```
/// use std::error::Error;
/// use dsrs::predict::{PredictError, PredictErrorKind};
///
/// fn count(text: &str) -> Result<i64, PredictError> {
///     if text.is_empty() {
///         return Err("there is nothing to count".into());
///     }
///     Ok(text.parse::<i64>()?)
/// }
///
/// assert_eq!(count("").unwrap_err().message, "there is nothing to count");
/// let error = count("many").unwrap_err();
/// assert_eq!(error.kind, PredictErrorKind::Module);
/// assert!(error.source().unwrap().is::<std::num::ParseIntError>());
/// ```
#[derive(Clone, Debug)]
pub struct PredictError {
    /// What kind of failure.
    pub kind: PredictErrorKind,
    /// Names the cause and the way out.
    pub message: String,
    /// The predictor's path within its node. `None` if no predictor was involved.
    pub predictor: Option<Arc<str>>,
    /// The underlying error.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for PredictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// Written out: a derived source would be the `Arc`, in which nobody finds the error.
impl Error for PredictError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|error| error as &(dyn Error + 'static))
    }
}

/// Kinds of failure of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum PredictErrorKind {
    /// The provider failed, after retries.
    Lm,
    /// The provider is out of quota, after retries.
    RateLimited {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The credit or the quota of the provider's key is used up.
    QuotaExhausted,
    /// A filter, the provider or the LM refused to answer.
    Filtered,
    /// A limit of tokens cut the answer within an output.
    Incomplete {
        /// The output that is unfinished or unwritten, if the answer has outputs.
        field: Option<Arc<str>>,
        /// What arrived.
        failure: Box<RejectedAnswer>,
    },
    /// The time of the node or of the run is over.
    Timeout,
    /// The run was cancelled.
    Cancelled,
    /// No failure: the node waits for a value from outside.
    Waiting {
        /// In the middle of its work: what it asks for.
        pause: Option<Arc<NodePause>>,
    },
    /// The LM's answer does not fit the schema, after retries.
    Parse {
        /// The first output field that does not fit, if any.
        field: Option<Arc<str>>,
        /// The answer and the result of parsing it.
        failure: Box<RejectedAnswer>,
    },
    /// An `assert` failed, after retries.
    Constraint {
        /// The output field.
        field: Arc<str>,
        /// The label or the expression of the constraint.
        constraint: Arc<str>,
        /// The answer and the result of parsing it.
        failure: Box<RejectedAnswer>,
    },
    /// No attempt of a strategy could be rewarded.
    Reward,
    /// An input does not fit its type, for example a whole number beyond ±2^53 for a float, or breaks
    /// an assert.
    InvalidValue {
        /// The input field.
        field: Arc<str>,
    },
    /// The model alias is not configured.
    UnknownModel {
        /// The alias.
        alias: Arc<str>,
    },
    /// The predictor has tools and its model does not support native tool calls.
    NoTools {
        /// The alias.
        alias: Arc<str>,
    },
    /// No model is configured.
    NoModel,
    /// An op cannot compute its value from these inputs.
    Op,
    /// A tool that a node calls refused the call, or its result does not fit.
    Tool,
    /// A tool that a node calls cannot answer now, after retries.
    ToolUnavailable {
        /// How long the tool asks to wait.
        retry_after: Option<Duration>,
    },
    /// No program that the LM wrote ran to its end.
    Program,
    /// The sandbox that runs its programs failed.
    Sandbox,
    /// Something that the definition refers to has been deleted since.
    Missing,
    /// The budget of the run is spent.
    Budget,
    /// A typed module failed by its author's own code.
    Module,
}

impl PredictErrorKind {
    /// Whether a retry within this run is useless.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::Cancelled
                | Self::Waiting { .. }
                | Self::NoModel
                | Self::Missing
                | Self::UnknownModel { .. }
                | Self::NoTools { .. }
                | Self::Sandbox
                | Self::InvalidValue { .. }
                | Self::Op
                | Self::Budget
                | Self::QuotaExhausted
        )
    }

    /// The stable code of the failure in records, responses and error values.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Lm => "lm_error",
            Self::RateLimited { .. } => "rate_limited",
            Self::QuotaExhausted => "provider_quota_exhausted",
            Self::Filtered => "answer_filtered",
            Self::Incomplete { .. } => "answer_incomplete",
            Self::Timeout => "timeout",
            Self::Cancelled => "run_cancelled",
            Self::Waiting { .. } => "run_waiting",
            Self::Parse { .. } => "parse_error",
            Self::Constraint { .. } => "constraint_failed",
            Self::Reward => "reward_failed",
            Self::InvalidValue { .. } => "invalid_value",
            Self::UnknownModel { .. } => "unknown_model",
            Self::NoModel => "no_model",
            Self::Missing => "missing_graph",
            Self::NoTools { .. } => "tools_unsupported",
            Self::Op => "op_failed",
            Self::Tool => "tool_failed",
            Self::ToolUnavailable { .. } => "tool_unavailable",
            Self::Program => "program_failed",
            Self::Sandbox => "sandbox_failed",
            Self::Budget => "budget_spent",
            Self::Module => "module_failed",
        }
    }
}

/// An answer that does not fit, and the result of parsing it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RejectedAnswer {
    /// The answer, verbatim.
    pub raw: Arc<str>,
    /// What was expected and what was found in the field of the error.
    pub reason: Arc<str>,
    /// The leniencies used so far.
    pub report: ParseReport,
}

impl PredictError {
    /// An error without a predictor.
    #[must_use]
    pub fn new(kind: PredictErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), predictor: None, source: None }
    }

    /// The error of the LM client, if that is the underlying error.
    #[must_use]
    pub fn lm_error(&self) -> Option<&LmError> {
        self.source.as_deref()?.downcast_ref()
    }

    /// The error of inputs that break asserts. Nothing was sent.
    pub(crate) fn broken_input(broken: BrokenInput) -> Self {
        Self::new(PredictErrorKind::InvalidValue { field: broken.field }, broken.message)
    }

    /// Whether the conversation exceeds the context window of the model.
    #[must_use]
    pub fn is_context_overflow(&self) -> bool {
        self.lm_error().is_some_and(|error| error.kind == LmErrorKind::ContextOverflow)
    }

    /// The same error with a predictor, unless it has one.
    #[must_use]
    pub fn at(mut self, predictor: &Arc<str>) -> Self {
        self.predictor.get_or_insert_with(|| predictor.clone());
        self
    }
}
