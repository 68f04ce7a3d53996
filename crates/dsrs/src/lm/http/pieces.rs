//! The streamed body of an HTTP/1.1 answer.

use bytes::Bytes;
use tokio::io::AsyncRead;

use super::answer::Input;
use super::head::{Framing, ResponseHead};
use super::{HttpError, broken};

/// A body that is being received.
pub(super) struct BodyPieces<S> {
    input: Input<S>,
    left: RemainingBody,
}

/// The rest of the body.
enum RemainingBody {
    /// So many bytes.
    Bytes(u64),
    /// So many bytes of the current chunk.
    Chunk(u64),
    /// A chunk, or the end.
    Chunks,
    /// Everything up to the end of the connection.
    All,
}

impl<S: AsyncRead + Unpin> BodyPieces<S> {
    /// The body after a head.
    pub(super) const fn new(head: &ResponseHead, input: Input<S>) -> Self {
        let left = match head.framing {
            Framing::Length(length) => RemainingBody::Bytes(length),
            Framing::Chunks => RemainingBody::Chunks,
            Framing::ToTheEnd => RemainingBody::All,
        };
        Self { input, left }
    }

    /// The next piece, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            match self.left {
                RemainingBody::Bytes(0) => return Ok(None),
                RemainingBody::Bytes(left) => {
                    let piece = self.some(left).await?;
                    self.left = RemainingBody::Bytes(left - piece.len() as u64);
                    return Ok(Some(piece));
                }
                RemainingBody::Chunk(0) => {
                    self.input.chunk_end().await?;
                    self.left = RemainingBody::Chunks;
                }
                RemainingBody::Chunk(left) => {
                    let piece = self.some(left).await?;
                    self.left = RemainingBody::Chunk(left - piece.len() as u64);
                    return Ok(Some(piece));
                }
                RemainingBody::Chunks => match self.input.chunk_size().await? {
                    0 => {
                        self.input.trailers().await?;
                        self.left = RemainingBody::Bytes(0);
                    }
                    size => self.left = RemainingBody::Chunk(size),
                },
                RemainingBody::All => {
                    let piece = self.input.piece(usize::MAX).await?;
                    self.left =
                        if piece.is_empty() { RemainingBody::Bytes(0) } else { RemainingBody::All };
                    return Ok(Some(piece).filter(|piece| !piece.is_empty()));
                }
            }
        }
    }

    /// At least one byte, and no more than `most`.
    async fn some(&mut self, most: u64) -> Result<Bytes, HttpError> {
        let piece = self.input.piece(usize::try_from(most).unwrap_or(usize::MAX)).await?;
        if piece.is_empty() {
            return Err(broken("the connection was closed"));
        }
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Reads an answer that is sent in pieces of `size` bytes.
    async fn read(text: &str, size: usize) -> Result<String, String> {
        let (mut ours, mut theirs) = tokio::io::duplex(size);
        let writing = async {
            let _ = theirs.write_all(text.as_bytes()).await;
            drop(theirs);
        };
        let reading = async move {
            let mut input = Input::new(&mut ours, 64);
            let head = input.head().await?;
            let (mut pieces, mut body) = (BodyPieces::new(&head, input), String::new());
            while let Some(piece) = pieces.next().await? {
                body.push_str(std::str::from_utf8(&piece).unwrap());
            }
            Ok(body)
        };
        let (read, ()) = tokio::join!(reading, writing);
        read.map_err(|error| match error {
            HttpError::Broken(why) | HttpError::Connect(why) => why,
            HttpError::TooLarge => "too large".into(),
        })
    }

    #[tokio::test]
    async fn an_incomplete_body_is_an_error() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let cases = [
            (format!("{chunked}5\r\nhel"), "the connection was closed"),
            (format!("{chunked}3\r\nhello"), "a chunk does not end where it should"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe".into(), "the connection was closed"),
        ];
        for (text, why) in cases {
            assert_eq!(read(&text, 4096).await, Err(why.to_owned()), "{text}");
        }
        let open = "HTTP/1.1 200 OK\r\n\r\nto the end";
        assert_eq!(read(open, 4096).await, Ok("to the end".into()));
    }

    proptest! {
        #[test]
        fn a_body_is_independent_of_its_chunks(
            body in "[a-z]{0,60}",
            cut in 0_usize..60,
            size in 1_usize..40,
        ) {
            let cut = cut.min(body.len());
            let chunk = |text: &str| match text.len() {
                0 => String::new(),
                length => format!("{length:x}\r\n{text}\r\n"),
            };
            let (one, two) = (chunk(&body[..cut]), chunk(&body[cut..]));
            let length = body.len();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for text in [
                format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{one}{two}0\r\n\r\n"),
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"),
            ] {
                prop_assert_eq!(runtime.block_on(read(&text, size)), Ok(body.clone()));
            }
        }
    }
}
