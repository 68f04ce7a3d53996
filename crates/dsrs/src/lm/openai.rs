//! A client for endpoints that speak OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM,
//! Ollama, gateways. Sends one request and reports what came back; never retries. The key goes into
//! one header and nowhere else.

mod chunks;
mod embed;
mod endpoint;
mod stream;
mod wire;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use hyper::header::HeaderMap;

pub use self::embed::OpenAiEmbedder;
use self::endpoint::Endpoint;
use self::stream::StreamSupport;
use self::wire::{Dialect, NoReply, ResponseMode};
use super::failure;
use super::http::{HttpAnswer, HttpError, HttpLimits};
use super::{DeltaSink, Lm, LmError, LmErrorKind, LmReply, LmRequest};

/// Under which name the limit of an answer is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, which every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// Where the grammar of an answer stands in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrammarField {
    /// `grammar`, as llama.cpp has it.
    #[default]
    Grammar,
    /// `guided_grammar`, as vLLM had it first.
    GuidedGrammar,
    /// `structured_outputs: {grammar}`, as vLLM has it now.
    StructuredOutputs,
}

/// Where a model is and how it is reached.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// The address before `/chat/completions`, its version included: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The provider's name for the model.
    pub model: Arc<str>,
    /// The key, if the endpoint wants one; an empty one is none.
    pub api_key: Option<String>,
    /// Under which name `max_tokens` is sent.
    pub max_tokens_field: MaxTokensField,
    /// Where a grammar is put.
    pub grammar_field: GrammarField,
    /// Limits of connections and answers.
    pub http: HttpLimits,
}

impl OpenAiConfig {
    /// A model without a key, with the usual limits.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<Arc<str>>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            max_tokens_field: MaxTokensField::default(),
            grammar_field: GrammarField::default(),
            http: HttpLimits::default(),
        }
    }
}

/// Shows neither the key nor the address, which may hold one too.
impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Why a model cannot be reached as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenAiConfigError {
    /// The address is not one.
    #[error("base_url must be an address such as https://api.openai.com/v1: {0}")]
    BaseUrl(&'static str),
    /// The key cannot be sent.
    #[error("the api key holds characters that an HTTP header cannot carry")]
    ApiKey,
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(String),
}

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAi {
    endpoint: Endpoint,
    dialect: Dialect,
    /// The most that is kept of an answer.
    answer_bytes: usize,
    stream_support: StreamSupport,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenAi");
        let Endpoint { host, model, .. } = &self.endpoint;
        shown.field("host", host).field("model", model).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// A client with connections of its own. Connects to nothing yet.
    ///
    /// # Errors
    /// When the address, the key or the machine's certificates cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self, OpenAiConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(&config, "/chat/completions", config.http)?,
            dialect: Dialect { max_tokens: config.max_tokens_field, grammar: config.grammar_field },
            answer_bytes: config.http.answer_bytes,
            stream_support: StreamSupport::default(),
        })
    }

    async fn ask(&self, request: &LmRequest) -> Result<LmReply, LmError> {
        let body = self.body(request, ResponseMode::Whole)?;
        let answer = self.endpoint.http.post(body, ResponseMode::Whole.accept()).await;
        let answer = answer.map_err(|error| self.endpoint.unanswered(error))?;
        self.reply(&answer, request)
    }

    fn body(&self, request: &LmRequest, mode: ResponseMode) -> Result<Vec<u8>, LmError> {
        wire::body(&self.endpoint.model, request, self.dialect, mode).map_err(|error| {
            self.endpoint.error(LmErrorKind::Refused, format!("not sent: {error}"))
        })
    }

    fn reply(&self, answer: &HttpAnswer, request: &LmRequest) -> Result<LmReply, LmError> {
        if !(200..300).contains(&answer.status) {
            let refused = request.constraint.as_ref().is_some_and(|constraint| {
                failure::refuses(answer.status, &answer.body, constraint)
            });
            let kind = match failure::kind(answer.status) {
                _ if failure::overflows(answer.status, &answer.body) => {
                    LmErrorKind::ContextOverflow
                }
                _ if refused => LmErrorKind::ConstraintRefused,
                kind => kind,
            };
            return Err(self.endpoint.failed(answer, kind));
        }
        wire::reply(&answer.body, &self.endpoint.model).map_err(|why| match why {
            NoReply::Error => self.endpoint.failed(answer, LmErrorKind::Provider),
            why => self.no_reply(why, answer.status, ""),
        })
    }

    /// Why there is no reply in what came; `said` is what holds the provider's error.
    fn no_reply(&self, why: NoReply, status: u16, said: &str) -> LmError {
        let error = match why {
            NoReply::Error => {
                let body = Bytes::copy_from_slice(said.as_bytes());
                let answer = HttpAnswer { status, headers: HeaderMap::new(), body };
                return self.endpoint.failed(&answer, LmErrorKind::Provider);
            }
            NoReply::Malformed(reason) => {
                let text = format!("the answer is not a chat completion: {reason}");
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
            NoReply::TooLarge => return self.endpoint.unanswered(HttpError::TooLarge),
            NoReply::BrokenOff => {
                self.endpoint.error(LmErrorKind::Connection, "the answer broke off".to_owned())
            }
        };
        LmError { status: Some(status), ..error }
    }
}

impl Lm for OpenAi {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.ask(request).boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.stream_reply(request, heard).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_client_nor_settings_show_the_key() {
        let key = Some("sk-secret\n".to_owned());
        let config = OpenAiConfig { api_key: key, ..OpenAiConfig::new("http://host/v1", "small") };
        assert!(!format!("{config:?}").contains("sk-secret"));
        let lm = OpenAi::new(config).unwrap();
        assert_eq!(format!("{lm:?}"), r#"OpenAi { host: "host", model: "small", .. }"#);
        let key = Some("sk-\nsecret".to_owned());
        let config = OpenAiConfig { api_key: key, ..OpenAiConfig::new("http://host/v1", "small") };
        assert_eq!(OpenAi::new(config).unwrap_err(), OpenAiConfigError::ApiKey);
    }
}
