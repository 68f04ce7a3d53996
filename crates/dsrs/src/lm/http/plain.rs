//! Posts over HTTP/1 without TLS to one address and reuses its connections. Frames no messages.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream::StreamExt;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::time::{Instant, timeout};

use super::connection::Connection;
use super::{HttpAnswer, HttpError, HttpLimits, HttpStream, is_events, lost, read};

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    host: String,
    port: u16,
    /// The path and query of the address.
    target: Uri,
    /// The headers of all requests.
    headers: HeaderMap,
    limits: HttpLimits,
    idle: Mutex<HashMap<runtime::Id, Vec<Idle>>>,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl PlainClient {
    /// A client of an `http` address that sends these headers with every request.
    pub(super) fn new(
        address: &Uri,
        mut headers: HeaderMap,
        limits: HttpLimits,
    ) -> Result<Self, String> {
        let authority = address.authority().ok_or("the address has no host")?;
        let host = HeaderValue::try_from(authority.as_str()).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            target: address.path_and_query().cloned().map_or_else(Uri::default, Uri::from),
            headers,
            limits,
            idle: Mutex::default(),
        })
    }

    /// Posts a body. Dropping the future closes the connection.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpAnswer, HttpError> {
        let runtime = current_runtime()?;
        let (response, mut connection) = self.send(runtime, body.into(), accept).await?;
        let answer = connection.drive(read(response, self.limits.answer_bytes)).await?;
        if connection.is_ready() {
            self.store(runtime, connection);
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
        let (response, connection) = self.send(current_runtime()?, body.into(), accept).await?;
        let (head, body) = response.into_parts();
        let is_events = head.headers.get(CONTENT_TYPE).is_some_and(is_events);
        let body = connection.stream(body).boxed();
        Ok(HttpStream { status: head.status.as_u16(), headers: head.headers, is_events, body })
    }

    /// Sends a request over an idle connection, else over a new one. A server may close an idle connection
    /// while the request is on its way; then a new one gets it.
    async fn send(
        &self,
        runtime: runtime::Id,
        body: Bytes,
        accept: &'static str,
    ) -> Result<(Response<Incoming>, Connection), HttpError> {
        if let Some(mut idle) = self.take_idle(runtime) {
            match idle.send(self.request(body.clone(), accept)).await {
                Ok(response) => return Ok((response, idle)),
                Err(error) if !is_closed(&error) => return Err(lost(&error)),
                Err(_) => {}
            }
        }
        let mut new = self.connect().await?;
        let response = new.send(self.request(body, accept)).await.map_err(|error| lost(&error))?;
        Ok((response, new))
    }

    fn request(&self, body: Bytes, accept: &'static str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        request
    }

    async fn connect(&self) -> Result<Connection, HttpError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let connected = timeout(self.limits.connect_timeout, connecting).await;
        let stream = connected
            .map_err(|_| HttpError::Connect("connecting took too long".to_owned()))?
            .map_err(|error| connect_error(&error))?;
        // Otherwise small requests wait for an acknowledgement.
        stream.set_nodelay(true).map_err(|error| connect_error(&error))?;
        Connection::over(stream).await.map_err(|error| connect_error(&error))
    }

    /// The connection that was used last. Dropping the others closes them.
    fn take_idle(&self, runtime: runtime::Id) -> Option<Connection> {
        loop {
            let idle = self.idle().get_mut(&runtime)?.pop()?;
            if idle.since.elapsed() < self.limits.idle_timeout {
                return Some(idle.connection);
            }
        }
    }

    fn store(&self, runtime: runtime::Id, connection: Connection) {
        let mut idle = self.idle();
        let stored = idle.entry(runtime).or_default();
        if stored.len() < self.limits.idle_connections {
            stored.push(Idle { connection, since: Instant::now() });
        }
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<runtime::Id, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runtime of this task. A connection wakes its user through the runtime that opened it, so it stays
/// there.
fn current_runtime() -> Result<runtime::Id, HttpError> {
    Ok(runtime::Handle::try_current().map_err(|error| connect_error(&error))?.id())
}

fn connect_error(error: &dyn std::error::Error) -> HttpError {
    HttpError::Connect(error.to_string())
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
