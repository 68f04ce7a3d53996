//! What a caller's `Accept` header allows. Knows media ranges and their weights, and no route.

use axum::http::{HeaderMap, header};

/// Whether the caller takes JSON. Without an `Accept` header everything is taken.
#[must_use]
pub(crate) fn takes_json(headers: &HeaderMap) -> bool {
    takes(headers, "application", "json")
}

fn takes(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    let ranges = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    // The most specific range that matches decides.
    let decisive =
        ranges.filter_map(|range| weigh(range, kind, subtype)).max_by_key(|found| found.0);
    decisive.is_some_and(|(_, allowed)| allowed)
}

/// How specific a matching range is, and whether its weight allows it.
fn weigh(range: &str, kind: &str, subtype: &str) -> Option<(u8, bool)> {
    let mut parts = range.split(';').map(str::trim);
    let (range_kind, range_subtype) = parts.next()?.split_once('/')?;
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let rank = match (range_kind, range_subtype) {
        ("*", "*") => 0,
        (found, "*") if same(found, kind) => 1,
        (found, other) if same(found, kind) && same(other, subtype) => 2,
        _ => return None,
    };
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let refused = weight.is_some_and(|q| q.trim().parse::<f32>().is_ok_and(|q| q <= 0.0));
    Some((rank, !refused))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accepts(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        takes_json(&headers)
    }

    #[test]
    fn ranges_and_weights_decide_whether_json_is_taken() {
        assert!(takes_json(&HeaderMap::new()));
        for fine in
            ["*/*", "application/*", "text/html, application/json;q=0.1", "Application/JSON"]
        {
            assert!(accepts(fine), "{fine}");
        }
        for wrong in ["text/event-stream", "text/*", "application/json;q=0, */*", "nonsense"] {
            assert!(!accepts(wrong), "{wrong}");
        }
    }
}
