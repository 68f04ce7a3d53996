//! The HTTP client of the providers: posts bytes to one address over keep-alive connections and returns
//! status, headers and body, either whole and bounded or as a stream. Only this directory knows HTTP
//! libraries. Knows no JSON, and puts neither headers nor paths into its errors.

mod answer;
mod connect;
mod connection;
mod head;
mod plain;
mod pool;
mod request_bytes;
mod secure;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, TryStreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::{ClientConfig, RootCertStore};

use self::plain::PlainClient;
use self::secure::SecureClient;
use super::{ExtraHeaders, RequestTrace};

/// The most memory that a header alone can reserve.
const MOST_AT_ONCE: usize = 1 << 20;

/// Limits of the client.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// The timeout of connecting, which the addresses of a host share.
    pub connect_timeout: Duration,
    /// The most open connections. Further requests wait.
    pub connections: usize,
    /// How long an idle connection stays open.
    pub idle_timeout: Duration,
    /// The largest answer in bytes; of a streamed answer, the largest event and the longest text.
    pub answer_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            connections: 2048,
            idle_timeout: Duration::from_secs(60),
            answer_bytes: 16 << 20,
        }
    }
}

/// An answer of any status.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// Complete for failures.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An answer whose body is streamed.
pub(super) struct HttpStream<'c> {
    pub(super) status: u16,
    /// Complete for failures.
    pub(super) headers: HeaderMap,
    /// Whether the content type is that of server-sent events.
    pub(super) is_events: bool,
    /// Not limited: its reader has to limit it.
    pub(super) body: BoxStream<'c, Result<Bytes, HttpError>>,
}

impl HttpStream<'_> {
    /// Reads the whole body, up to `limit` bytes.
    pub(super) async fn whole(mut self, limit: usize) -> Result<HttpAnswer, HttpError> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.body.try_next().await? {
            if body.len() + piece.len() > limit {
                return Err(HttpError::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        Ok(HttpAnswer { status: self.status, headers: self.headers, body: body.freeze() })
    }
}

/// A body to post, and what differs between the headers of requests.
pub(super) struct HttpPost<'r> {
    pub(super) body: Bytes,
    /// The `accept` header.
    pub(super) accept: &'static str,
    /// Further headers.
    pub(super) extra_headers: Option<&'r ExtraHeaders>,
    /// The span that sends it.
    trace: Option<&'r RequestTrace>,
}

impl<'r> HttpPost<'r> {
    pub(super) fn new(body: Vec<u8>, accept: &'static str) -> Self {
        Self { body: body.into(), accept, extra_headers: None, trace: None }
    }

    pub(super) fn with_headers(self, extra_headers: Option<&'r ExtraHeaders>) -> Self {
        Self { extra_headers, ..self }
    }

    pub(super) fn in_trace(self, trace: Option<&'r RequestTrace>) -> Self {
        Self { trace, ..self }
    }

    /// The request to an address, with the headers of all requests to it.
    fn into_request(self, target: &Uri, headers: &HeaderMap) -> Request<Full<Bytes>> {
        let headers = self.headers(headers);
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.clone();
        *request.headers_mut() = headers;
        request
    }

    /// Whether it has no headers of its own but `accept`.
    fn is_plain(&self) -> bool {
        self.extra_headers.is_none() && self.trace.is_none()
    }

