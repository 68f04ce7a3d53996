//! A client for endpoints that speak OpenAI's chat completions: OpenAI itself, llama.cpp, vLLM,
//! Ollama, gateways. Sends one request and reports what came back; never retries. The key goes into
//! one header and nowhere else.

mod chunks;
mod hear;
mod wire;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use hyper::Uri;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};

use self::hear::Taken;
use self::wire::{Dialect, NoReply, Wanted};
use super::failure;
use super::http::{HttpAnswer, HttpClient, HttpError, HttpLimits};
use super::{Heard, Lm, LmError, LmErrorKind, LmReply, LmRequest};

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
    http: HttpClient,
    host: Arc<str>,
    model: Arc<str>,
    key: Option<String>,
    dialect: Dialect,
    /// The most that is kept of an answer.
    answer_bytes: usize,
    taken: Taken,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenAi");
        shown.field("host", &self.host).field("model", &self.model).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// A client with connections of its own. Connects to nothing yet.
    ///
    /// # Errors
    /// When the address, the key or the machine's certificates cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self, OpenAiConfigError> {
        let address = endpoint(&config.base_url).map_err(OpenAiConfigError::BaseUrl)?;
        let host = address.authority().map_or_else(|| "".into(), |host| host.as_str().into());
        let key = config.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
        let http = HttpClient::new(address, headers(key)?, &config.http)
            .map_err(OpenAiConfigError::Tls)?;
        Ok(Self {
            http,
            host,
            model: config.model,
            key: key.map(str::to_owned),
            dialect: Dialect { max_tokens: config.max_tokens_field, grammar: config.grammar_field },
            answer_bytes: config.http.answer_bytes,
            taken: Taken::default(),
        })
    }

    async fn ask(&self, request: &LmRequest) -> Result<LmReply, LmError> {
        let body = self.body(request, Wanted::Whole)?;
        let answer = self.http.post(body, Wanted::Whole.accept()).await;
        let answer = answer.map_err(|error| self.unanswered(error))?;
        self.reply(&answer, request)
    }

    fn body(&self, request: &LmRequest, wanted: Wanted) -> Result<Vec<u8>, LmError> {
        wire::body(&self.model, request, self.dialect, wanted)
            .map_err(|error| self.error(LmErrorKind::Refused, format!("not sent: {error}")))
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
            return Err(self.failed(answer, kind));
        }
        wire::reply(&answer.body, &self.model).map_err(|why| match why {
            NoReply::Error => self.failed(answer, LmErrorKind::Provider),
            why => self.no_reply(why, answer.status, ""),
        })
    }

    /// Why there is no reply in what came; `said` is what holds the provider's error.
    fn no_reply(&self, why: NoReply, status: u16, said: &str) -> LmError {
        let error = match why {
            NoReply::Error => {
                let body = Bytes::copy_from_slice(said.as_bytes());
                let answer = HttpAnswer { status, headers: HeaderMap::new(), body };
                return self.failed(&answer, LmErrorKind::Provider);
            }
            NoReply::Malformed(reason) => {
                let text = format!("the answer is not a chat completion: {reason}");
                self.error(LmErrorKind::Malformed, text)
            }
            NoReply::TooLarge => return self.unanswered(HttpError::TooLarge),
            NoReply::BrokenOff => {
                self.error(LmErrorKind::Connection, "the answer broke off".to_owned())
            }
        };
        LmError { status: Some(status), ..error }
    }

    fn failed(&self, answer: &HttpAnswer, kind: LmErrorKind) -> LmError {
        let status = failure::status_line(answer.status);
        let words = failure::provider_message(&answer.body, self.key.as_deref())
            .map_or_else(String::new, |words| format!(": {words}"));
        LmError {
            status: Some(answer.status),
            retry_after: failure::retry_after(&answer.headers),
            ..self.error(kind, format!("answered {status}{words}"))
        }
    }

    fn unanswered(&self, error: HttpError) -> LmError {
        match error {
            HttpError::Connect(why) => {
                self.error(LmErrorKind::Connection, format!("no connection: {why}"))
            }
            HttpError::Broken(why) => {
                self.error(LmErrorKind::Connection, format!("the connection broke off: {why}"))
            }
            HttpError::TooLarge => {
                self.error(LmErrorKind::Malformed, "the answer is too large to be one".into())
            }
        }
    }

    fn error(&self, kind: LmErrorKind, what: String) -> LmError {
        let message = format!("model {} at {}: {what}", self.model, self.host);
        LmError { kind, message, status: None, retry_after: None }
    }
}

impl Lm for OpenAi {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.ask(request).boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: Heard<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.hear(request, heard).boxed()
    }
}

/// The address as given, with or without a slash at its end, plus the path of the call. A query
/// (some gateways want an API version there) stays behind it.
fn endpoint(base_url: &str) -> Result<Uri, &'static str> {
    let base_url = base_url.trim();
    let (base, query) = match base_url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (base_url, String::new()),
    };
    let uri: Uri = format!("{}/chat/completions{query}", base.trim_end_matches('/'))
        .parse()
        .map_err(|_| "it cannot be read as an address")?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(host)) if host.as_str().contains('@') => {
            Err("a user and password do not belong into it")
        }
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err("it must start with http:// or https:// and name a host"),
    }
}

fn headers(key: Option<&str>) -> Result<HeaderMap, OpenAiConfigError> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    if let Some(key) = key {
        let mut bearer = HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| OpenAiConfigError::ApiKey)?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_as_given_and_only_its_end_is_tidied() {
        let address = |base: &str| endpoint(base).map(|uri| uri.to_string());
        let plain = "https://api.openai.com/v1/chat/completions";
        assert_eq!(address("https://api.openai.com/v1").as_deref(), Ok(plain));
        assert_eq!(address(" https://api.openai.com/v1/ ").as_deref(), Ok(plain));
        let bare = address("http://127.0.0.1:8000");
        assert_eq!(bare.as_deref(), Ok("http://127.0.0.1:8000/chat/completions"));
        let versioned = address("https://gate.example/openai?api-version=7");
        let expected = "https://gate.example/openai/chat/completions?api-version=7";
        assert_eq!(versioned.as_deref(), Ok(expected));
        for odd in ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://me:secret@host"] {
            let error = address(odd).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

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
