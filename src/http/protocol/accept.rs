//! What a caller's `Accept` header allows. Knows media ranges and their weights, and no route.

use axum::http::{HeaderMap, header};

/// Whether the caller takes JSON. Without an `Accept` header everything is taken.
#[must_use]
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    takes(headers, "application", "json")
}

/// Whether the caller takes server-sent events.
#[must_use]
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    takes(headers, "text", "event-stream")
}

/// Whether the caller asks for server-sent events where it may have either: it names them, and does
/// not like JSON better.
#[must_use]
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    prefers(headers, "text", "event-stream")
}

/// Whether the caller takes a JSON document a line.
#[must_use]
pub(crate) fn accepts_lines(headers: &HeaderMap) -> bool {
    LINES.iter().any(|subtype| takes(headers, "application", subtype))
}

/// Whether the caller asks for a JSON document a line where it may have one document.
#[must_use]
pub(crate) fn prefers_lines(headers: &HeaderMap) -> bool {
    LINES.iter().any(|subtype| prefers(headers, "application", subtype))
}

/// What a JSON document a line is called.
const LINES: [&str; 2] = ["jsonl", "x-ndjson"];

fn prefers(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let json = weight(headers, "application", "json").map_or(0.0, |found| found.1);
    weight(headers, kind, subtype)
        .is_some_and(|(rank, weight)| rank == NAMED && weight > 0.0 && weight >= json)
}

fn takes(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let asks = headers.contains_key(header::ACCEPT);
    !asks || weight(headers, kind, subtype).is_some_and(|(_, weight)| weight > 0.0)
}

/// How specific a range is that names both kind and subtype.
const NAMED: u8 = 2;

/// How specific the range is that decides, which is the most specific that matches, and its weight.
fn weight(headers: &HeaderMap, kind: &str, subtype: &str) -> Option<(u8, f32)> {
    let values = headers.get_all(header::ACCEPT).iter();
    let ranges = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    ranges.filter_map(|range| weigh(range, kind, subtype)).max_by_key(|found| found.0)
}

/// How specific a matching range is, and its weight.
fn weigh(range: &str, kind: &str, subtype: &str) -> Option<(u8, f32)> {
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

    fn accepts(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        accepts_json(&headers)
    }

    #[test]
    fn ranges_and_weights_decide_whether_json_is_taken() {
        assert!(accepts_json(&HeaderMap::new()));
        for fine in
            ["*/*", "application/*", "text/html, application/json;q=0.1", "Application/JSON"]
        {
            assert!(accepts(fine), "{fine}");
        }
        for wrong in ["text/event-stream", "text/*", "application/json;q=0, */*", "nonsense"] {
            assert!(!accepts(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_stream_is_given_to_those_who_name_it_and_like_nothing_better() {
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
