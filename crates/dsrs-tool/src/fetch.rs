//! The HTTP client of tools: one request, whose redirects are checked like its first address, and a
//! bounded response. A secret is sent to the origin of the first address only, and only if its
//! settings list that host. Uses no proxy and no cookies, decompresses nothing. Knows no LM.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName,
    HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use secrecy::ExposeSecret;
use url::Url;

use super::dial::{Dial, DialError, SystemResolver};
use super::guard::{Guard, Refused};
use dsrs_config::Secret;

/// Maximum number of redirects.
const REDIRECTS: usize = 5;

/// Maximum number of idle connections for each host, and their lifetime.
const IDLE: (usize, Duration) = (8, Duration::from_secs(30));

/// The `User-Agent` header.
pub(super) const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("dsrs-server/", env!("CARGO_PKG_VERSION")));

pub(super) struct FetchRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    /// Its headers without secrets.
    pub(super) headers: HeaderMap,
    /// Its headers with secrets. They go to the first origin only.
    pub(super) secret_headers: Vec<SecretHeader>,
    pub(super) body: Option<Bytes>,
}

/// A header with a secret.
#[derive(Clone)]
pub(super) struct SecretHeader {
    name: HeaderName,
    value: HeaderValue,
    secret: Arc<Secret>,
}

impl SecretHeader {
    /// A header that consists of a prefix and a secret.
    ///
    /// # Errors
    /// The secret does not fit into a header.
    pub(super) fn new(name: HeaderName, prefix: &str, secret: Arc<Secret>) -> Result<Self, String> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.text.expose_secret()))
            .map_err(|_| format!("the secret \"{}\" does not fit into a header", secret.name))?;
        value.set_sensitive(true);
        Ok(Self { name, value, secret })
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }
}

/// A response of any status.
pub(super) struct FetchResponse {
    pub(super) status: u16,
    pub(super) succeeded: bool,
    /// Its `Content-Type`, or empty.
    pub(super) media: String,
    /// Its body, up to the requested limit.
    pub(super) body: Vec<u8>,
    /// How long the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    /// Set if the body is longer than the limit.
    pub(super) truncated: Option<Truncation>,
}

/// The whole body of a truncated response.
pub(super) struct Truncation {
    /// Its size, if the server sent one.
    pub(super) whole: Option<u64>,
}

/// Why there is no response. Contains no headers.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the request was refused: {0}")]
    Refused(#[from] Refused),
    #[error("the request was refused: {0}")]
    Unbound(String),
    /// The server has not received the request.
    #[error("{0}")]
    NotConnected(String),
    /// The server may have received the request.
    #[error("{0}")]
    Failed(String),
}

/// The client.
pub(super) struct Fetch {
    guard: Arc<Guard>,
    client: Result<Client<HttpsConnector<Dial>, Full<Bytes>>, String>,
}

impl Fetch {
    /// A client that reaches what the guard allows. Connects to nothing yet.
    pub(super) fn new(guard: Guard) -> Self {
        let guard = Arc::new(guard);
        let dial = Dial::new(guard.clone(), Arc::new(SystemResolver));
        let client = dsrs::lm::tls().map(|tls| {
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(tls)
                .https_or_http()
                .enable_http1()
                .wrap_connector(dial);
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_max_idle_per_host(IDLE.0)
                .pool_idle_timeout(IDLE.1)
                .build(connector)
        });
        Self { guard, client }
    }

    /// Whether the guard allows a URL.
    pub(super) fn admit(&self, url: &Url) -> Result<(), Refused> {
        self.guard.admit(url)
    }

    /// Sends the request, follows redirects, and reads at most `limit` bytes of the response. Dropping
    /// the future closes the connection.
    pub(super) async fn fetch(
        &self,
        mut request: FetchRequest,
        limit: usize,
    ) -> Result<FetchResponse, FetchError> {
        request.headers.entry(USER_AGENT).or_insert(AGENT);
        for _ in 0..=REDIRECTS {
            let response = self.send(&request).await?;
            match redirected(&request, &response)? {
                Some(next) => request.follow(next, response.status().as_u16()),
                None => return read(response, limit).await,
            }
        }
        Err(FetchError::Failed(format!("more than {REDIRECTS} redirects")))
    }

    /// Sends the request, and follows no redirect.
    pub(super) async fn send(
        &self,
        request: &FetchRequest,
    ) -> Result<Response<Incoming>, FetchError> {
        self.guard.admit(&request.url)?;
        let client = self.client.as_ref().map_err(|reason| FetchError::Failed(reason.clone()))?;
        let uri = hyper::Uri::try_from(request.url.as_str())
            .map_err(|error| FetchError::Failed(format!("the URL cannot be sent: {error}")))?;
        let mut outgoing = hyper::Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *outgoing.method_mut() = request.method.clone();
        *outgoing.uri_mut() = uri;
        *outgoing.headers_mut() = request.all_headers()?;
        client.request(outgoing).await.map_err(|error| {
            let is_connected = !error.is_connect();
            failed(&request.url, &error, is_connected)
        })
    }
}

