//! The changes of a candidate from the original program: instructions word by word, demos, settings, the graph.

use maud::{Markup, html};
use serde_json::Value;

use crate::parts::state_changes::predictor_change;
use crate::parts::values::plain;

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
    html! { section.fields { h3 { code { (path) } } (predictor_change(change)) } }
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
            "added</span>",
            "<dt>q</dt>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let same = changes(&json!({"predictors": {}, "graph": null})).into_string();
        assert!(same.contains("The same as the original program"));
    }
}
