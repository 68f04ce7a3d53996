//! Posts over HTTP/1 without TLS to one address and reuses its connections. The task that waits for a whole answer
//! reads and writes its connection; streamed answers are framed by hyper. Resolves no names.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Buf, Bytes};
use futures_util::stream::{StreamExt, try_unfold};
use hyper::Response;
use hyper::Uri;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::proxy::matcher::Intercept;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::answer::{WholeAnswer, read_answer};
use super::connect::{OpenTcp, connect_error, open_tcp, tcp};
use super::connection::Connection;
use super::pool::{ConnectionPermit, Pool, PooledStream};
use super::request_bytes::RequestHeads;
use super::{HttpAnswer, HttpError, HttpLimits, HttpPost, HttpStream, is_events, lost, next_piece};

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    open_tcp: OpenTcp,
    heads: RequestHeads,
    answer_bytes: usize,
    pool: Arc<Pool>,
}

/// A connection that streams an answer. Dropping it closes it and then frees its place.
struct StreamConnection {
    connection: Connection,
    _permit: ConnectionPermit,
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
        // A proxy has to know the whole address.
        let target = if proxy.is_some() { address.clone() } else { path };
        let server = proxy.map_or(address, Intercept::uri).clone();
        let open_tcp = open_tcp(tcp(GaiResolver::new(), limits), server);
        let (answer_bytes, pool) = (limits.answer_bytes, Pool::new(limits));
        Ok(Self { open_tcp, heads: RequestHeads::new(target, headers), answer_bytes, pool })
    }

    /// Posts a body. Dropping the future closes the connection.
    pub(super) async fn post(&self, request: HttpPost<'_>) -> Result<HttpAnswer, HttpError> {
        let runtime = current_runtime()?;
        let permit = self.permit().await?;
        let idle = self.pool.take(runtime.id());
        let is_reused = idle.is_some();
        let stream = match idle {
            Some(stream) => stream,
            None => (self.open_tcp)().await?,
        };
        let mut pooled = PooledStream { stream, permit };
        let (head, body) = self.heads.bytes(request);
        let exchanged = exchange(&mut pooled.stream, &head, body, self.answer_bytes).await;
        if is_reused && exchanged.as_ref().is_err_and(HttpError::is_lost) {
            self.pool.forget(runtime.id());
        }
        let (whole, is_sent) = exchanged?;
        if whole.stays_open && is_sent {
            self.pool.store(&runtime, pooled);
        }
        Ok(whole.answer)
    }

    /// Posts a body and streams the body of the answer. The connection is not reused: some servers close
    /// it after a stream, and the next request would fail.
    pub(super) async fn open(
        &self,
        request: HttpPost<'_>,
    ) -> Result<HttpStream<'static>, HttpError> {
        let (response, connection) = self.send(&current_runtime()?, request).await?;
        let (head, body) = response.into_parts();
        let is_events = head.headers.get(CONTENT_TYPE).is_some_and(is_events);
        let pieces = try_unfold((connection, body), |(mut open, mut body)| async move {
            let piece = open.connection.drive(next_piece(&mut body)).await?;
            Ok(piece.map(|piece| (piece, (open, body))))
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
    ) -> Result<(Response<Incoming>, StreamConnection), HttpError> {
        let _permit = self.permit().await?;
        let mut request = request.into_request(self.heads.target(), self.heads.headers());
        if let Some(stream) = self.pool.take(runtime.id()) {
            let mut connection = Connection::over(stream).await.map_err(|error| lost(&error))?;
            match connection.send(request).await {
                Ok(response) => return Ok((response, StreamConnection { connection, _permit })),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(lost(error.error())),
                },
            }
        }
        let stream = (self.open_tcp)().await?;
        let mut connection = Connection::over(stream).await.map_err(|error| lost(&error))?;
        let response = connection.send(request).await.map_err(|error| lost(error.error()))?;
        Ok((response, StreamConnection { connection, _permit }))
    }

    async fn permit(&self) -> Result<ConnectionPermit, HttpError> {
        let permit = self.pool.permit().await;
        permit.ok_or_else(|| HttpError::Connect("the client is closed".to_owned()))
    }
}

/// Sends a request and reads its answer, which may arrive before all of the request is sent; returns also whether
/// it was.
async fn exchange(
    stream: &mut TcpStream,
    head: &[u8],
    body: Bytes,
    limit: usize,
) -> Result<(WholeAnswer, bool), HttpError> {
    let (mut reader, mut writer) = stream.split();
    let mut request = head.chain(body);
    let mut sending = pin!(writer.write_all_buf(&mut request));
    let mut reading = pin!(read_answer(&mut reader, limit));
    let mut sent = None;
    let answer = poll_fn(|cx| {
        if sent.is_none()
            && let Poll::Ready(result) = sending.as_mut().poll(cx)
        {
            sent = Some(result);
        }
        reading.as_mut().poll(cx)
    });
    let answer = answer.await?;
    Ok((answer, matches!(sent, Some(Ok(())))))
}

fn current_runtime() -> Result<Handle, HttpError> {
    Handle::try_current().map_err(|error| connect_error(&error))
}
