//! The bytes of an HTTP/1.1 request with a body. The head is the same for nearly all requests to an address, and
//! written once. Knows no connection.

use bytes::Bytes;
use hyper::Uri;
use hyper::header::{ACCEPT, CONTENT_LENGTH, HeaderMap, HeaderValue};

use super::HttpPost;

/// What most requests accept.
const USUAL_ACCEPT: &str = "application/json";

/// The start of the heads of requests to one address.
pub(super) struct RequestHeads {
    /// What the request line names.
    target: Uri,
    /// The headers of all requests.
    headers: HeaderMap,
    /// The head of a request without headers of its own, up to its length.
    usual: Vec<u8>,
}

impl RequestHeads {
    pub(super) fn new(target: Uri, headers: HeaderMap) -> Self {
        let mut usual_headers = headers.clone();
        usual_headers.insert(ACCEPT, HeaderValue::from_static(USUAL_ACCEPT));
        let usual = start(&target, &usual_headers);
        Self { target, headers, usual }
    }

    pub(super) fn target(&self) -> &Uri {
        &self.target
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The head of a request, and its body.
    pub(super) fn bytes(&self, post: HttpPost<'_>) -> (Vec<u8>, Bytes) {
        let length = post.body.len();
        let mut head = Vec::with_capacity(self.usual.len() + 24);
        match post.is_plain() && post.accept == USUAL_ACCEPT {
            true => head.extend_from_slice(&self.usual),
            false => head = start(&self.target, &post.headers(&self.headers)),
        }
        push_number(&mut head, length);
        head.extend_from_slice(b"\r\n\r\n");
        (head, post.body)
    }
}

/// A request line and headers; the length of the body is to follow.
fn start(target: &Uri, headers: &HeaderMap) -> Vec<u8> {
    let mut head = format!("POST {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in headers.iter().filter(|(name, _)| **name != CONTENT_LENGTH) {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"content-length: ");
    head
}

fn push_number(head: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        (number, at) = (number / 10, at - 1);
        if number == 0 {
            break;
        }
    }
    head.extend_from_slice(digits.get(at..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(accept: &'static str, length: usize) -> String {
        let headers = [("x-a", "1"), ("content-length", "7")];
        let headers =
            headers.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let heads = RequestHeads::new("/v1".parse().unwrap(), headers.into_iter().collect());
        let (head, body) = heads.bytes(HttpPost::new(vec![b'x'; length], accept));
        assert_eq!(body.len(), length);
        String::from_utf8(head).unwrap()
    }

    #[test]
    fn a_request_has_its_line_its_headers_and_its_length() {
        for (length, written) in [(0, "0"), (9, "9"), (10, "10"), (10_203, "10203")] {
            assert_eq!(
                head("application/json", length),
                format!(
                    "POST /v1 HTTP/1.1\r\nx-a: 1\r\naccept: application/json\r\ncontent-length: {written}\r\n\r\n"
                )
            );
        }
        assert!(
            head("text/plain", 3).contains("\r\naccept: text/plain\r\ncontent-length: 3\r\n\r\n")
        );
    }
}
