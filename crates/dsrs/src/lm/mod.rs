//! Language models: what is said to one, what it answers, how it fails, and one file a provider.
//! Knows messages and nothing of signatures, fields or graphs.

mod bought;
mod budget;
mod cache;
mod constrain;
mod embed;
mod error;
mod failure;
mod gate;
mod http;
mod kept;
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

pub use bought::{InMemory, Paying, PayingForVectors, Purchase, Purchases, Purse, Unkept};
pub use budget::{Account, Budget, Hold, Limit, Reserve};
pub use cache::{Asking, Found, ReplyCache, RequestKey};
pub use constrain::{Constrain, Constraint, ConstraintForm};
pub use embed::{Embedded, Embedder, batches, cosine};
pub use error::{LmError, LmErrorKind};
pub use gate::{Gate, Gates, Lane, Passed, Permit};
pub use http::{HttpLimits, tls};
pub use kept::Kept;
pub use message::{Chat, LmParams, LmReply, LmRequest, Message, Prefix, Role, Usage};
pub use models::{Model, Models, Prices};
#[cfg(feature = "genai")]
pub use native::{Native, NativeConfig, Protocol};
pub use openai::{
    GrammarField, MaxTokensField, OpenAi, OpenAiConfig, OpenAiConfigError, OpenAiEmbedder,
};
pub use scripted::{Answer, Scripted};
pub use synthetic::{Synthetic, SyntheticEmbedder};
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
        heard: Heard<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        Box::pin(async move {
            let reply = self.complete(request).await?;
            heard(&reply.text);
            Ok(reply)
        })
    }
}

/// Takes the next piece of an answer's text.
pub type Heard<'h> = &'h mut (dyn FnMut(&str) + Send);
