//! Language models: what is said to one, what it answers, how it fails, and one file a provider.
//! Knows messages and nothing of signatures, fields or graphs.

mod constrain;
mod error;
mod http;
mod message;
mod models;
mod openai;
pub mod retry;
mod scripted;

use futures_util::future::BoxFuture;

pub use constrain::{Constrain, Constraint, ConstraintForm};
pub use error::{LmError, LmErrorKind};
pub use http::HttpLimits;
pub use message::{Chat, LmParams, LmReply, LmRequest, Message, Prefix, Role, Usage};
pub use models::{Model, Models, Prices};
pub use openai::{GrammarField, MaxTokensField, OpenAi, OpenAiConfig, OpenAiConfigError};
pub use scripted::{Answer, Scripted};

/// One endpoint of a language model. Implementations send one request and report what came back;
/// they never retry (the call path does, see the retry room) and never read the environment.
pub trait Lm: Send + Sync {
    /// Sends one request. Dropping the future stops it.
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>>;
}
