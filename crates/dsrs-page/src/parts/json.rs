//! JSON as people read it: indented and coloured by kind. Texts come from strangers and are escaped.

use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use serde_json::Value;

/// The most bytes that are coloured; more is shown as plain text.
const MOST_COLOURED: usize = 200_000;

/// A JSON text, indented and coloured; any other text as it is.
pub(crate) fn json(text: &str) -> Markup {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if text.len() <= MOST_COLOURED => json_value(&value),
        Ok(value) => escaped(&serde_json::to_string_pretty(&value).unwrap_or_default()),
        Err(_) => escaped(text),
    }
}

/// A JSON value, indented and coloured.
pub(crate) fn json_value(value: &Value) -> Markup {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut out = String::with_capacity(pretty.len() * 2);
    let mut rest = pretty.as_str();
    while let Some(first) = rest.bytes().next() {
        let end = match first {
            b'"' => text_end(rest),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                rest.find([',', '\n', ' ', '}', ']']).unwrap_or(rest.len())
            }
            _ => rest[1..]
                .find(|c: char| c == '"' || c == '-' || c.is_ascii_alphanumeric())
                .map_or(rest.len(), |at| at + 1),
        };
        let (token, behind) = rest.split_at(end);
        write_token(&mut out, first, token, behind);
        rest = behind;
    }
    PreEscaped(out)
}

fn write_token(out: &mut String, first: u8, token: &str, behind: &str) {
    let class = match first {
        b'"' if behind.starts_with(':') => "k",
        b'"' => "s",
        b'-' | b'0'..=b'9' => "n",
        b't' | b'f' | b'n' => "w",
        _ => "",
    };
    if class.is_empty() {
        let _ = Escaper::new(out).write_str(token);
        return;
    }
    out.push_str("<span class=\"");
    out.push_str(class);
    out.push_str("\">");
    let _ = Escaper::new(out).write_str(token);
    out.push_str("</span>");
}

/// The end of the text that begins a slice, behind its closing quote.
fn text_end(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A JSON text, indented; any other text as it is. Members keep their order and numbers their spelling.
pub(crate) fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<Value>(text);
    value
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| text.to_owned())
}

fn escaped(text: &str) -> Markup {
    let mut out = String::with_capacity(text.len());
    let _ = Escaper::new(&mut out).write_str(text);
    PreEscaped(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_coloured_by_kind_and_markup_is_text() {
        let PreEscaped(html) = json(r#"{"a<b": ["x\"</script>", -1.5, true, null], "e": {}}"#);
        assert_eq!(
            html,
            "{\n  <span class=\"k\">&quot;a&lt;b&quot;</span>: [\n    \
             <span class=\"s\">&quot;x\\&quot;&lt;/script&gt;&quot;</span>,\n    \
             <span class=\"n\">-1.5</span>,\n    <span class=\"w\">true</span>,\n    \
             <span class=\"w\">null</span>\n  ],\n  <span class=\"k\">&quot;e&quot;</span>: {}\n}"
        );
        assert_eq!(json("<not json>").into_string(), "&lt;not json&gt;");
    }
}
