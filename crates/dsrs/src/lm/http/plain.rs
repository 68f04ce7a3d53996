//! Posts over HTTP/1 without TLS to one address. The task that uses a connection reads and writes it, so
//! that no other task is woken (docs/performance.md).

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::{Buf, Bytes};
use futures_util::stream::{StreamExt, try_unfold};
use hyper::Uri;
use hyper::header::HeaderMap;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::WriteHalf;
use tokio::runtime;
use tokio::time::{Instant, timeout};

use super::answer::{Input, receive};
use super::pieces::BodyPieces;
use super::{HttpAnswer, HttpError, HttpLimits, HttpStream};

/// A serialized request.
struct RequestBytes {
    head: Bytes,
    body: Bytes,
}

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    host: String,
    port: u16,
    /// The request line and the headers of all requests.
    head: Vec<u8>,
    limits: HttpLimits,
    idle: Mutex<HashMap<runtime::Id, Vec<Idle>>>,
}

struct Idle {
    stream: TcpStream,
    since: Instant,
}

impl PlainClient {
    /// A client of an `http` address that sends these headers with every request.
    pub(super) fn new(
        address: &Uri,
        headers: &HeaderMap,
        limits: HttpLimits,
    ) -> Result<Self, String> {
        let authority = address.authority().ok_or("the address has no host")?;
        let path = address.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            head: head(path, authority.as_str(), headers),
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
        let mut stream = self.connection(runtime).await?;
        let (mut reader, writer) = stream.split();
        let receiving = receive(&mut reader, self.limits.answer_bytes);
        let (received, is_sent) = exchange(writer, self.request(body, accept), receiving).await?;
        if received.ends_clean && is_sent {
            self.store(runtime, stream);
        }
        Ok(received.answer)
    }

    /// Posts a body and streams the body of the answer. The connection is not reused: some servers close
    /// it after a stream, and the next request would fail.
    pub(super) async fn open(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpStream<'static>, HttpError> {
        let mut stream = self.connection(current_runtime()?).await?;
        let limit = self.limits.answer_bytes;
        let (reader, writer) = stream.split();
        let receiving = async {
            let mut input = Input::new(reader, limit);
            Ok((input.head().await?, input))
        };
        let ((head, input), _) = exchange(writer, self.request(body, accept), receiving).await?;
        let pieces = BodyPieces::new(&head, input.over(()).over(stream));
        let body = try_unfold(pieces, |mut pieces| async move {
            Ok(pieces.next().await?.map(|piece| (piece, pieces)))
        });
        let body = body.boxed();
        let (status, headers, is_events) = (head.status, head.headers, head.is_events);
        Ok(HttpStream { status, headers, is_events, body })
    }

    /// An idle connection, else a new one.
    async fn connection(&self, runtime: runtime::Id) -> Result<TcpStream, HttpError> {
        match self.take_idle(runtime) {
            Some(stream) => Ok(stream),
            None => self.connect().await,
        }
    }

    fn request(&self, body: Vec<u8>, accept: &str) -> RequestBytes {
        let length = format!("{}\r\n\r\n", body.len());
        let mut head = Vec::with_capacity(self.head.len() + accept.len() + length.len() + 32);
        let parts = [b"accept: ", accept.as_bytes(), b"\r\ncontent-length: ", length.as_bytes()];
        head.extend_from_slice(&self.head);
        parts.into_iter().for_each(|part| head.extend_from_slice(part));
        RequestBytes { head: head.into(), body: body.into() }
    }

    async fn connect(&self) -> Result<TcpStream, HttpError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let connected = timeout(self.limits.connect_timeout, connecting).await;
        let stream = connected
            .map_err(|_| HttpError::Connect("connecting took too long".to_owned()))?
            .map_err(|error| connect_error(&error))?;
        // Otherwise small requests wait for an acknowledgement.
        stream.set_nodelay(true).map_err(|error| connect_error(&error))?;
        Ok(stream)
    }

    /// The usable connection that was used last. Dropping the others closes them.
    fn take_idle(&self, runtime: runtime::Id) -> Option<TcpStream> {
        loop {
            let idle = self.idle().get_mut(&runtime)?.pop()?;
            if idle.since.elapsed() < self.limits.idle_timeout && is_silent(&idle.stream) {
                return Some(idle.stream);
            }
        }
    }

    fn store(&self, runtime: runtime::Id, stream: TcpStream) {
        let mut idle = self.idle();
        let stored = idle.entry(runtime).or_default();
        if stored.len() < self.limits.idle_connections {
            stored.push(Idle { stream, since: Instant::now() });
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

fn head(path: &str, host: &str, headers: &HeaderMap) -> Vec<u8> {
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\n").into_bytes();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head
}

fn connect_error(error: &dyn std::error::Error) -> HttpError {
    HttpError::Connect(error.to_string())
}

/// Whether the server has left the connection open and sent nothing unrequested.
fn is_silent(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Sends a request and receives its answer; returns also whether the request was sent completely. The
/// answer may arrive before.
async fn exchange<T>(
    mut writer: WriteHalf<'_>,
    request: RequestBytes,
    receiving: impl Future<Output = Result<T, HttpError>>,
) -> Result<(T, bool), HttpError> {
    let mut request = request.head.chain(request.body);
    let mut sending = pin!(writer.write_all_buf(&mut request));
    let mut receiving = pin!(receiving);
    let mut sent = None;
    let received = poll_fn(|cx| {
        if sent.is_none()
            && let Poll::Ready(result) = sending.as_mut().poll(cx)
        {
            sent = Some(result);
        }
        receiving.as_mut().poll(cx)
    });
    let received = received.await?;
    Ok((received, matches!(sent, Some(Ok(())))))
}
