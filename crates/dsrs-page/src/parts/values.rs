//! The members of a JSON object as people compare them: texts without quotes, everything else as JSON.

use maud::{Markup, html};
use serde_json::{Map, Value};

/// The most characters of a value in a table; the rest is behind the fold.
const FOLD: usize = 200;

/// The members of a document; anything that is no object is shown as it is.
pub(crate) fn members(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Each member with its name.
pub(crate) fn values(members: &Map<String, Value>) -> Markup {
    html! {
        @if members.is_empty() { span.muted { "none" } }
        @else {
            dl.values {
                @for (name, value) in members { dt { (name) } dd { (folded(&plain(value))) } }
            }
        }
    }
}

/// Outputs beside what was expected: each member is marked as equal, different or beside.
pub(crate) fn judged(got: &Map<String, Value>, expected: &Map<String, Value>) -> Markup {
    html! {
        @if got.is_empty() { span.muted { "none" } }
        @else {
            dl.values {
                @for (name, value) in got {
                    dt { (name) }
                    @match expected.get(name) {
                        None => dd { (folded(&plain(value))) },
                        Some(wanted) if wanted == value => dd.same { (folded(&plain(value))) span.sr { " (as expected)" } },
                        Some(_) => dd.other { (folded(&plain(value))) span.sr { " (not as expected)" } },
                    }
                }
            }
        }
    }
}

/// A value as text: a text without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text; of a long one the beginning, with the rest behind a fold.
pub(crate) fn folded(text: &str) -> Markup {
    let end = text.char_indices().nth(FOLD).map(|(at, _)| at);
    html! {
        @match end {
            None => span.text { (text) },
            Some(end) => {
                details.long { summary { span.text { (text[..end]) "…" } } span.text { (text[end..]) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_marked_against_what_was_expected() {
        let (got, expected) =
            (members(r#"{"a": 1, "b": "<i>", "c": []}"#), members(r#"{"a": 1, "b": "x"}"#));
        let html = judged(&got, &expected).into_string();
        assert!(html.contains(r#"<dd class="same"><span class="text">1"#), "{html}");
        assert!(html.contains(r#"<dd class="other"><span class="text">&lt;i&gt;"#), "{html}");
        assert!(html.contains(r#"<dd><span class="text">[]"#), "{html}");
    }

    #[test]
    fn a_long_text_is_behind_a_fold() {
        let html = folded(&"ü".repeat(500)).into_string();
        assert_eq!(html.matches('ü').count(), 500);
        assert!(html.starts_with("<details class=\"long\">"));
    }
}
