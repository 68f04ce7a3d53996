//! The head of an HTTP/1.1 answer: its status, the relevant headers and the framing of its body. Knows
//! no connection.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::{HttpError, broken};

const MOST_HEADERS: usize = 128;

/// The start of an answer.
pub(super) struct ResponseHead {
    pub(super) status: u16,
    /// The headers of a failure, which may ask to wait; empty for a success.
    pub(super) headers: HeaderMap,
    /// Whether the content type is that of server-sent events.
    pub(super) is_events: bool,
    pub(super) framing: Framing,
    /// Whether the connection may be reused.
    pub(super) stays_open: bool,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// It has so many bytes.
    Length(u64),
    /// It is chunked, and the last chunk is empty.
    Chunks,
    /// It ends with the connection.
    ToTheEnd,
}

/// The head at the start of these bytes and its length; `None` if it is incomplete.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<(ResponseHead, usize)>, HttpError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_HEADERS];
    let mut response = Response::new(&mut []);
    let config = ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut room);
    let Status::Complete(length) = parsed.map_err(broken)? else { return Ok(None) };
    let status = response.code.unwrap_or_default();
    let mut framing = FramingHeaders::new(response.version == Some(1));
    for header in response.headers.iter() {
        framing.note(header)?;
    }
    let (framing, stays_open) = framing.conclude(status);
    let is_success = (200..300).contains(&status);
    let headers = if is_success { HeaderMap::new() } else { headers(response.headers) };
    let is_type = |header: &&Header<'_>| header.name.eq_ignore_ascii_case(CONTENT_TYPE.as_str());
    let kind = response.headers.iter().find(is_type);
    let is_events = kind.is_some_and(|kind| is_events(kind.value));
    Ok(Some((ResponseHead { status, headers, is_events, framing, stays_open }, length)))
}

/// Whether a content type is that of server-sent events.
pub(super) fn is_events(content_type: &[u8]) -> bool {
    let wanted = b"text/event-stream";
    let kind = content_type.trim_ascii_start();
    kind.get(..wanted.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
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
    coded: bool,
    chunked: bool,
    stays_open: bool,
}

impl FramingHeaders {
    fn new(keeps_by_default: bool) -> Self {
        Self { length: None, coded: false, chunked: false, stays_open: keeps_by_default }
    }

    fn note(&mut self, header: &Header<'_>) -> Result<(), HttpError> {
        let name = header.name;
        if name.eq_ignore_ascii_case("content-length") {
            let length =
                whole_number(header.value).ok_or_else(|| broken("its length is not a number"))?;
            if self.length.is_some_and(|other| other != length) {
                return Err(broken("it has two lengths"));
            }
            self.length = Some(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.coded = true;
            self.chunked = words(header.value).last().is_some_and(|last| is(last, "chunked"));
        } else if name.eq_ignore_ascii_case("connection") {
            for word in words(header.value) {
                self.stays_open = !is(word, "close") && (self.stays_open || is(word, "keep-alive"));
            }
        }
        Ok(())
    }

    fn conclude(self, status: u16) -> (Framing, bool) {
        let framing = match (status, self.chunked, self.coded, self.length) {
            (204 | 304, ..) => Framing::Length(0),
            (_, true, ..) => Framing::Chunks,
            (_, _, false, Some(length)) => Framing::Length(length),
            _ => Framing::ToTheEnd,
        };
        // With two contradicting framings the rest of the connection cannot be trusted.
        let doubtful = self.coded && self.length.is_some();
        (framing, self.stays_open && framing != Framing::ToTheEnd && !doubtful)
    }
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn is(word: &[u8], wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted.as_bytes())
}

fn whole_number(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value.trim_ascii()).ok()?;
    // `parse` accepts a sign, too.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
