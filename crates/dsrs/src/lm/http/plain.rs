//! Posts over HTTP/1 without TLS to one address and reuses its connections. Frames no messages, resolves
//! no names.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{StreamExt, try_unfold};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::proxy::matcher::Intercept;
use tokio::runtime::Handle;

use super::connect::{Dial, connect_error, dial, tcp};
use super::connection::Connection;
use super::pool::{Lease, Pool};
use super::{HttpAnswer, HttpError, HttpLimits, HttpStream, is_events, lost, next_piece, read};

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    dial: Dial,
    /// What the request line names: the path, or for a proxy the whole address.
    target: Uri,
    /// The headers of all requests.
    headers: HeaderMap,
    answer_bytes: usize,
    pool: Arc<Pool>,
}

impl PlainClient {
    /// A client of an `http` address that sends these headers with every request.
    pub(super) fn new(
        address: &Uri,
        mut headers: HeaderMap,
        proxy: Option<&Intercept>,
        limits: &HttpLimits,
    ) -> Result<Self, String> {
        let host = address.authority().ok_or("the address has no host")?.as_str();
        headers.insert(HOST, HeaderValue::try_from(host).map_err(|error| error.to_string())?);
        if let Some(auth) = proxy.and_then(Intercept::basic_auth) {
            headers.insert(PROXY_AUTHORIZATION, auth.clone());
        }
        let path = address.path_and_query().cloned().map(Uri::from).unwrap_or_default();
        let target = if proxy.is_some() { address.clone() } else { path };
        let server = proxy.map_or(address, Intercept::uri).clone();
        let dial = dial(tcp(GaiResolver::new(), limits), server);
        let (answer_bytes, pool) = (limits.answer_bytes, Pool::new(limits));
        Ok(Self { dial, target, headers, answer_bytes, pool })
    }

    /// Posts a body. Dropping the future closes the connection.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpAnswer, HttpError> {
        let runtime = current_runtime()?;
        let (response, mut lease) = self.send(&runtime, body.into(), accept).await?;
        let answer = lease.connection.drive(read(response, self.answer_bytes)).await?;
        if lease.connection.is_ready() {
            self.pool.store(&runtime, lease);
        }
        Ok(answer)
    }

    /// Posts a body and streams the body of the answer. The connection is not reused: some servers close
    /// it after a stream, and the next request would fail.
    pub(super) async fn open(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpStream<'static>, HttpError> {
        let (response, lease) = self.send(&current_runtime()?, body.into(), accept).await?;
        let (head, body) = response.into_parts();
        let is_events = head.headers.get(CONTENT_TYPE).is_some_and(is_events);
        let pieces = try_unfold((lease, body), |(mut lease, mut body)| async move {
            let piece = lease.connection.drive(next_piece(&mut body)).await?;
            Ok(piece.map(|piece| (piece, (lease, body))))
        });
        let body = pieces.boxed();
        Ok(HttpStream { status: head.status.as_u16(), headers: head.headers, is_events, body })
    }

    /// Sends a request over an idle connection, else over a new one. A server may close an idle connection
    /// while the request is on its way; then a new one gets it.
    async fn send(
        &self,
        runtime: &Handle,
        body: Bytes,
        accept: &'static str,
    ) -> Result<(Response<Incoming>, Lease), HttpError> {
        let permit = self.pool.permit().await;
        let permit = permit.ok_or_else(|| HttpError::Connect("the client is closed".to_owned()))?;
        if let Some(mut connection) = self.pool.take(runtime.id()) {
            match connection.send(self.request(body.clone(), accept)).await {
                Ok(response) => return Ok((response, Lease { connection, permit })),
                Err(error) if !is_closed(&error) => return Err(lost(&error)),
                Err(_) => {}
            }
        }
        let stream = (self.dial)().await?;
        let mut connection = Connection::over(stream).await.map_err(|error| lost(&error))?;
        let response = connection.send(self.request(body, accept)).await;
        let response = response.map_err(|error| lost(&error))?;
        Ok((response, Lease { connection, permit }))
    }

    fn request(&self, body: Bytes, accept: &'static str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        request
    }
}

fn current_runtime() -> Result<Handle, HttpError> {
    Handle::try_current().map_err(|error| connect_error(&error))
}

/// Whether the server closed the connection instead of answering.
fn is_closed(error: &hyper::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    let kind = source.map(io::Error::kind);
    error.is_canceled()
        || error.is_incomplete_message()
        || matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset))
}
