//! Reads one whole HTTP/1.1 answer from bytes: its head, and its body by length, in chunks or up to the end of
//! the connection. Sends nothing.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::connection::LONGEST_HEAD;
use super::head::{BodyEnd, MOST_HEADERS, ResponseHead, parse_head};
use super::{HttpAnswer, HttpError, MOST_AT_ONCE};

/// The size of a typical answer, so that one read suffices.
const FIRST_READ: usize = 4 << 10;

/// An answer and the state of its connection.
pub(super) struct WholeAnswer {
    pub(super) answer: HttpAnswer,
    /// Whether the connection can be used again.
    pub(super) stays_open: bool,
}

/// Reads a whole answer with a body of at most `limit` bytes.
pub(super) async fn read_answer(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<WholeAnswer, HttpError> {
    let mut input = AnswerInput { stream, buffer: BytesMut::with_capacity(FIRST_READ), limit };
    let head = input.head().await?;
    let body = match head.end {
        BodyEnd::Length(length) => input.sized(length).await?,
        BodyEnd::Chunks => input.chunks().await?,
        BodyEnd::Connection => input.rest().await?,
    };
    let stays_open = head.stays_open && input.buffer.is_empty();
    let answer = HttpAnswer { status: head.status, headers: head.headers, body };
    Ok(WholeAnswer { answer, stays_open })
}

/// What a connection has sent and nothing has read yet.
struct AnswerInput<S> {
    stream: S,
    buffer: BytesMut,
    /// The most bytes of a body.
    limit: usize,
}

impl<S: AsyncRead + Unpin> AnswerInput<S> {
    /// The head of the final answer, after any informational ones.
    async fn head(&mut self) -> Result<ResponseHead, HttpError> {
        loop {
            let Some((head, length)) = parse_head(&self.buffer)? else {
                self.more_of_head().await?;
                continue;
            };
            self.buffer.advance(length);
            match head.status {
                101 => return Err(HttpError::broken("it switched to another protocol")),
                100..200 => {}
                _ => return Ok(head),
            }
        }
    }

    async fn sized(&mut self, length: u64) -> Result<Bytes, HttpError> {
        let length = self.bounded(length, 0)?;
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
            body.extend_from_slice(self.buffer.get(..size).unwrap_or_default());
            self.buffer.advance(size);
            if !self.buffer.starts_with(b"\r\n") {
                return Err(HttpError::broken("a chunk does not end where it should"));
            }
            self.buffer.advance(2);
        }
    }

    async fn chunk_size(&mut self) -> Result<u64, HttpError> {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(Status::Complete((length, size))) => {
                    self.buffer.advance(length);
                    return Ok(size);
                }
                Ok(Status::Partial) => self.more_of_head().await?,
                Err(_) => return Err(HttpError::broken("the size of a chunk cannot be read")),
            }
        }
    }

    async fn trailers(&mut self) -> Result<(), HttpError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            match httparse::parse_headers(&self.buffer, &mut headers) {
                Ok(Status::Complete((length, _))) => {
                    self.buffer.advance(length);
                    return Ok(());
                }
                Ok(Status::Partial) => self.more_of_head().await?,
                Err(error) => return Err(HttpError::broken(error)),
            }
        }
    }

    /// Everything up to the end of the connection.
    async fn rest(&mut self) -> Result<Bytes, HttpError> {
        self.bounded(0, self.buffer.len())?;
        while self.read().await? > 0 {
            self.bounded(0, self.buffer.len())?;
        }
        Ok(self.buffer.split().freeze())
    }

    /// `size` more bytes after `there` others, if the limit allows them.
    fn bounded(&self, size: u64, there: usize) -> Result<usize, HttpError> {
        let size = usize::try_from(size).map_err(|_| HttpError::TooLarge)?;
        let fits = there.checked_add(size).is_some_and(|whole| whole <= self.limit);
        if fits { Ok(size) } else { Err(HttpError::TooLarge) }
    }

    async fn fill(&mut self, length: usize) -> Result<(), HttpError> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()).min(MOST_AT_ONCE));
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(())
    }

    async fn more_of_head(&mut self) -> Result<(), HttpError> {
        if self.buffer.len() >= LONGEST_HEAD {
            return Err(HttpError::broken("message head is too large"));
        }
        self.more().await
    }

    async fn more(&mut self) -> Result<(), HttpError> {
        match self.read().await? {
            0 => Err(HttpError::broken("it was closed before the answer was complete")),
            _ => Ok(()),
        }
    }

    async fn read(&mut self) -> Result<usize, HttpError> {
        self.stream.read_buf(&mut self.buffer).await.map_err(HttpError::broken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Reads an answer in pieces of `size` bytes; returns also whether the connection can be used again.
    async fn read(text: &str, size: usize) -> Result<(u16, String, bool), String> {
        let (mut ours, mut theirs) = tokio::io::duplex(size);
        let writing = async {
            // The reader may stop early.
            let _ = theirs.write_all(text.as_bytes()).await;
            drop(theirs);
        };
        let reading = async {
            let read = read_answer(&mut ours, 64).await;
            drop(ours);
            read
        };
        match tokio::join!(reading, writing).0 {
            Ok(WholeAnswer { answer, stays_open }) => {
                let body = String::from_utf8(answer.body.to_vec()).unwrap();
                Ok((answer.status, body, stays_open))
            }
            Err(HttpError::Broken(why) | HttpError::Connect(why)) => Err(why),
            Err(HttpError::TooLarge) => Err("too large".into()),
        }
    }

    fn fine(body: &str, stays_open: bool) -> Result<(u16, String, bool), String> {
        Ok((200, body.to_owned(), stays_open))
    }

    #[tokio::test]
    async fn a_body_ends_by_length_by_chunk_or_with_the_connection() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", fine("hello", true)),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhello", fine("hello", true)),
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
    async fn bytes_after_the_answer_make_a_connection_unusable() {
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
            "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhixx0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
        ] {
            assert!(read(text, 4096).await.is_err(), "{text}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(2 * LONGEST_HEAD));
        assert_eq!(read(&endless, 4096).await, Err("message head is too large".into()));
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_however_it_ends() {
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
        fn an_answer_does_not_depend_on_its_pieces(
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