impl FetchRequest {
    /// Its headers with those that contain secrets; none of these may go to another host than its
    /// settings list.
    fn all_headers(&self) -> Result<HeaderMap, FetchError> {
        let mut headers = self.headers.clone();
        for header in &self.secret_headers {
            header.secret.admit_url(&self.url).map_err(FetchError::Unbound)?;
            headers.insert(header.name.clone(), header.value.clone());
        }
        Ok(headers)
    }

    /// Becomes the request that a redirect asks for. Secrets and credentials stay with their origin.
    fn follow(&mut self, next: Url, status: u16) {
        if next.origin() != self.url.origin() {
            self.secret_headers.clear();
            self.headers.remove(AUTHORIZATION);
            self.headers.remove(COOKIE);
        }
        let rewritten = match status {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if rewritten {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
        }
        self.url = next;
    }
}

/// The target of a redirect; its address is checked before it is requested.
fn redirected(
    request: &FetchRequest,
    response: &Response<Incoming>,
) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let next = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    let mut next =
        next.ok_or_else(|| FetchError::Failed("the target of a redirect is not a URL".to_owned()))?;
    next.set_fragment(None);
    Ok(Some(next))
}

async fn read(response: Response<Incoming>, limit: usize) -> Result<FetchResponse, FetchError> {
    let (head, mut body) = response.into_parts();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(encoding) = text(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        return Err(FetchError::Failed(format!(
            "the response is compressed with `{encoding}`, which was not requested and is not supported"
        )));
    }
    let whole = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let mut answer = FetchResponse {
        status: head.status.as_u16(),
        succeeded: head.status.is_success(),
        media: text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
        body: Vec::new(),
        retry_after: dsrs::lm::retry_after(&head.headers),
        truncated: None,
    };
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| {
            FetchError::Failed(format!("the response was interrupted: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let room = limit - answer.body.len();
        answer.body.extend_from_slice(data.get(..room).unwrap_or(&data));
        if data.len() > room {
            answer.truncated = Some(Truncation { whole });
            break;
        }
    }
    Ok(answer)
}

/// The guard's reason, if the guard refused; else the innermost reason.
fn failed(url: &Url, error: &(dyn Error + 'static), is_connected: bool) -> FetchError {
    let mut cause = error;
    loop {
        match cause.downcast_ref() {
            Some(DialError::Refused(refused)) => return refused.clone().into(),
            Some(DialError::Failed(reason)) => return FetchError::NotConnected(reason.clone()),
            None => {}
        }
        let Some(below) = cause.source() else { break };
        cause = below;
    }
    let host = url.host_str().unwrap_or_default();
    let reason = format!("`{host}` did not respond: {cause}");
    if is_connected { FetchError::Failed(reason) } else { FetchError::NotConnected(reason) }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;
    use dsrs_config::Destination;

    fn request(url: &str) -> FetchRequest {
        let secret = Secret {
            name: "KEY".to_owned(),
            text: SecretString::from("hush-7"),
            hosts: vec![Destination::read("api.example").unwrap()],
            mcp: Vec::new(),
        };
        let header = SecretHeader::new(AUTHORIZATION, "Bearer ", Arc::new(secret)).unwrap();
        FetchRequest {
            method: Method::GET,
            url: Url::parse(url).unwrap(),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/plain"))]),
            secret_headers: vec![header],
            body: None,
        }
    }

    #[test]
    fn a_request_with_a_secret_for_another_host_is_refused_when_it_is_sent() {
        let headers = request("https://api.example/x").all_headers().unwrap();
        assert_eq!(headers[AUTHORIZATION], "Bearer hush-7");
        assert!(!format!("{headers:?}").contains("hush-7"));
        let refused = request("https://other.example/x").all_headers().unwrap_err().to_string();
        assert!(refused.contains("secrets.KEY.hosts") && !refused.contains("hush-7"), "{refused}");
    }

    #[test]
    fn a_redirect_takes_no_secret_to_another_origin_and_none_returns() {
        let mut request = request("https://api.example/x");
        request.follow(Url::parse("https://api.example/y").unwrap(), 302);
        assert!(request.all_headers().unwrap().contains_key(AUTHORIZATION));
        for away in ["http://api.example/y", "https://api.example:8443/", "https://other.example/"]
        {
            let mut request = self::request("https://api.example/x");
            request.follow(Url::parse(away).unwrap(), 307);
            assert!(!request.all_headers().unwrap().contains_key(AUTHORIZATION), "{away}");
            request.follow(Url::parse("https://api.example/x").unwrap(), 307);
            assert!(!request.all_headers().unwrap().contains_key(AUTHORIZATION), "{away}");
            assert!(request.all_headers().unwrap().contains_key(CONTENT_TYPE));
        }
    }
}
