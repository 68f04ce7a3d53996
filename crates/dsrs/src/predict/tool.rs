//! Tools that an LM may call: the trait of all tools, and their errors. Does not know where tools
//! come from.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Ctx, PredictError};
use crate::lm::ToolSpec;
use crate::value::{Fields, Payload};

/// A tool that an LM may call.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::BoxFuture;
/// use dsrs::lm::ToolSpec;
/// use dsrs::predict::{Ctx, Tool, ToolError};
/// use dsrs::value::{Fields, Payload};
///
/// /// Says how long a text is.
/// struct Length(ToolSpec);
///
/// impl Tool for Length {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     fn call<'a>(&'a self, _ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
///         let text = args.get("text").and_then(Payload::as_str);
///         let length = text.map(|text| Payload::Int(text.len() as i64));
///         Box::pin(async move { length.ok_or_else(|| ToolError::reported("`text` is missing")) })
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// The specification shown to the LM.
    fn spec(&self) -> &ToolSpec;

    /// The JSON Schema of its results; `None` if they are text, or if only each result knows its own shape.
    fn result_schema(&self) -> Option<Payload> {
        None
    }

    /// Whether the caller of the run answers its calls: the run waits meanwhile, and [`Self::call`] is never called.
    fn waits_for_caller(&self) -> bool {
        false
    }

    /// Calls the tool once. `args` is what the LM wrote and may not fit the specification. Dropping
    /// the future cancels the call.
    ///
    /// # Errors
    /// What the LM sees instead of a result, or what ends the run.
    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>>;

    /// Calls the tool once for a program, which reads data and no texts beside them.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn call_for_data<'a>(
        &'a self,
        ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.call(ctx, args)
    }
}

/// Why a call of a tool failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ToolError {
    /// Shown to the LM, which may correct its call.
    #[error("{0}")]
    Reported(Arc<str>),
    /// Shown to the LM, too: the tool cannot answer now, and the same call may succeed later.
    #[error("{message}")]
    Unavailable {
        /// What happened.
        message: Arc<str>,
        /// How long the tool asks to wait.
        retry_after: Option<Duration>,
    },
    /// Shown to the LM, too: the tool may have done its work and gave no answer, so that the same call is not sent again. The
    /// failure is not that of the program.
    #[error("{0}")]
    Unanswered(Arc<str>),
    /// Ends the run: it was cancelled, or its time is over.
    #[error(transparent)]
    Fatal(#[from] PredictError),
}

impl ToolError {
    /// A failure that is shown to the LM.
    #[must_use]
    pub fn reported(message: impl Into<Arc<str>>) -> Self {
        Self::Reported(message.into())
    }

    /// A call that may have been done, and must not be repeated.
    #[must_use]
    pub fn unanswered(message: impl Into<Arc<str>>) -> Self {
        Self::Unanswered(message.into())
    }

    /// A failure that may be over when the call is repeated.
    #[must_use]
    pub fn unavailable(message: impl Into<Arc<str>>, retry_after: Option<Duration>) -> Self {
        Self::Unavailable { message: message.into(), retry_after }
    }
}
