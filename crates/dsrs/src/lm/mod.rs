//! Language models: what is said to one, what it answers, how it fails, and one file a provider.
//! Knows messages and nothing of signatures, fields or graphs.

mod budget;
mod budgeted;
mod cache;
mod cached;
mod constrain;
mod embed;
mod error;
mod failure;
mod gate;
mod http;
mod message;
mod models;
#[cfg(feature = "genai")]
mod native;
mod openai;
pub mod retry;
mod scripted;
mod sse;
pub mod synthetic;
mod tool;
mod value;
mod vectors;
mod written;

use futures_util::future::BoxFuture;

pub use budget::{Budget, BudgetAccount, BudgetLimit, BudgetReserve, SpendingPermit};
pub use budgeted::{
    BudgetedEmbedder, BudgetedLm, BudgetedReplies, NoStore, RecordedReply, RecordingError,
    ReplyStore,
};
pub use cache::{CacheLookup, CacheSlot, ReplyCache, RequestKey};
pub use cached::CachedLm;
pub use constrain::{ConstrainedDecoding, ConstraintForm, DecodingConstraint};
pub use embed::{Embedder, Embeddings, batches, cosine};
pub use error::{LmError, LmErrorKind};
pub use gate::{Gate, GatePermits, Gates, Lane, Permit};
pub use http::{HttpLimits, tls};
pub use message::{Chat, LmParams, LmReply, LmRequest, Message, Prefix, Role, Usage};
pub use models::{Model, Models, Prices};
#[cfg(feature = "genai")]
pub use native::{Native, NativeConfig, Protocol};
pub use openai::{
    GrammarField, MaxTokensField, OpenAi, OpenAiConfig, OpenAiConfigError, OpenAiEmbedder,
};
pub use scripted::{ScriptedAnswer, ScriptedLm};
pub use synthetic::{SyntheticEmbedder, SyntheticLm};
pub use tool::{ToolCall, ToolSet, ToolSpec};
pub use vectors::Vectors;

/// One endpoint of a language model. Implementations send one request and report what came back;
/// they never retry (the call path does, see the retry room) and never read the environment.
///
/// ```
/// use std::{future::Future, pin::Pin};
/// use dsrs::lm::{Lm, LmError, LmReply, LmRequest};
///
/// /// Says what was said last.
/// struct Echo;
///
/// impl Lm for Echo {
///     fn complete<'a>(
///         &'a self,
///         request: &'a LmRequest,
///     ) -> Pin<Box<dyn Future<Output = Result<LmReply, LmError>> + Send + 'a>> {
///         let last = request.chat.messages().last().map_or("".into(), |said| said.content.clone());
///         let reply = LmReply::of(last, "echo");
///         Box::pin(async { Ok(reply) })
///     }
/// }
/// ```
pub trait Lm: Send + Sync {
    /// Sends one request. Dropping the future stops it.
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>>;

    /// As [`Self::complete`], and hands over the text of the answer while it arrives. The pieces
    /// together are the text of the reply. A provider that cannot be heard hands over the whole.
    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        Box::pin(async move {
            let reply = self.complete(request).await?;
            heard(&reply.text);
            Ok(reply)
        })
    }
}

/// Takes the next piece of an answer's text.
pub type DeltaSink<'h> = &'h mut (dyn FnMut(&str) + Send);