    /// Its headers, with those of all requests to its address.
    fn headers(&self, shared: &HeaderMap) -> HeaderMap {
        let mut headers = shared.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(self.accept));
        for (name, value) in self.extra_headers.into_iter().flat_map(ExtraHeaders::iter) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), value.try_into()) {
                headers.insert(name, value);
            }
        }
        for (name, value) in self.trace.map(RequestTrace::headers).into_iter().flatten() {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Why there is no whole answer.
#[derive(Debug)]
pub(super) enum HttpError {
    /// No connection could be made.
    Connect(String),
    /// The connection was lost, or the answer was not HTTP.
    Broken(String),
    /// The answer is larger than the limit.
    TooLarge,
}

impl HttpError {
    fn broken(why: impl ToString) -> Self {
        Self::Broken(why.to_string())
    }

    /// Whether the connection is of no use any more.
    const fn is_lost(&self) -> bool {
        matches!(self, Self::Broken(_))
    }
}

/// A client of one address.
pub(super) enum HttpClient {
    /// `http`.
    Plain(Box<PlainClient>),
    /// `https`.
    Secure(Box<SecureClient>),
}

impl HttpClient {
    /// A client that sends these headers with every request, through the proxy of the environment if
    /// there is one. Fails if the proxy cannot be used or the machine has no certificates.
    pub(super) fn new(
        address: Uri,
        headers: HeaderMap,
        limits: &HttpLimits,
    ) -> Result<Self, String> {
        Self::with(&Matcher::from_env(), tls, address, headers, limits)
    }

    fn with(
        proxies: &Matcher,
        tls: impl FnOnce() -> Result<ClientConfig, String>,
        address: Uri,
        headers: HeaderMap,
        limits: &HttpLimits,
    ) -> Result<Self, String> {
        let proxy = connect::proxy(proxies, &address)?;
        let proxy = proxy.as_ref();
        if address.scheme_str() == Some("https") {
            let client = SecureClient::new(address, headers, proxy, tls()?, limits);
            Ok(Self::Secure(Box::new(client)))
        } else {
            PlainClient::new(&address, headers, proxy, limits).map(Box::new).map(Self::Plain)
        }
    }

    /// Posts a body. Does not follow redirects. Dropping the future closes the
    /// connection.
    pub(super) async fn post(&self, request: HttpPost<'_>) -> Result<HttpAnswer, HttpError> {
        match self {
            Self::Plain(client) => client.post(request).await,
            Self::Secure(client) => client.post(request).await,
        }
    }

    /// As [`Self::post`], but streams the body of the answer. Dropping the body before its end closes the
    /// connection.
    pub(super) async fn open(&self, request: HttpPost<'_>) -> Result<HttpStream<'_>, HttpError> {
        match self {
            Self::Plain(client) => client.open(request).await,
            Self::Secure(client) => client.open(request).await,
        }
    }
}

/// Reads the whole body, up to `limit` bytes.
async fn read(response: Response<Incoming>, limit: usize) -> Result<HttpAnswer, HttpError> {
    let (head, mut body) = response.into_parts();
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut whole = BytesMut::with_capacity(length.min(MOST_AT_ONCE));
    while let Some(piece) = next_piece(&mut body).await? {
        if whole.len() + piece.len() > limit {
            return Err(HttpError::TooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    let (status, body) = (head.status.as_u16(), whole.freeze());
    Ok(HttpAnswer { status, headers: head.headers, body })
}

/// The next bytes of a body, `None` at its end. Trailers are ignored.
async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, HttpError> {
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        if let Ok(piece) = frame.map_err(|error| lost(&error))?.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// The failure of a connection that was lost or whose answer is not HTTP.
fn lost(error: &(dyn Error + 'static)) -> HttpError {
    HttpError::Broken(root_cause(error))
}

/// Whether a content type is that of server-sent events.
fn is_events(content_type: &HeaderValue) -> bool {
    let wanted = b"text/event-stream";
    let kind = content_type.as_bytes().trim_ascii_start();
    kind.get(..wanted.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
}

/// A TLS configuration with the certificates of the machine.
///
/// # Errors
/// What to install if the machine has no certificates.
pub fn tls() -> Result<ClientConfig, String> {
    let roots = roots()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The certificates of the machine. They are read and parsed once: that is a tenth of the start of a server.
fn roots() -> Result<Arc<RootCertStore>, String> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(roots) = ROOTS.get() {
        return Ok(roots.clone());
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("https needs CA certificates and this machine has none: install the package \
                    ca-certificates or set SSL_CERT_FILE"
            .into());
    }
    Ok(ROOTS.get_or_init(|| Arc::new(roots)).clone())
}

pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
