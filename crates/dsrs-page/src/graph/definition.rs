//! A definition as coloured JSON whose objects and lists fold. Texts come from strangers and are escaped.

use maud::{Markup, html};
use serde_json::Value;

use crate::parts::json::{json, json_value};

/// A longer definition is one text without folds.
const MOST_BYTES: usize = 400_000;

/// Deeper values neither fold nor have colours.
const MOST_DEPTH: usize = 6;

/// The same of a long definition.
const MOST_DEPTH_LONG: usize = 2;

/// From this many bytes on, a definition is long.
const LONG: usize = 60_000;

/// Up to this many members are open at first.
const MOST_OPEN: usize = 6;

/// How deep a value is in its definition.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
    /// From which depth on values do not fold.
    most: usize,
}

impl Level {
    const fn is_last(self) -> bool {
        self.depth + 1 >= self.most
    }
}

pub(super) fn definition(text: &str) -> Markup {
    let value =
        if text.len() <= MOST_BYTES { serde_json::from_str::<Value>(text).ok() } else { None };
    let most = if text.len() < LONG { MOST_DEPTH } else { MOST_DEPTH_LONG };
    html! {
        @match value {
            Some(value) => {
                @let (open, close) = brackets(&value);
                div.definition.json.mono {
                    div { (open) }
                    (members(&value, Level { depth: 0, most }))
                    div { (close) }
                }
            },
            None => pre.json { (json(text)) },
        }
    }
}

/// The members of a value on lines of their own.
fn members(value: &Value, level: Level) -> Markup {
    let last = size(value).saturating_sub(1);
    let comma = |index: usize| if index < last { "," } else { "" };
    html! {
        div.members {
            @match value {
                Value::Object(members) => {
                    @for (index, (name, inner)) in members.iter().enumerate() {
                        (member(&key(name), inner, level, members.len() <= MOST_OPEN, comma(index)))
                    }
                },
                Value::Array(items) => {
                    @for (index, inner) in items.iter().enumerate() {
                        (member(&html! {}, inner, level, items.len() <= MOST_OPEN, comma(index)))
                    }
                },
                scalar => (json_value(scalar)),
            }
        }
    }
}

fn key(name: &str) -> Markup {
    html! { span.k { (Value::from(name).to_string()) } ": " }
}

fn member(key: &Markup, value: &Value, level: Level, is_open: bool, comma: &str) -> Markup {
    let (open, close) = brackets(value);
    html! {
        @if is_flat(value) {
            div.member { (key) @if level.is_last() { (value.to_string()) } @else { (line(value)) } (comma) }
        } @else if level.is_last() {
            details open[level.depth == 0] {
                summary { (key) (open) span.count { (size(value)) } span.closing { (close) (comma) } }
                div.member.text { (inner_text(value)) }
                div.close { (close) (comma) }
            }
        } @else {
            details open[level.depth == 0 || is_open] {
                summary { (key) (open) span.count { (size(value)) } span.closing { (close) (comma) } }
                (members(value, Level { depth: level.depth + 1, ..level }))
                div.close { (close) (comma) }
            }
        }
    }
}

/// The members of a value as a text, without its brackets.
fn inner_text(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
    inner.join("\n")
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
    fn a_long_definition_folds_only_its_nodes() {
        let node = |index: usize| {
            format!("\"n{index}\": {{\"config\": {{\"a\": {{\"b\": [1, 2, 3, 4, 5]}}}}}}")
        };
        let nodes: Vec<String> = (0..2_000).map(node).collect();
        let html = definition(&format!("{{\"nodes\": {{{}}}}}", nodes.join(","))).into_string();
        assert_eq!(html.matches("<details").count(), 2_001);
        assert_eq!(html.matches("<span class=\"k\"").count(), 2_001);
        assert!(html.contains("&quot;b&quot;: ["), "{html}");
    }

    #[test]
    fn a_text_that_is_no_json_is_shown_as_it_is() {
        assert_eq!(definition("{").into_string(), "<pre class=\"json\">{</pre>");
    }
}
