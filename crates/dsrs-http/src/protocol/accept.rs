//! The media types that the `Accept` header of a request allows. Knows media ranges and their weights,
//! but no route.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

/// Whether the client prefers server-sent events to JSON: it names them, with at least the weight of
/// JSON.
pub(crate) struct PrefersEvents(pub(crate) bool);

impl<S: Sync> FromRequestParts<S> for PrefersEvents {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(prefers_events(&parts.headers)))
    }
}

/// Whether the client accepts JSON. Without an `Accept` header it accepts everything.
#[must_use]
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    accepts(headers, "application", "json")
}

/// Whether the client accepts server-sent events.
#[must_use]
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    accepts(headers, "text", "event-stream")
}

/// Whether the client prefers server-sent events to JSON: it names them, with at least the weight of
/// JSON.
#[must_use]
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    prefers(headers, "text", "event-stream")
}

/// Whether the client names HTML, as browsers do when they open a page.
#[must_use]
pub fn names_html(headers: &HeaderMap) -> bool {
    weight(headers, "text", "html").is_some_and(|(rank, weight)| rank == NAMED && weight > 0.0)
}

/// Whether the client accepts JSON lines.
#[must_use]
pub(crate) fn accepts_lines(headers: &HeaderMap) -> bool {
    LINES.iter().any(|subtype| accepts(headers, "application", subtype))
}

/// Whether the client prefers JSON lines to one JSON document.
#[must_use]
pub(crate) fn prefers_lines(headers: &HeaderMap) -> bool {
    LINES.iter().any(|subtype| prefers(headers, "application", subtype))
}

/// The media subtypes of JSON lines.
const LINES: [&str; 2] = ["jsonl", "x-ndjson"];

fn prefers(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let json = weight(headers, "application", "json").map_or(0.0, |found| found.1);
    weight(headers, kind, subtype)
        .is_some_and(|(rank, weight)| rank == NAMED && weight > 0.0 && weight >= json)
}

fn accepts(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let is_limited = headers.contains_key(header::ACCEPT);
    !is_limited || weight(headers, kind, subtype).is_some_and(|(_, weight)| weight > 0.0)
}

/// The rank of a range that names both kind and subtype.
const NAMED: u8 = 2;

/// The rank and weight of the most specific range that matches.
fn weight(headers: &HeaderMap, kind: &str, subtype: &str) -> Option<(u8, f32)> {
    let values = headers.get_all(header::ACCEPT).iter();
    let ranges = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    ranges.filter_map(|range| rank_and_weight(range, kind, subtype)).max_by_key(|found| found.0)
}

/// The rank and weight of a range, if it matches. A more specific range has a higher rank.
fn rank_and_weight(range: &str, kind: &str, subtype: &str) -> Option<(u8, f32)> {
    let mut parts = range.split(';').map(str::trim);
    let (range_kind, range_subtype) = parts.next()?.split_once('/')?;
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let rank = match (range_kind, range_subtype) {
        ("*", "*") => 0,
        (found, "*") if same(found, kind) => 1,
        (found, other) if same(found, kind) && same(other, subtype) => NAMED,
        _ => return None,
    };
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    Some((rank, weight.and_then(|q| q.trim().parse().ok()).unwrap_or(1.0)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn is_accepted(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        accepts_json(&headers)
    }

    #[test]
    fn ranges_and_weights_decide_whether_json_is_accepted() {
        assert!(accepts_json(&HeaderMap::new()));
        for fine in
            ["*/*", "application/*", "text/html, application/json;q=0.1", "Application/JSON"]
        {
            assert!(is_accepted(fine), "{fine}");
        }
        for wrong in ["text/event-stream", "text/*", "application/json;q=0, */*", "nonsense"] {
            assert!(!is_accepted(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_stream_is_preferred_if_it_is_named_with_the_greatest_weight() {
        let prefers = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
            prefers_events(&headers)
        };
        for stream in [
            "text/event-stream",
            "application/json, text/event-stream",
            "*/*;q=0.1, Text/Event-Stream",
        ] {
            assert!(prefers(stream), "{stream}");
        }
        for whole in
            ["*/*", "text/*", "application/json, text/event-stream;q=0.5", "text/event-stream;q=0"]
        {
            assert!(!prefers(whole), "{whole}");
        }
        assert!(!prefers_events(&HeaderMap::new()) && accepts_events(&HeaderMap::new()));
    }
}
