//! The HTTP client beneath the providers: posts bytes to one address over kept-alive connections
//! and hands back status, headers and body: whole and bounded, or piece by piece. Only it and its
//! parts know which HTTP libraries are used. Knows no JSON, and puts neither headers nor paths into
//! its errors.

mod answer;
mod head;
mod pieces;
mod plain;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use http_body_util::{BodyDataStream, BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use plain::PlainClient;
use rustls::{ClientConfig, RootCertStore};

/// Limits of the client.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// How long setting up a connection may take.
    pub connect_timeout: Duration,
    /// How many unused connections are kept.
    pub idle_connections: usize,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// The largest answer that is read; of one that is streamed, the largest event and the most
    /// text.
    pub answer_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle_connections: 512,
            idle_timeout: Duration::from_secs(60),
            answer_bytes: 16 << 20,
        }
    }
}

/// An answer, whatever its status.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// At least those of a failure.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An answer whose body is still to come.
pub(super) struct HttpStream<'c> {
    pub(super) status: u16,
    /// At least those of a failure.
    pub(super) headers: HeaderMap,
    /// Whether the body is said to be server-sent events.
    pub(super) is_events: bool,
    /// As long as it comes: whoever takes it bounds what they keep.
    pub(super) body: BoxStream<'c, Result<Bytes, HttpError>>,
}

impl HttpStream<'_> {
    /// The answer once it is whole, if its body is not larger than `limit`.
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

/// Why there is no whole answer.
#[derive(Debug)]
pub(super) enum HttpError {
    /// No connection could be made.
    Connect(String),
    /// The connection broke off, or what came was not HTTP.
    Broken(String),
    /// The answer is larger than the limit.
    TooLarge,
}

/// Posts to one address.
pub(super) enum HttpClient {
    /// `http`.
    Plain(Box<PlainClient>),
    /// `https`.
    Secure(Box<SecureClient>),
}

impl HttpClient {
    /// A client that sends these headers with every request. Fails only for want of certificates.
    pub(super) fn new(
        address: Uri,
        headers: HeaderMap,
        limits: &HttpLimits,
    ) -> Result<Self, String> {
        if address.scheme_str() == Some("https") {
            SecureClient::new(address, headers, limits).map(Box::new).map(Self::Secure)
        } else {
            PlainClient::new(&address, &headers, *limits).map(Box::new).map(Self::Plain)
        }
    }

    /// Posts a body; `accept` is the header of that name. Redirects are answers like any other. Dropping the future closes the
    /// connection it uses.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpAnswer, HttpError> {
        match self {
            Self::Plain(client) => client.post(body, accept).await,
            Self::Secure(client) => client.post(body, accept).await,
        }
    }

    /// As [`Self::post`], and hands over the body while it comes. Dropping the body before its end
    /// closes the connection.
    pub(super) async fn open(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpStream<'_>, HttpError> {
        match self {
            Self::Plain(client) => client.open(body, accept).await,
            Self::Secure(client) => client.open(body, accept).await,
        }
    }
}

/// Posts over TLS, with HTTP/2 where the other side has it.
pub(in crate::lm) struct SecureClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    address: Uri,
    headers: HeaderMap,
    answer_bytes: usize,
}

impl SecureClient {
    fn new(address: Uri, headers: HeaderMap, limits: &HttpLimits) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limits.connect_timeout));
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls()?)
            .https_only()
            .enable_http1()
            .enable_http2()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.idle_timeout)
            .pool_max_idle_per_host(limits.idle_connections)
            .build(connector);
        Ok(Self { client, address, headers, answer_bytes: limits.answer_bytes })
    }

    async fn post(&self, body: Vec<u8>, accept: &'static str) -> Result<HttpAnswer, HttpError> {
        read(self.send(body, accept).await?, self.answer_bytes).await
    }

    async fn open(&self, body: Vec<u8>, accept: &'static str) -> Result<HttpStream<'_>, HttpError> {
        let (head, body) = self.send(body, accept).await?.into_parts();
        let body = BodyDataStream::new(body).map_err(|error| unread(&error)).boxed();
        let kind = head.headers.get(CONTENT_TYPE);
        let is_events = kind.is_some_and(|kind| head::is_events(kind.as_bytes()));
        Ok(HttpStream { status: head.status.as_u16(), headers: head.headers, is_events, body })
    }

    async fn send(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<Response<Incoming>, HttpError> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        self.client.request(request).await.map_err(|error| {
            let reason = root_cause(&error);
            if error.is_connect() { HttpError::Connect(reason) } else { HttpError::Broken(reason) }
        })
    }
}

/// The whole answer, if it is not larger than `limit`.
async fn read(response: Response<Incoming>, limit: usize) -> Result<HttpAnswer, HttpError> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, limit).collect().await.map_err(|error| unread(&*error))?;
    Ok(HttpAnswer { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() })
}

fn unread(error: &(dyn Error + Send + Sync + 'static)) -> HttpError {
    if error.is::<LengthLimitError>() {
        HttpError::TooLarge
    } else {
        HttpError::Broken(root_cause(error))
    }
}

/// TLS with the machine's certificates, for whoever else has to connect.
///
/// # Errors
/// What to install where the machine has none.
pub fn tls() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("https needs CA certificates and this machine has none: install the package \
                    ca-certificates or set SSL_CERT_FILE"
            .into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
