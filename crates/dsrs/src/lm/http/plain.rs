//! Posting over plain HTTP/1.1 to one address: a stack of kept-alive connections, each written and
//! read by the task that uses it and by no other (docs/performance.md).

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
use super::pieces::Pieces;
use super::{HttpAnswer, HttpError, HttpLimits, HttpStream};

/// A request in bytes.
struct Request {
    head: Bytes,
    body: Bytes,
}

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    host: String,
    port: u16,
    /// Request line and the headers that all requests have.
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

    /// Posts a body. Dropping the future closes the connection it uses.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpAnswer, HttpError> {
        let home = home()?;
        let mut stream = self.connection(home).await?;
        let (mut reader, writer) = stream.split();
        let receiving = receive(&mut reader, self.limits.answer_bytes);
        let (received, is_sent) = exchange(writer, self.request(body, accept), receiving).await?;
        if received.ends_clean && is_sent {
            self.keep(home, stream);
        }
        Ok(received.answer)
    }

    /// Posts a body and hands over that of the answer while it comes. The connection is closed after
    /// it: some servers close theirs after a stream, and the next request would find that out.
    pub(super) async fn open(
        &self,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<HttpStream<'static>, HttpError> {
        let mut stream = self.connection(home()?).await?;
        let limit = self.limits.answer_bytes;
        let (reader, writer) = stream.split();
        let receiving = async {
            let mut input = Input::new(reader, limit);
            Ok((input.head().await?, input))
        };
        let ((head, input), _) = exchange(writer, self.request(body, accept), receiving).await?;
        let pieces = Pieces::new(&head, input.over(()).over(stream));
        let body = try_unfold(pieces, |mut pieces| async move {
            Ok(pieces.next().await?.map(|piece| (piece, pieces)))
        });
        let body = body.boxed();
        let (status, headers, is_events) = (head.status, head.headers, head.is_events);
        Ok(HttpStream { status, headers, is_events, body })
    }

    /// A connection: one that was kept, else a new one.
    async fn connection(&self, home: runtime::Id) -> Result<TcpStream, HttpError> {
        match self.take_idle(home) {
            Some(stream) => Ok(stream),
            None => self.connect().await,
        }
    }

    fn request(&self, body: Vec<u8>, accept: &str) -> Request {
        let length = format!("{}\r\n\r\n", body.len());
        let mut head = Vec::with_capacity(self.head.len() + accept.len() + length.len() + 32);
        let parts = [b"accept: ", accept.as_bytes(), b"\r\ncontent-length: ", length.as_bytes()];
        head.extend_from_slice(&self.head);
        parts.into_iter().for_each(|part| head.extend_from_slice(part));
        Request { head: head.into(), body: body.into() }
    }

    async fn connect(&self) -> Result<TcpStream, HttpError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let connected = timeout(self.limits.connect_timeout, connecting).await;
        let stream = connected
            .map_err(|_| HttpError::Connect("connecting took too long".to_owned()))?
            .map_err(|error| connect_error(&error))?;
        // Without it small requests wait for the other side's acknowledgement.
        stream.set_nodelay(true).map_err(|error| connect_error(&error))?;
        Ok(stream)
    }

    /// The connection used last that is still good; the others are closed by dropping them.
    fn take_idle(&self, home: runtime::Id) -> Option<TcpStream> {
        loop {
            let idle = self.idle().get_mut(&home)?.pop()?;
            if idle.since.elapsed() < self.limits.idle_timeout && is_silent(&idle.stream) {
                return Some(idle.stream);
            }
        }
    }

    fn keep(&self, home: runtime::Id, stream: TcpStream) {
        let mut idle = self.idle();
        let kept = idle.entry(home).or_default();
        if kept.len() < self.limits.idle_connections {
            kept.push(Idle { stream, since: Instant::now() });
        }
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<runtime::Id, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where connections live: each wakes its users through the runtime that made it, so it stays there.
fn home() -> Result<runtime::Id, HttpError> {
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

/// Whether the other side has kept the connection open, and has nothing to say unasked.
fn is_silent(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Sends a request while its answer is received; tells with it whether the request was sent whole.
/// An answer may come before that.
async fn exchange<T>(
    mut writer: WriteHalf<'_>,
    request: Request,
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
