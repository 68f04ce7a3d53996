//! Why a prediction failed, with what a client needs to see: the predictor, the field, the raw text.

use std::sync::Arc;
use std::time::Duration;

use crate::coerce::Report;
use crate::lm::{LmError, LmErrorKind};

/// A prediction that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PredictError {
    /// What kind of failure.
    pub kind: PredictErrorKind,
    /// Names the thing and the way out.
    pub message: String,
    /// The predictor's path within its node; `None` when no predictor was involved.
    pub predictor: Option<Arc<str>>,
    /// What lies beneath.
    #[source]
    pub source: Option<Box<LmError>>,
}

/// Kinds of failure of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum PredictErrorKind {
    /// The provider failed, after retries.
    Lm,
    /// The provider is out of quota, after retries.
    RateLimited {
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The node's or the run's time is over.
    Timeout,
    /// The run was cancelled.
    Cancelled,
    /// Nothing failed: the node waits for a value from outside.
    Waiting,
    /// The LM's answer does not fit the schema, after retries.
    Parse {
        /// The output field that does not fit, if it is one.
        field: Option<Arc<str>>,
        /// How the answer was read.
        misread: Box<Misread>,
    },
    /// An `assert` failed, after retries.
    Constraint {
        /// The output field.
        field: Arc<str>,
        /// The label or the expression of the constraint.
        constraint: Arc<str>,
        /// How the answer was read.
        misread: Box<Misread>,
    },
    /// No reward could be found for what a strategy tried.
    Reward,
    /// An input does not fit its type (a whole number beyond ±2^53 where a float is wanted).
    InvalidValue {
        /// The input field.
        field: Arc<str>,
    },
    /// The model alias is not configured.
    UnknownModel {
        /// The alias.
        alias: Arc<str>,
    },
    /// The predictor has tools, and its model has no way to be told of them.
    NoTools {
        /// The alias.
        alias: Arc<str>,
    },
    /// No model is configured at all.
    NoModel,
    /// An op cannot compute its value from these inputs.
    Op,
    /// No program that the LM wrote came to its end.
    Program,
    /// The sandbox failed in which its programs run.
    Sandbox,
    /// Something that the definition names was there when it was written, and is no more.
    Missing,
    /// The budget is spent that the run is paid from.
    Budget,
}

impl PredictErrorKind {
    /// Whether trying again within this run is of no use.
    #[must_use]
    pub const fn ends_the_run(&self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::Cancelled
                | Self::Waiting
                | Self::NoModel
                | Self::Missing
                | Self::UnknownModel { .. }
                | Self::NoTools { .. }
                | Self::Sandbox
                | Self::InvalidValue { .. }
                | Self::Op
                | Self::Budget
        )
    }

    /// The stable code of the failure, in records, in answers and in errors as data.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Lm => "lm_error",
            Self::RateLimited { .. } => "rate_limited",
            Self::Timeout => "timeout",
            Self::Cancelled => "run_cancelled",
            Self::Waiting => "run_waiting",
            Self::Parse { .. } => "parse_error",
            Self::Constraint { .. } => "constraint_failed",
            Self::Reward => "reward_failed",
            Self::InvalidValue { .. } => "invalid_value",
            Self::UnknownModel { .. } => "unknown_model",
            Self::NoModel => "no_model",
            Self::Missing => "missing_graph",
            Self::NoTools { .. } => "tools_unsupported",
            Self::Op => "op_failed",
            Self::Program => "program_failed",
            Self::Sandbox => "sandbox_failed",
            Self::Budget => "budget_spent",
        }
    }
}

/// How an answer was read that does not fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Misread {
    /// The answer as it came.
    pub raw: Arc<str>,
    /// What was expected and what was found, of the field that the error names.
    pub reason: Arc<str>,
    /// The leniencies of the parser so far.
    pub report: Report,
}

impl PredictError {
    /// An error of a kind, not yet tied to a predictor.
    #[must_use]
    pub fn new(kind: PredictErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), predictor: None, source: None }
    }

    /// Whether the conversation was longer than the model can read.
    #[must_use]
    pub fn is_context_overflow(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind == LmErrorKind::ContextOverflow)
    }

    /// The same error, tied to a predictor.
    #[must_use]
    pub fn at(mut self, predictor: &Arc<str>) -> Self {
        self.predictor.get_or_insert_with(|| predictor.clone());
        self
    }
}
