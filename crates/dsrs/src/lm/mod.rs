//! Language models: the request to one, its reply, its failures, and one client a provider. Knows
//! messages and nothing of signatures, fields or graphs.

mod answer_end;
mod budget;
mod budgeted;
mod cache;
mod cached;
mod constrain;
mod delta;
mod embed;
mod error;
mod extras;
#[cfg(feature = "http")]
mod failure;
#[cfg(feature = "http")]
mod failure_kind;
#[cfg(feature = "http")]
mod from_env;
mod gate;
#[cfg(feature = "http")]
mod http;
mod message;
mod models;
#[cfg(feature = "genai")]
mod native;
mod observer;
mod omitted_params;
mod on_length;
#[cfg(feature = "http")]
mod openai;
#[cfg(feature = "http")]
mod param_support;
mod params;
mod payment;
mod reasoning;
mod reply_payload;
mod reply_value;
pub mod retry;
mod scripted;
#[cfg(feature = "http")]
mod sse;
mod token_logprobs;
mod tool;
mod trace_context;
mod vectors;

use futures_util::future::BoxFuture;

pub use answer_end::AnswerEnd;
pub use budget::{Budget, BudgetAccount, BudgetLimit, BudgetReserve, SpendingPermit};
pub use budgeted::{
    BudgetedEmbedder, BudgetedLm, BudgetedReplies, NoStore, RecordedReply, RecordingError,
    ReplyStore,
};
pub use cache::{CacheLookup, CacheSlot, ReplyCache, RequestKey};
pub use cached::CachedLm;
pub use constrain::{ConstrainedDecoding, ConstraintForm, DecodingConstraint};
pub use delta::DeltaSink;
pub use embed::{Embedder, Embeddings, batches, cosine};
pub use error::{LmError, LmErrorKind};
pub use extras::{ExtraBody, ExtraHeaders};
#[cfg(feature = "http")]
pub use failure::retry_after;
pub use gate::{Gate, GateLoad, GatePermits, Gates, Lane, Permit};
#[cfg(feature = "http")]
pub use http::{HttpLimits, tls};
pub use message::{Chat, LmReply, LmRequest, Message, Prefix, Role, Usage};
pub use models::{EmbeddingModel, Model, Models, Prices};
#[cfg(feature = "genai")]
pub use native::{Native, NativeConfig, Protocol};
pub use observer::{LmAttempt, LmObserver};
pub use omitted_params::OmittedParams;
pub use on_length::OnLength;
#[cfg(feature = "http")]
pub use openai::{
    GrammarField, MaxTokensField, OpenAi, OpenAiConfig, OpenAiConfigError, OpenAiEmbedder,
};
pub use params::LmParams;
pub use payment::{PaidEmbedder, PaidLm, RunAccount, RunBudget};
pub use reasoning::{ReasoningEffort, ReplyReasoning};
pub use scripted::{ScriptedAnswer, ScriptedLm, sections};
pub use token_logprobs::TokenLogprobs;
pub use tool::{ToolCall, ToolSet, ToolSpec};
pub use trace_context::{RequestTrace, TRACEPARENT, TRACESTATE, TraceContext, traceparent};
pub use vectors::Vectors;

/// One endpoint of a language model. Implementations send one request and report what the endpoint
/// answered. They do not retry (see [`retry`]) and do not read the environment.
///
/// ```
/// use std::{future::Future, pin::Pin};
/// use dsrs::lm::{DeltaSink, Lm, LmError, LmReply, LmRequest};
///
/// /// Repeats the last message.
/// struct Echo;
///
/// impl Lm for Echo {
///     fn complete<'a>(
///         &'a self,
///         request: &'a LmRequest,
///         _: DeltaSink<'a>,
///     ) -> Pin<Box<dyn Future<Output = Result<LmReply, LmError>> + Send + 'a>> {
///         let last = request.chat.messages().last().map_or("".into(), |last| last.content.clone());
///         let reply = LmReply::of(last, "echo");
///         Box::pin(async { Ok(reply) })
///     }
/// }
/// ```
pub trait Lm: Send + Sync {
    /// Sends one request. Dropping the future cancels it.
    ///
    /// An open sink receives the text of the reply while it arrives; the deltas together are that
    /// text. With a closed sink the endpoint is asked for a whole answer. An implementation that
    /// cannot stream may ignore the sink: the text of the reply is read anyway.
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>>;
}
