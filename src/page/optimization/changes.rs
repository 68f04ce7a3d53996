//! The changes of a candidate from the original program: instructions word by word, demos, settings, the graph.

use maud::{Markup, html};
use serde_json::Value;

use crate::page::parts::badge::{Tone, badge};
use crate::page::parts::json::json_value;
use crate::page::parts::values::{plain, values};
use crate::page::parts::word_diff::word_diff;

/// A stored diff: `{predictors, text, graph}`.
pub(super) fn changes(diff: &Value) -> Markup {
    let predictors = diff["predictors"].as_object();
    let graph = &diff["graph"];
    let is_same = predictors.is_none_or(serde_json::Map::is_empty) && graph.is_null();
    html! {
        div.changes {
            @if is_same { p.muted { "The same as the original program." } }
            @for (path, change) in predictors.into_iter().flatten() { (predictor(path, change)) }
            @if !graph.is_null() {
                section { h3 { "Graph" } pre { (plain(&graph["text"])) } }
            }
        }
    }
}

fn predictor(path: &str, change: &Value) -> Markup {
    let instruction = &change["instruction"];
    html! {
        section.fields {
            h3 { code { (path) } }
            @if instruction.is_object() {
                (word_diff(&text(&instruction["effective_before"]), &text(&instruction["effective_after"])))
            }
            @for demo in change["demos"].as_array().into_iter().flatten() { (one_demo(demo)) }
            @for name in ["lm", "nearest"] {
                @if !change[name].is_null() { p.small.muted { (name) } pre.json { (json_value(&change[name])) } }
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn one_demo(change: &Value) -> Markup {
    let word = plain(&change["change"]);
    let tone = match word.as_str() {
        "added" => Tone::Good,
        "removed" => Tone::Bad,
        _ => Tone::Plain,
    };
    let place = ["to", "from"].iter().find_map(|side| change[side].as_i64());
    html! {
        div.demo {
            p { (badge(tone, &format!("demo {word}"))) @if let Some(place) = place { span.small.muted { " at " (place) } } }
            @for side in ["input", "output"] {
                @if let Some(members) = change["demo"][side].as_object() { p.small.muted { (side) } (values(members)) }
            }
            @if let Some(fields) = change["fields"].as_array() { pre.json { (json_value(&Value::from(fields.clone()))) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_instruction_is_compared_word_by_word_and_demos_are_listed() {
        let diff = json!({"graph": null, "predictors": {"ask": {"change": "changed",
            "instruction": {"effective_before": "Name it.", "effective_after": "Name <all>."},
            "demos": [{"change": "added", "to": 0, "demo": {"input": {"q": "x"}, "output": {"a": 1}}}]}}});
        let html = changes(&diff).into_string();
        for part in [
            "<code>ask</code>",
            "<del>it.</del><ins>&lt;all&gt;.</ins>",
            "demo added",
            "<dt>q</dt>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let same = changes(&json!({"predictors": {}, "graph": null})).into_string();
        assert!(same.contains("The same as the original program"));
    }
}
