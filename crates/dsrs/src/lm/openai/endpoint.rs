//! One address of an OpenAI-compatible server with its key and its error messages. Does not know what
//! is requested.

use std::sync::Arc;

use hyper::Uri;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};

use super::{OpenAiConfig, OpenAiConfigError};
use crate::lm::failure;
use crate::lm::http::{HttpAnswer, HttpClient, HttpError, HttpLimits};
use crate::lm::{ExtraHeaders, LmError, LmErrorKind};

/// The address for one kind of request.
pub(super) struct Endpoint {
    pub(super) http: HttpClient,
    pub(super) host: Arc<str>,
    pub(super) model: Arc<str>,
    key: Option<String>,
}

impl Endpoint {
    /// Connects with the first request.
    pub(super) fn new(
        config: &OpenAiConfig,
        path: &str,
        limits: HttpLimits,
    ) -> Result<Self, OpenAiConfigError> {
        let address = address(&config.base_url, path).map_err(OpenAiConfigError::BaseUrl)?;
        let host = address.authority().map_or_else(|| "".into(), |host| host.as_str().into());
        let key = config.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
        let http = HttpClient::new(address, headers(key)?, &limits)
            .map_err(OpenAiConfigError::Transport)?;
        Ok(Self { http, host, model: config.model.clone(), key: key.map(str::to_owned) })
    }

    /// The failure of an answer. The key and the values of extra headers, which may be keys of a gateway, are
    /// masked in what it says.
    pub(super) fn failed(
        &self,
        answer: &HttpAnswer,
        kind: LmErrorKind,
        extra: Option<&ExtraHeaders>,
    ) -> LmError {
        let status = failure::status_line(answer.status);
        let words = self.masked(&answer.body, extra);
        let words = words.map_or_else(String::new, |words| format!(": {words}"));
        LmError {
            status: Some(answer.status),
            retry_after: failure::retry_after(&answer.headers),
            ..self.error(kind, format!("answered {status}{words}"))
        }
    }

    /// What an answer says, without secrets.
    pub(super) fn masked(&self, body: &[u8], extra: Option<&ExtraHeaders>) -> Option<String> {
        let extra = extra.into_iter().flat_map(ExtraHeaders::iter).map(|(_, value)| value);
        let secrets = extra.chain(self.key.as_deref());
        failure::provider_message(body, secrets)
    }

    pub(super) fn transport_error(&self, error: HttpError) -> LmError {
        match error {
            HttpError::Connect(why) => {
                self.error(LmErrorKind::Connection, format!("no connection: {why}"))
            }
            HttpError::Broken(why) => {
                self.error(LmErrorKind::Connection, format!("the connection was lost: {why}"))
            }
            HttpError::TooLarge => {
                self.error(LmErrorKind::Malformed, "the answer is too large".into())
            }
        }
    }

    pub(super) fn error(&self, kind: LmErrorKind, what: String) -> LmError {
        let message = format!("model {} at {}: {what}", self.model, self.host);
        LmError { kind, message, status: None, retry_after: None }
    }
}

/// The configured address, without a slash at its end, plus the path of the call. A query (some
/// gateways expect an API version there) stays at the end.
fn address(base_url: &str, path: &str) -> Result<Uri, &'static str> {
    let base_url = base_url.trim();
    let (base, query) = match base_url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (base_url, String::new()),
    };
    let uri: Uri = format!("{}{path}{query}", base.trim_end_matches('/'))
        .parse()
        .map_err(|_| "it is not a valid address")?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(host)) if host.as_str().contains('@') => {
            Err("it must not contain a user and password")
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
    fn the_path_is_appended_to_the_configured_address() {
        let found = |base: &str| address(base, "/chat/completions").map(|uri| uri.to_string());
        let plain = "https://api.openai.com/v1/chat/completions";
        assert_eq!(found("https://api.openai.com/v1").as_deref(), Ok(plain));
        assert_eq!(found(" https://api.openai.com/v1/ ").as_deref(), Ok(plain));
        let bare = found("http://127.0.0.1:8000");
        assert_eq!(bare.as_deref(), Ok("http://127.0.0.1:8000/chat/completions"));
        let versioned = found("https://gate.example/openai?api-version=7");
        let expected = "https://gate.example/openai/chat/completions?api-version=7";
        assert_eq!(versioned.as_deref(), Ok(expected));
        for odd in ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://me:secret@host"] {
            let error = address(odd, "/embeddings").unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
