//! Posts over HTTP/1 without TLS to one address and reuses its connections. Frames no messages, resolves
//! no names.

use std::sync::Arc;

use futures_util::stream::{StreamExt, try_unfold};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Response, Uri};
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::proxy::matcher::Intercept;
use tokio::runtime::Handle;

use super::connect::{OpenTcp, connect_error, open_tcp, tcp};
use super::connection::Connection;
use super::pool::{Pool, PooledConnection};
use super::{
    HttpAnswer, HttpError, HttpLimits, HttpPost, HttpStream, is_events, lost, next_piece, read,
};

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    open_tcp: OpenTcp,
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
        let open_tcp = open_tcp(tcp(GaiResolver::new(), limits), server);
        let (answer_bytes, pool) = (limits.answer_bytes, Pool::new(limits));
        Ok(Self { open_tcp, target, headers, answer_bytes, pool })
    }

    /// Posts a body. Dropping the future closes the connection.
    pub(super) async fn post(&self, request: HttpPost<'_>) -> Result<HttpAnswer, HttpError> {
        let runtime = current_runtime()?;
        let (response, mut pooled) = self.send(&runtime, request).await?;
        let answer = pooled.connection.drive(read(response, self.answer_bytes)).await?;
        if pooled.connection.is_ready() {
            self.pool.store(&runtime, pooled);
        }
        Ok(answer)
    }

    /// Posts a body and streams the body of the answer. The connection is not reused: some servers close
    /// it after a stream, and the next request would fail.
    pub(super) async fn open(
        &self,
        request: HttpPost<'_>,
    ) -> Result<HttpStream<'static>, HttpError> {
        let (response, pooled) = self.send(&current_runtime()?, request).await?;
        let (head, body) = response.into_parts();
        let is_events = head.headers.get(CONTENT_TYPE).is_some_and(is_events);
        let pieces = try_unfold((pooled, body), |(mut pooled, mut body)| async move {
            let piece = pooled.connection.drive(next_piece(&mut body)).await?;
            Ok(piece.map(|piece| (piece, (pooled, body))))
        });
        let body = pieces.boxed();
        Ok(HttpStream { status: head.status.as_u16(), headers: head.headers, is_events, body })
    }

    /// Sends a request over an idle connection, else over a new one. If the idle connection turns out to
    /// be closed before the request is sent, a new one takes its place.
    async fn send(
        &self,
        runtime: &Handle,
        request: HttpPost<'_>,
    ) -> Result<(Response<Incoming>, PooledConnection), HttpError> {
        let permit = self.pool.permit().await;
        let permit = permit.ok_or_else(|| HttpError::Connect("the client is closed".to_owned()))?;
        let mut request = request.into_request(&self.target, &self.headers);
        if let Some(mut connection) = self.pool.take(runtime.id()) {
            match connection.send(request).await {
                Ok(response) => return Ok((response, PooledConnection { connection, permit })),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(lost(error.error())),
                },
            }
        }
        let stream = (self.open_tcp)().await?;
        let mut connection = Connection::over(stream).await.map_err(|error| lost(&error))?;
        let response = connection.send(request).await.map_err(|error| lost(error.error()))?;
        Ok((response, PooledConnection { connection, permit }))
    }
}

fn current_runtime() -> Result<Handle, HttpError> {
    Handle::try_current().map_err(|error| connect_error(&error))
}
