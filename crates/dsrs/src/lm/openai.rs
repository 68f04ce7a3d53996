//! A client for endpoints with OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM, Ollama,
//! gateways. Sends one request and reports the answer; does not retry. The key is sent in one header
//! and appears nowhere else.

mod chunks;
mod embed;
mod endpoint;
mod reply;
mod request;
mod stream;
mod token_counts;
mod wire_logprobs;
mod wire_text;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use hyper::header::HeaderMap;

pub use self::embed::OpenAiEmbedder;
use self::endpoint::Endpoint;
use self::reply::NoReply;
use self::request::{Dialect, ResponseMode};
use self::stream::StreamSupport;
use super::failure_kind;
use super::http::{HttpAnswer, HttpError, HttpLimits, HttpPost};
use super::param_support::{ParamSupport, ParamTrial};
use super::{DeltaSink, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest};

/// The member of a request that limits the length of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, which most servers accept. If the server asks for `max_completion_tokens`, later
    /// requests have that.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    MaxCompletionTokens,
}

/// The member of a request that holds the grammar of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrammarField {
    /// `grammar`, for llama.cpp.
    #[default]
    Grammar,
    /// `guided_grammar`, for older versions of vLLM.
    GuidedGrammar,
    /// `structured_outputs: {grammar}`, for current versions of vLLM.
    StructuredOutputs,
}

/// The address of a model and how to connect to it.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// The address without `/chat/completions`, including the version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The provider's name for the model.
    pub model: Arc<str>,
    /// The key, if the endpoint requires one. An empty key counts as none.
    pub api_key: Option<String>,
    /// The name under which `max_tokens` is sent.
    pub max_tokens_field: MaxTokensField,
    /// The member that holds a grammar.
    pub grammar_field: GrammarField,
    /// Whether the end of the shared prefix is marked for the provider's cache, as Anthropic models
    /// behind a gateway expect it. Other providers cache by themselves.
    pub marks_prefix: bool,
    /// Limits of connections and answers.
    pub http: HttpLimits,
}

impl OpenAiConfig {
    /// A model without a key, with the default limits.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<Arc<str>>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            max_tokens_field: MaxTokensField::default(),
            grammar_field: GrammarField::default(),
            marks_prefix: false,
            http: HttpLimits::default(),
        }
    }
}

/// Prints neither the key nor the address, which may contain a key.
impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Why the configuration of a model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenAiConfigError {
    /// The address is not a valid one.
    #[error("base_url must be an address such as https://api.openai.com/v1: {0}")]
    BaseUrl(&'static str),
    /// The key cannot be sent.
    #[error("the api key contains characters that an HTTP header cannot carry")]
    ApiKey,
    /// The proxy of the environment or the machine's certificates cannot be used.
    #[error("{0}")]
    Transport(String),
}

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAi {
    endpoint: Endpoint,
    dialect: Dialect,
    /// The largest answer in bytes.
    answer_bytes: usize,
    stream_support: StreamSupport,
    param_support: ParamSupport,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenAi");
        let Endpoint { host, model, .. } = &self.endpoint;
        shown.field("host", host).field("model", model).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// A client with its own connections. It connects with the first request.
    ///
    /// # Errors
    /// When the address, the key, the proxy of the environment or the machine's certificates cannot be
    /// used.
    pub fn new(config: OpenAiConfig) -> Result<Self, OpenAiConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(&config, "/chat/completions", config.http)?,
            dialect: Dialect {
                max_tokens: config.max_tokens_field,
                grammar: config.grammar_field,
                marks_prefix: config.marks_prefix,
            },
            answer_bytes: config.http.answer_bytes,
            stream_support: StreamSupport::default(),
            param_support: ParamSupport::default(),
        })
    }

    /// Asks for a whole answer, and again without the settings that the endpoint refuses.
    async fn whole_reply(&self, request: &LmRequest) -> Result<LmReply, LmError> {
        let mut trial = self.begin_trial();
        loop {
            let (params, omitted) = trial.supported(&request.params);
            let post = self.post(request, &params, &trial, ResponseMode::Whole)?;
            let answer = self.endpoint.http.post(post).await;
            let answer = answer.map_err(|error| self.endpoint.transport_error(error))?;
            if !trial.learn(answer.status, &answer.body, &params) {
                return Ok(LmReply { omitted, ..self.reply(&answer, request)? });
            }
        }
    }

    fn begin_trial(&self) -> ParamTrial<'_> {
        self.param_support.begin(Some(self.dialect.max_tokens))
    }

    fn post<'r>(
        &self,
        request: &'r LmRequest,
        params: &LmParams,
        trial: &ParamTrial<'_>,
        mode: ResponseMode,
    ) -> Result<HttpPost<'r>, LmError> {
        let max_tokens = trial.limit().unwrap_or(self.dialect.max_tokens);
        let dialect = Dialect { max_tokens, ..self.dialect };
        let body = request::body(&self.endpoint.model, request, params, dialect, mode);
        let body = body.map_err(|error| {
            self.endpoint.error(LmErrorKind::Refused, format!("not sent: {error}"))
        })?;
        let headers = request.params.extra_headers.as_ref();
        Ok(HttpPost::new(body, mode.accept())
            .with_headers(headers)
            .in_trace(request.trace.as_ref()))
    }

    fn reply(&self, answer: &HttpAnswer, request: &LmRequest) -> Result<LmReply, LmError> {
        if !(200..300).contains(&answer.status) {
            let kind = failure_kind::of_answer(answer.status, &answer.body, Some(request));
            return Err(self.endpoint.failed(answer, kind, request.params.extra_headers.as_ref()));
        }
        reply::reply(&answer.body, &self.endpoint.model).map_err(|why| match why {
            NoReply::Error => {
                let extra = request.params.extra_headers.as_ref();
                let kind = failure_kind::of_error(&answer.body, Some(request));
                self.endpoint.failed(answer, kind, extra)
            }
            why => self.no_reply(why, answer.status, "", request),
        })
    }

    /// The failure of an answer without a reply; `body_text` contains the error of the provider, or the broken event.
    fn no_reply(&self, why: NoReply, status: u16, body_text: &str, request: &LmRequest) -> LmError {
        let error = match why {
            NoReply::Error => {
                let body = Bytes::copy_from_slice(body_text.as_bytes());
                let answer = HttpAnswer { status, headers: HeaderMap::new(), body };
                let extra = request.params.extra_headers.as_ref();
                let kind = failure_kind::of_error(&answer.body, Some(request));
                return self.endpoint.failed(&answer, kind, extra);
            }
            NoReply::Failed(reason) => {
                let text = format!("the answer ended with `{reason}`: the provider failed");
                self.endpoint.error(LmErrorKind::Provider, text)
            }
            NoReply::Malformed(reason) => {
                let text = format!("the answer is not a chat completion: {reason}");
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
            NoReply::BrokenEvent(reason) => {
                let extra = request.params.extra_headers.as_ref();
                let line = self.endpoint.masked(body_text.as_bytes(), extra).unwrap_or_default();
                let text = format!("an event of the answer cannot be read ({reason}): `{line}`");
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
            NoReply::TooLarge => return self.endpoint.transport_error(HttpError::TooLarge),
            NoReply::Incomplete => {
                let text = "the answer is incomplete";
                self.endpoint.error(LmErrorKind::Connection, text.to_owned())
            }
        };
        LmError { status: Some(status), ..error }
    }
}

impl Lm for OpenAi {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        if deltas.is_open() {
            self.streamed_reply(request, deltas).boxed()
        } else {
            self.whole_reply(request).boxed()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_does_not_contain_the_key() {
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
