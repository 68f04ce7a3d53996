//! The lines of standard input, as messages of a protocol. A line that cannot be read is no end: the next one follows.

use std::io;

use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, LinesCodec, LinesCodecError};

/// Why a line cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineFault {
    /// It is longer than this.
    Long(usize),
    /// It is no UTF-8.
    Encoding,
}

/// Reads lines of a limited length.
pub(super) struct MessageLines(LinesCodec);

impl MessageLines {
    /// Lines of at most this many bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self(LinesCodec::new_with_max_length(longest))
    }

    /// A line, or its fault. An error would end the reader.
    fn line(
        &self,
        decoded: Result<Option<String>, LinesCodecError>,
    ) -> io::Result<Option<Result<String, LineFault>>> {
        match decoded {
            Ok(line) => Ok(line.map(Ok)),
            Err(LinesCodecError::MaxLineLengthExceeded) => {
                Ok(Some(Err(LineFault::Long(self.0.max_length()))))
            }
            Err(LinesCodecError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Ok(Some(Err(LineFault::Encoding)))
            }
            Err(LinesCodecError::Io(error)) => Err(error),
        }
    }
}

impl Decoder for MessageLines {
    type Item = Result<String, LineFault>;
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let decoded = self.0.decode(source);
        self.line(decoded)
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let decoded = self.0.decode_eof(source);
        self.line(decoded)
    }
}
