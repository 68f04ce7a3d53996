//! The HTTP client of tools: one request, with every redirect checked like the first address, and a
//! bounded answer. Takes no proxy from anywhere, keeps no cookies, unpacks nothing. Knows no LM.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue,
    LOCATION, USER_AGENT,
};
use hyper::{Method, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::Url;

use super::dial::{Dial, DialError, SystemNames};
use super::guard::{Guard, Refused};

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// Unused connections that are kept for a host, and for how long.
const IDLE: (usize, Duration) = (8, Duration::from_secs(30));

/// Who asks.
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("dsrs-server/", env!("CARGO_PKG_VERSION")));

/// A request on its way.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    /// Those that are marked sensitive stay with the first origin.
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// An answer, whatever its status.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) succeeded: bool,
    /// Its `Content-Type`, or nothing.
    pub(super) media: String,
    /// At most as much of it as was asked for.
    pub(super) body: Vec<u8>,
    /// Whether there was more.
    pub(super) cut: Option<Cut>,
}

/// What an answer was cut down from.
pub(super) struct Cut {
    /// Its size, if the server said it.
    pub(super) whole: Option<u64>,
}

/// Why there is no answer. Says nothing of headers.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the request was refused: {0}")]
    Refused(#[from] Refused),
    #[error("{0}")]
    Failed(String),
}

/// The client.
pub(super) struct Fetch {
    guard: Arc<Guard>,
    client: Result<Client<HttpsConnector<Dial>, Full<Bytes>>, String>,
}

impl Fetch {
    /// A client that goes where the guard lets it. Connects to nothing yet.
    pub(super) fn new(guard: Guard) -> Self {
        let guard = Arc::new(guard);
        let dial = Dial::new(guard.clone(), Arc::new(SystemNames));
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

    /// Whether a URL may be asked for at all.
    pub(super) fn admit(&self, url: &Url) -> Result<(), Refused> {
        self.guard.admit(url)
    }

    /// Asks, follows redirects, and reads at most `limit` bytes of the answer. Dropping the future
    /// closes the connection.
    pub(super) async fn fetch(
        &self,
        mut request: Request,
        limit: usize,
    ) -> Result<Answer, FetchError> {
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

    async fn send(&self, request: &Request) -> Result<Response<Incoming>, FetchError> {
        self.guard.admit(&request.url)?;
        let client = self.client.as_ref().map_err(|reason| FetchError::Failed(reason.clone()))?;
        let uri = hyper::Uri::try_from(request.url.as_str())
            .map_err(|error| FetchError::Failed(format!("the URL cannot be sent: {error}")))?;
        let mut outgoing = hyper::Request::new(Full::new(request.body.clone().unwrap_or_default()));
        *outgoing.method_mut() = request.method.clone();
        *outgoing.uri_mut() = uri;
        *outgoing.headers_mut() = request.headers.clone();
        client.request(outgoing).await.map_err(|error| failed(&request.url, &error))
    }
}

impl Request {
    /// Turns into the request that a redirect asks for. What is secret stays with its origin.
    fn follow(&mut self, next: Url, status: u16) {
        if next.origin() != self.url.origin() {
            let private = |name: &_, value: &HeaderValue| {
                value.is_sensitive() || name == AUTHORIZATION || name == COOKIE
            };
            self.headers = std::mem::take(&mut self.headers)
                .iter()
                .filter(|(name, value)| !private(*name, value))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
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

/// Where a redirect leads; its address is checked when it is asked.
fn redirected(request: &Request, response: &Response<Incoming>) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let next = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    let mut next =
        next.ok_or_else(|| FetchError::Failed("a redirect leads to what is no URL".to_owned()))?;
    next.set_fragment(None);
    Ok(Some(next))
}

async fn read(response: Response<Incoming>, limit: usize) -> Result<Answer, FetchError> {
    let (head, mut body) = response.into_parts();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(packed) = text(CONTENT_ENCODING).filter(|packed| *packed != "identity") {
        return Err(FetchError::Failed(format!(
            "the answer is packed with `{packed}`, which was not asked for and is not read"
        )));
    }
    let whole = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let mut answer = Answer {
        status: head.status.as_u16(),
        succeeded: head.status.is_success(),
        media: text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase(),
        body: Vec::new(),
        cut: None,
    };
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame =
            frame.map_err(|error| FetchError::Failed(format!("the answer broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        let room = limit - answer.body.len();
        answer.body.extend_from_slice(data.get(..room).unwrap_or(&data));
        if data.len() > room {
            answer.cut = Some(Cut { whole });
            break;
        }
    }
    Ok(answer)
}

/// What the guard said, if it was the guard; else the innermost reason.
fn failed(url: &Url, error: &(dyn Error + 'static)) -> FetchError {
    let mut cause = error;
    loop {
        match cause.downcast_ref() {
            Some(DialError::Refused(refused)) => return refused.clone().into(),
            Some(DialError::Failed(reason)) => return FetchError::Failed(reason.clone()),
            None => {}
        }
        let Some(below) = cause.source() else { break };
        cause = below;
    }
    let host = url.host_str().unwrap_or_default();
    FetchError::Failed(format!("`{host}` gave no answer: {cause}"))
}
