//! The answer to bytes that are not an HTTP request. The HTTP library refuses them before any route
//! runs, with a head and no body; this file turns the head into a problem. Knows no connection.

use axum::http::header;

use crate::protocol::caller::REQUEST_ID;
use crate::protocol::problem::{ApiProblem, PROBLEM_JSON};
use crate::protocol::status::ProblemCode;
use dsrs_app::RequestId;

/// The answer to send instead of a head that the HTTP library wrote itself; `None` for a head of our
/// own answers, which always has a request id.
#[must_use]
pub fn explained(head: &str) -> Option<String> {
    let status = head.strip_prefix("HTTP/1.")?.get(2..5)?;
    let problem = problem(status)?;
    let bare = head.strip_suffix("\r\n\r\n").filter(|head| !head.contains(REQUEST_ID.as_str()))?;
    let id = RequestId::unique();
    tracing::debug!(id = &*id, status, "refused bytes that are not a request");
    let body = problem.to_json(&id);
    let others =
        bare.split("\r\n").filter(|line| !line.starts_with(header::CONTENT_LENGTH.as_str()));
    let mut answer: String = others.map(|line| format!("{line}\r\n")).collect();
    for (name, value) in [
        (header::CONTENT_TYPE, PROBLEM_JSON.to_str().unwrap_or_default()),
        (header::CONTENT_LENGTH, &body.len().to_string()),
        (REQUEST_ID, &id),
    ] {
        answer.push_str(&format!("{name}: {value}\r\n"));
    }
    Some(answer + "\r\n" + &body)
}

fn problem(status: &str) -> Option<ApiProblem> {
    let (code, detail) = match status {
        "400" => (ProblemCode::MalformedRequest, "not an HTTP/1.1 request: check its first lines"),
        "414" => (ProblemCode::UriTooLong, "the URI is over the limit of 65,534 bytes"),
        "431" => {
            let detail = "the headers are over the limit of 100 lines or about 400 KiB";
            (ProblemCode::HeadersTooLarge, detail)
        }
        _ => return None,
    };
    Some(ApiProblem::new(code, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_refusal_is_explained() {
        let bare = "HTTP/1.1 414 URI Too Long\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let answer = explained(bare).unwrap();
        let start = "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-type: application/";
        assert!(answer.starts_with(start) && answer.contains("\"uri_too_long\""), "{answer}");
        for ours in [
            "HTTP/1.1 400 Bad Request\r\nx-request-id: r-1\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\n",
            "anything",
        ] {
            assert_eq!(explained(ours), None, "{ours}");
        }
    }
}
