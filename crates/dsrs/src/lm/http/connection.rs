//! One HTTP/1 connection without TLS whose answer is streamed. hyper frames the messages; the task that waits for
//! the answer drives the connection, so that no other task is woken and a cancelled request closes it. Knows neither
//! a pool nor an address.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The longest head of an answer, and the most that a connection reads ahead. By default hyper reads up to
/// 400 KiB ahead, for each of a thousand streams.
pub(super) const LONGEST_HEAD: usize = 16 << 10;

type Driver = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// A connection. Dropping it closes it.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` after the end of the connection.
    driver: Option<Box<Driver>>,
}

impl Connection {
    /// A connection over a stream on which nothing is in flight.
    pub(super) async fn over(stream: TcpStream) -> hyper::Result<Self> {
        let mut builder = http1::Builder::new();
        builder.max_header_size(LONGEST_HEAD).max_buf_size(LONGEST_HEAD);
        let (sender, driver) = builder.handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, driver: Some(Box::new(driver)) })
    }

    /// Sends a request and receives the head of its answer. The failure contains the request if it was not
    /// sent.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        let sending = self.sender.try_send_request(request);
        drive(&mut self.driver, sending).await
    }

    /// Drives the connection until the future that needs it is complete.
    pub(super) async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        drive(&mut self.driver, future).await
    }
}

async fn drive<F: Future>(driver: &mut Option<Box<Driver>>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(output);
        }
        advance(driver, cx);
        future.as_mut().poll(cx)
    })
    .await
}

/// Reads and writes as far as possible. The failure of a connection reaches the request through hyper.
fn advance(driver: &mut Option<Box<Driver>>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && Pin::new(running).poll(cx).is_ready()
    {
        *driver = None;
    }
}
