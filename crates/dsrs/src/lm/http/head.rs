//! The head of an HTTP/1.1 answer: its status, the headers that matter and how its body ends. Knows no
//! connection.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::HttpError;

/// The most headers of an answer.
pub(super) const MOST_HEADERS: usize = 100;

/// The start of an answer.
#[derive(Debug)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    /// The headers of a failure, which may ask to wait; empty for a success.
    pub(super) headers: HeaderMap,
    pub(super) end: BodyEnd,
    /// Whether the connection may be used again.
    pub(super) stays_open: bool,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// After so many bytes.
    Length(u64),
    /// With an empty chunk.
    Chunks,
    /// With the connection.
    Connection,
}

/// The head at the start of these bytes, and its length; `None` if it is incomplete.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(ResponseHead, usize)>, HttpError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_HEADERS];
    let mut response = Response::new(&mut []);
    let config = ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut room);
    let Status::Complete(length) = parsed.map_err(HttpError::broken)? else { return Ok(None) };
    let status = response.code.unwrap_or_default();
    let mut framing = FramingHeaders::new(response.version == Some(1));
    for header in response.headers.iter() {
        framing.read(header)?;
    }
    let (end, stays_open) = framing.conclude(status);
    let is_success = (200..300).contains(&status);
    let headers = if is_success { HeaderMap::new() } else { headers(response.headers) };
    Ok(Some((ResponseHead { status, headers, end, stays_open }, length)))
}

fn headers(given: &[Header<'_>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for header in given {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(header.value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// The headers about the end of the body and of the connection.
struct FramingHeaders {
    length: Option<u64>,
    is_coded: bool,
    is_chunked: bool,
    stays_open: bool,
    closes: bool,
}

impl FramingHeaders {
    fn new(stays_open: bool) -> Self {
        Self { length: None, is_coded: false, is_chunked: false, stays_open, closes: false }
    }

    fn read(&mut self, header: &Header<'_>) -> Result<(), HttpError> {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            for word in words(header.value) {
                self.add_length(word)?;
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.is_coded = true;
            self.is_chunked = words(header.value).last().is_some_and(|last| is(last, "chunked"));
        } else if name.eq_ignore_ascii_case("connection") {
            for word in words(header.value) {
                self.closes |= is(word, "close");
                self.stays_open |= is(word, "keep-alive");
            }
        }
        Ok(())
    }

    fn add_length(&mut self, word: &[u8]) -> Result<(), HttpError> {
        let length =
            whole_number(word).ok_or_else(|| HttpError::broken("its length is not a number"))?;
        if self.length.is_some_and(|other| other != length) {
            return Err(HttpError::broken("it has two lengths"));
        }
        self.length = Some(length);
        Ok(())
    }

    fn conclude(self, status: u16) -> (BodyEnd, bool) {
        let end = match (status, self.is_chunked, self.is_coded, self.length) {
            (204 | 304, ..) => BodyEnd::Length(0),
            (_, true, ..) => BodyEnd::Chunks,
            (_, _, false, Some(length)) => BodyEnd::Length(length),
            _ => BodyEnd::Connection,
        };
        // With two framings that contradict each other, the rest of the connection cannot be trusted.
        let is_doubtful = self.is_coded && self.length.is_some();
        (end, self.stays_open && !self.closes && end != BodyEnd::Connection && !is_doubtful)
    }
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn is(word: &[u8], wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted.as_bytes())
}

fn whole_number(word: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(word).ok()?;
    // `parse` accepts a sign, too.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
