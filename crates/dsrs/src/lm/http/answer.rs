//! Reads one HTTP/1.1 answer from bytes: its head, and its body by length, in chunks or up to the end of
//! the connection.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::head::{Framing, ResponseHead, parse_head};
use super::{HttpAnswer, HttpError, broken};

/// The size of a typical answer, so that one read suffices.
const FIRST_READ: usize = 4 << 10;

/// The most memory that a header alone can reserve.
const MOST_AT_ONCE: usize = 1 << 20;

/// The longest head, and the longest line of a chunk's size.
const LONGEST_HEAD: usize = 64 << 10;

/// An answer and the state of its connection.
pub(super) struct Received {
    pub(super) answer: HttpAnswer,
    /// Whether the connection can be reused.
    pub(super) ends_clean: bool,
}

/// Reads a whole answer with a body of at most `limit` bytes.
pub(super) async fn receive(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<Received, HttpError> {
    let mut input = Input::new(stream, limit);
    let head = input.head().await?;
    let body = match head.framing {
        Framing::Length(length) => input.sized(length).await?,
        Framing::Chunks => input.chunks().await?,
        Framing::ToTheEnd => input.rest().await?,
    };
    let ends_clean = head.stays_open && input.buffer.is_empty();
    let answer = HttpAnswer { status: head.status, headers: head.headers, body };
    Ok(Received { answer, ends_clean })
}

/// The input of a connection.
pub(super) struct Input<S> {
    stream: S,
    buffer: BytesMut,
    limit: usize,
}

impl<S> Input<S> {
    /// The same input with another source.
    pub(super) fn over<T>(self, stream: T) -> Input<T> {
        Input { stream, buffer: self.buffer, limit: self.limit }
    }
}

impl<S: AsyncRead + Unpin> Input<S> {
    /// Input with at most `limit` bytes of a body.
    pub(super) fn new(stream: S, limit: usize) -> Self {
        Self { stream, buffer: BytesMut::with_capacity(FIRST_READ), limit }
    }

    /// The head of the final answer, after any informational ones.
    pub(super) async fn head(&mut self) -> Result<ResponseHead, HttpError> {
        loop {
            let Some((head, length)) = parse_head(&self.buffer)? else {
                self.more_of_head().await?;
                continue;
            };
            self.buffer.advance(length);
            match head.status {
                101 => return Err(broken("it switched to another protocol")),
                100..200 => {}
                _ => return Ok(head),
            }
        }
    }

    /// A body with a length beyond the limit is read up to the limit before it is refused.
    async fn sized(&mut self, length: u64) -> Result<Bytes, HttpError> {
        let Ok(length) = self.bounded(length, 0) else {
            self.fill(self.limit.saturating_add(1)).await?;
            return Err(HttpError::TooLarge);
        };
        self.fill(length).await?;
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn chunks(&mut self) -> Result<Bytes, HttpError> {
        let mut body = BytesMut::new();
        loop {
            let size = self.chunk_size().await?;
            if size == 0 {
                self.trailers().await?;
                return Ok(body.freeze());
            }
            let size = self.bounded(size, body.len())?;
            self.fill(size + 2).await?;
            body.extend_from_slice(&self.buffer[..size]);
            self.buffer.advance(size);
            self.chunk_end().await?;
        }
    }

    pub(super) async fn chunk_end(&mut self) -> Result<(), HttpError> {
        self.fill(2).await?;
        if !self.buffer.starts_with(b"\r\n") {
            return Err(broken("a chunk does not end where it should"));
        }
        self.buffer.advance(2);
        Ok(())
    }

    /// Available bytes, at most `most`; empty only at the end of the connection.
    pub(super) async fn piece(&mut self, most: usize) -> Result<Bytes, HttpError> {
        if self.buffer.is_empty() {
            self.read().await?;
        }
        Ok(self.buffer.split_to(self.buffer.len().min(most)).freeze())
    }

    pub(super) async fn chunk_size(&mut self) -> Result<u64, HttpError> {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(Status::Complete((length, size))) => {
                    self.buffer.advance(length);
                    return Ok(size);
                }
                Ok(Status::Partial) => self.more_of_head().await?,
                Err(_) => return Err(broken("the size of a chunk cannot be read")),
            }
        }
    }

    pub(super) async fn trailers(&mut self) -> Result<(), HttpError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            match httparse::parse_headers(&self.buffer, &mut headers) {
                Ok(Status::Complete((length, _))) => {
                    self.buffer.advance(length);
                    return Ok(());
                }
                Ok(Status::Partial) => self.more_of_head().await?,
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Everything up to the end of the connection.
    async fn rest(&mut self) -> Result<Bytes, HttpError> {
        while self.read().await? > 0 {
            self.bounded(0, self.buffer.len())?;
        }
        self.bounded(0, self.buffer.len())?;
        Ok(self.buffer.split().freeze())
    }

    /// `size` more bytes after `there` others, if the limit allows them.
    fn bounded(&self, size: u64, there: usize) -> Result<usize, HttpError> {
        let size = usize::try_from(size).map_err(|_| HttpError::TooLarge)?;
        let fits = there.checked_add(size).is_some_and(|whole| whole <= self.limit);
        if fits { Ok(size) } else { Err(HttpError::TooLarge) }
    }

    pub(super) async fn fill(&mut self, length: usize) -> Result<(), HttpError> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()).min(MOST_AT_ONCE));
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(())
    }

    async fn more_of_head(&mut self) -> Result<(), HttpError> {
        if self.buffer.len() >= LONGEST_HEAD {
            return Err(broken("the head of the answer is too long"));
        }
        self.more().await
    }

    pub(super) async fn more(&mut self) -> Result<(), HttpError> {
        match self.read().await? {
            0 => Err(broken("the connection was closed")),
            _ => Ok(()),
        }
    }

    pub(super) async fn read(&mut self) -> Result<usize, HttpError> {
        self.stream.read_buf(&mut self.buffer).await.map_err(broken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Reads an answer in pieces of `size` bytes; returns also whether the connection is reusable.
    async fn read(text: &str, size: usize) -> Result<(u16, String, bool), String> {
        let (mut ours, mut theirs) = tokio::io::duplex(size);
        let writing = async {
            // The reader may stop early.
            let _ = theirs.write_all(text.as_bytes()).await;
            drop(theirs);
        };
        let (received, ()) = tokio::join!(
            async {
                let received = receive(&mut ours, 64).await;
                drop(ours);
                received
            },
            writing
        );
        match received {
            Ok(Received { answer, ends_clean }) => {
                let body = String::from_utf8(answer.body.to_vec()).unwrap();
                Ok((answer.status, body, ends_clean))
            }
            Err(HttpError::Broken(why) | HttpError::Connect(why)) => Err(why),
            Err(HttpError::TooLarge) => Err("too large".into()),
        }
    }

    fn fine(body: &str, ends_clean: bool) -> Result<(u16, String, bool), String> {
        Ok((200, body.to_owned(), ends_clean))
    }

    #[tokio::test]
    async fn a_body_ends_by_length_by_chunk_or_with_the_connection() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", fine("hello", true)),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", fine("", true)),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: Close\r\n\r\nhi",
                fine("hi", false),
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", fine("hi", false)),
            (
                "HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nhi",
                fine("hi", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
                fine("hello", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\nend: 1\r\n\r\n",
                fine("hi", true),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 9\r\n\r\n1\r\nx\r\n0\r\n\r\n",
                fine("x", false),
            ),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nwhatever", fine("whatever", false)),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", fine("to the end", false)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
                fine("hi", true),
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", Ok((204, String::new(), true))),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, 4096).await, expected, "{text}");
        }
    }

    #[tokio::test]
    async fn extra_bytes_make_a_connection_unusable() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi and more";
        assert_eq!(read(text, 4096).await, fine("hi", false));
    }

    #[tokio::test]
    async fn an_incomplete_answer_is_an_error() {
        for text in [
            "",
            "nonsense\r\n\r\n",
            "HTTP/1.1 200",
            "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhixx0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
        ] {
            assert!(read(text, 4096).await.is_err(), "{text}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(2 * LONGEST_HEAD));
        assert_eq!(read(&endless, 4096).await, Err("the head of the answer is too long".into()));
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_in_every_framing() {
        let long = "x".repeat(65);
        for text in [
            format!("HTTP/1.1 200 OK\r\ncontent-length: 65\r\n\r\n{long}"),
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{long}", u64::MAX),
            format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n41\r\n{long}\r\n0\r\n\r\n"
            ),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\n\r\n{long}"),
        ] {
            assert_eq!(read(&text, 4096).await, Err("too large".into()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_independent_of_its_chunks(
            body in "[a-z]{0,60}",
            cut in 0_usize..60,
            size in 1_usize..40,
        ) {
            let cut = cut.min(body.len());
            let chunk = |text: &str| match text.len() {
                0 => String::new(),
                length => format!("{length:x}\r\n{text}\r\n"),
            };
            let chunked = format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}{}0\r\n\r\n",
                chunk(&body[..cut]),
                chunk(&body[cut..])
            );
            let length = body.len();
            let sized = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for text in [chunked, sized] {
                let found = runtime.block_on(read(&text, size));
                prop_assert_eq!(found, fine(&body, true));
            }
        }
    }
}
