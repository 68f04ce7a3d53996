//! A definition as coloured JSON whose objects and lists fold. Texts come from strangers and are escaped.

use maud::{Markup, html};
use serde_json::Value;

use crate::page::parts::json::{json, json_value};

/// A longer definition is one text without folds.
const MOST_BYTES: usize = 400_000;

/// Deeper values do not fold by themselves.
const MOST_DEPTH: usize = 6;

/// Up to this many members are open at first.
const MOST_OPEN: usize = 6;

/// A definition.
pub(super) fn definition(text: &str) -> Markup {
    let value =
        if text.len() <= MOST_BYTES { serde_json::from_str::<Value>(text).ok() } else { None };
    html! {
        @match value {
            Some(value) => div.definition.json.mono { (body(&value, 0)) },
            None => pre.json { (json(text)) },
        }
    }
}

/// A value: its members on lines of their own, with the brackets around them.
fn body(value: &Value, depth: usize) -> Markup {
    let (open, close) = brackets(value);
    html! {
        @if depth == 0 { div { (open) } }
        div.members {
            @match value {
                Value::Object(members) => {
                    @for (index, (name, value)) in members.iter().enumerate() {
                        (member(Some(name), value, depth, index + 1 < members.len(), members.len()))
                    }
                },
                Value::Array(items) => {
                    @for (index, value) in items.iter().enumerate() {
                        (member(None, value, depth, index + 1 < items.len(), items.len()))
                    }
                },
                scalar => (json_value(scalar)),
            }
        }
        @if depth == 0 { div { (close) } }
    }
}

fn member(
    name: Option<&String>,
    value: &Value,
    depth: usize,
    has_more: bool,
    siblings: usize,
) -> Markup {
    let comma = if has_more { "," } else { "" };
    let key = html! { @if let Some(name) = name { span.k { (Value::from(name.as_str()).to_string()) } ": " } };
    let size = size(value);
    let is_short = size == 0 || depth >= MOST_DEPTH || is_flat(value);
    html! {
        @if is_short {
            div.member { (key) @if is_flat(value) { (line(value)) } @else { span.text { (json_value(value)) } } (comma) }
        } @else {
            @let (open, close) = brackets(value);
            details open[depth == 0 || siblings <= MOST_OPEN] {
                summary { (key) (open) span.count { (size) } span.closing { (close) (comma) } }
                (body(value, depth + 1))
                div.close { (close) (comma) }
            }
        }
    }
}

const fn brackets(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Object(_) => ("{", "}"),
        Value::Array(_) => ("[", "]"),
        _ => ("", ""),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    }
}

/// Whether a value has one short line: a scalar, or a small container of scalars.
fn is_flat(value: &Value) -> bool {
    let short =
        |value: &Value| size(value) == 0 && value.as_str().is_none_or(|text| text.len() <= 40);
    match value {
        Value::Object(members) => members.len() <= 2 && members.values().all(short),
        Value::Array(items) => items.len() <= 4 && items.iter().all(short),
        _ => true,
    }
}

/// A flat value on one line.
fn line(value: &Value) -> Markup {
    html! {
        @match value {
            Value::Object(members) => {
                "{" @for (index, (name, value)) in members.iter().enumerate() {
                    @if index > 0 { ", " } span.k { (Value::from(name.as_str()).to_string()) } ": " (json_value(value))
                } "}"
            },
            Value::Array(items) => {
                "[" @for (index, value) in items.iter().enumerate() { @if index > 0 { ", " } (json_value(value)) } "]"
            },
            scalar => span.text { (json_value(scalar)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_fold_and_short_ones_are_on_one_line() {
        let html =
            definition(r#"{"name": "<b>", "edges": [{"from": "a.b", "to": "c.d"}], "x": []}"#)
                .into_string();
        assert!(html.contains("&quot;&lt;b&gt;&quot;") && !html.contains("<b>"), "{html}");
        assert!(html.contains(r#"<summary><span class="k">&quot;edges&quot;</span>: [<span class="count">1</span>"#), "{html}");
        assert!(html.contains(r#"{<span class="k">&quot;from&quot;</span>: <span class="s">&quot;a.b&quot;</span>, "#), "{html}");
        assert!(html.contains(r#"<span class="k">&quot;x&quot;</span>: []"#), "{html}");
    }

    #[test]
    fn a_text_that_is_no_json_is_shown_as_it_is() {
        assert_eq!(definition("{").into_string(), "<pre class=\"json\">{</pre>");
    }
}
