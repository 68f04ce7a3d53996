//! What an LM may have called: the trait of all tools, and how one fails. Where tools come from is
//! for the rooms above.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Ctx, PredictError};
use crate::lm::ToolSpec;
use crate::value::{Fields, Payload};

/// Something that an LM may have called.
///
/// ```
/// use std::sync::Arc;
/// use futures_util::future::{BoxFuture, FutureExt};
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
///         async move { length.ok_or_else(|| ToolError::told("`text` is missing")) }.boxed()
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// What the LM is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Calls it once. Arguments are what the LM wrote, and may not fit the spec. Dropping the
    /// future stops it.
    ///
    /// # Errors
    /// What the LM is told instead of a result, or what ends the run.
    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>>;
}

/// How a call of a tool fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ToolError {
    /// The LM is told, and may do better.
    #[error("{0}")]
    Told(Arc<str>),
    /// The run cannot go on: it was cancelled, or its time is over.
    #[error(transparent)]
    Ends(#[from] PredictError),
}

impl ToolError {
    /// A failure that the LM is told.
    #[must_use]
    pub fn told(message: impl Into<Arc<str>>) -> Self {
        Self::Told(message.into())
    }
}
