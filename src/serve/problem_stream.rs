//! A connection's stream that replaces bare refusals by problem documents. The HTTP library refuses
//! malformed requests itself and has no hook for it, so its head is replaced before it reaches the
//! socket. Does not know the problems.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// How long the rest of a refused request is read, so that the client can read the response instead
/// of a reset connection.
const LINGER: Duration = Duration::from_secs(2);

/// A stream that sends problems instead of bare refusals.
pub(super) struct ProblemStream<S> {
    stream: S,
    /// The part of a replacement that is not sent yet.
    unsent: Bytes,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ProblemStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, unsent: Bytes::new() }
    }

    /// Reads on for a while after the last response.
    pub(super) async fn linger(mut self) {
        let mut unread = [0; 4096];
        let rest = async { while matches!(self.stream.read(&mut unread).await, Ok(1..)) {} };
        // After that the connection is closed even if the client still sends.
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

/// The replacement, if the bytes end with a bare refusal.
fn replacement(written: &[IoSlice<'_>]) -> Option<Bytes> {
    // Nearly every response returns here: only a head without a body ends like this, and no JSON does.
    let last = written.iter().rfind(|part| !part.is_empty())?;
    if !last.ends_with(b"\r\n\r\n") {
        return None;
    }
    let all: Vec<u8> = written.iter().flat_map(|part| part.iter().copied()).collect();
    let start = all.windows(7).rposition(|at| at == b"HTTP/1.")?;
    let explained = dsrs_http::explained(str::from_utf8(&all[start..]).ok()?)?;
    Some([&all[..start], explained.as_bytes()].concat().into())
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ProblemStream<S> {
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
        match replacement(bytes) {
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bytes),
            Some(replacement) => {
                self.unsent = replacement;
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

impl<S: AsyncRead + Unpin> AsyncRead for ProblemStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}
