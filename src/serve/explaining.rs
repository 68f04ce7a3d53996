//! A connection's stream on which no refusal is bare. The HTTP library refuses what is no request
//! by itself and has no hook for it, so its head is replaced on the way to the socket. Knows no
//! problem.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::http;

/// How long what else a refused caller says is listened to, so that it gets to read the answer
/// instead of a broken connection.
const LINGER: Duration = Duration::from_secs(2);

/// A stream that sends problems instead of bare refusals.
pub(super) struct Explaining<S> {
    stream: S,
    /// What stands for a refusal and is not sent yet.
    unsent: Bytes,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Explaining<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, unsent: Bytes::new() }
    }

    /// Listens on after the last answer, for a while.
    pub(super) async fn linger(mut self) {
        let mut unread = [0; 4096];
        let rest = async { while matches!(self.stream.read(&mut unread).await, Ok(1..)) {} };
        // Who still speaks then is cut off.
        let _ = tokio::time::timeout(LINGER, rest).await;
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unsent.has_remaining() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.unsent))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.advance(sent);
        }
        Poll::Ready(Ok(()))
    }
}

/// What to send instead, if a refusal stands at the end.
fn instead(written: &[IoSlice<'_>]) -> Option<Bytes> {
    // Nearly every answer ends here: only a head without a body ends like this, and no JSON does.
    let last = written.iter().rfind(|part| !part.is_empty())?;
    if !last.ends_with(b"\r\n\r\n") {
        return None;
    }
    let all: Vec<u8> = written.iter().flat_map(|part| part.iter().copied()).collect();
    let start = all.windows(7).rposition(|at| at == b"HTTP/1.")?;
    let explained = http::explained(str::from_utf8(&all[start..]).ok()?)?;
    Some([&all[..start], explained.as_bytes()].concat().into())
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Explaining<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(cx))?;
        match instead(bytes) {
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bytes),
            Some(instead) => {
                self.unsent = instead;
                Poll::Ready(Ok(bytes.iter().map(|part| part.len()).sum()))
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Explaining<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}
