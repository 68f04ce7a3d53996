//! The difference of two states, predictor by predictor: instructions word by word, demos matched by content, settings
//! before and after. Reads the document that the API answers.

use maud::{Markup, html};
use serde_json::Value;

use crate::parts::badge::{Tone, badge};
use crate::parts::json::json_value;
use crate::parts::values::{plain, values};
use crate::parts::word_diff::word_diff;

/// Every predictor that differs, each in a panel.
pub(crate) fn state_changes(predictors: &Value) -> Markup {
    html! {
        @for (path, change) in predictors.as_object().into_iter().flatten() {
            section.panel.predictor-change {
                header {
                    h2 { code { (path) } }
                    @if change["change"] == "added" { (badge(Tone::Good, "only in the new graph version")) }
                    @if change["change"] == "removed" { (badge(Tone::Bad, "only in the old graph version")) }
                    span.small.muted { (outline_of(change)) }
                }
                div.body { (predictor_change(change)) }
            }
        }
    }
}

/// What changes in one predictor, in words.
pub(crate) fn outline_of(change: &Value) -> String {
    let mut words = Vec::new();
    match change["change"].as_str() {
        Some("added") => words.push("a new predictor".to_owned()),
        Some("removed") => words.push("no such predictor any more".to_owned()),
        _ => {}
    }
    if change["instruction"].is_object() {
        words.push("another instruction".to_owned());
    }
    for kind in ["added", "removed", "changed", "moved"] {
        let count = steps(change).iter().filter(|step| step["change"] == kind).count();
        match count {
            0 => {}
            1 => words.push(format!("1 demo {kind}")),
            _ => words.push(format!("{count} demos {kind}")),
        }
    }
    let settings = change["lm"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    words.extend(settings.map(|name| format!("another {name}")));
    if change["nearest"].is_object() {
        words.push("another choice of demos for each call".to_owned());
    }
    let rules = rules(change).map(|(output, _)| format!("another rule for {output}"));
    words.extend(rules);
    words.join(", ")
}

pub(crate) fn predictor_change(change: &Value) -> Markup {
    let instruction = &change["instruction"];
    let has_settings = ["lm", "nearest", "decisions"].iter().any(|name| change[name].is_object());
    html! {
        @if instruction.is_object() {
            section.part {
                h3 { "Instruction" @if instruction["after"].is_null() { span.small.muted { " (that of the signature)" } } }
                (word_diff(&text(&instruction["effective_before"]), &text(&instruction["effective_after"])))
            }
        }
        @if !steps(change).is_empty() {
            section.part { h3 { "Demos" } @for step in steps(change) { (demo_step(step)) } }
        }
        @if has_settings {
            section.part { h3 { "Settings" } (settings(change)) }
        }
    }
}

fn steps(change: &Value) -> &[Value] {
    change["demos"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// One step from the old demos to the new ones. Places count from 1 for people.
fn demo_step(step: &Value) -> Markup {
    let word = plain(&step["change"]);
    let place = |side: &str| step[side].as_i64().map(|place| place + 1);
    let tone = match word.as_str() {
        "added" => Tone::Good,
        "removed" => Tone::Bad,
        _ => Tone::Warn,
    };
    html! {
        article.demo-step {
            p {
                (badge(tone, &word)) " "
                span.small.muted {
                    @match (place("from"), place("to")) {
                        (Some(from), Some(to)) if from != to => { "demo " (from) " → " (to) },
                        (_, Some(at)) | (Some(at), None) => { "demo " (at) },
                        (None, None) => {}
                    }
                }
            }
            @for side in ["input", "output"] {
                @if let Some(members) = step["demo"][side].as_object() { p.small.muted { (side) } (values(members)) }
            }
            @for field in step["fields"].as_array().into_iter().flatten() { (demo_field(field)) }
        }
    }
}

fn demo_field(field: &Value) -> Markup {
    let side = |name: &str| field.get(name).map(plain).unwrap_or_default();
    html! { p.small.muted { (plain(&field["field"])) } (word_diff(&side("before"), &side("after"))) }
}

fn settings(change: &Value) -> Markup {
    html! {
        div.scroll {
            table.settings {
                thead { tr { th { "Setting" } th { "Before" } th { "After" } } }
                tbody {
                    @for (name, sides) in change["lm"].as_object().into_iter().flatten() { (setting(name, sides)) }
                    @if change["nearest"].is_object() { (setting("nearest", &change["nearest"])) }
                    @for (output, sides) in rules(change) { (setting(&format!("decisions.{output}"), sides)) }
                }
            }
        }
    }
}

/// The rules of decisions that changed, by output.
fn rules(change: &Value) -> impl Iterator<Item = (&String, &Value)> {
    change["decisions"].as_object().into_iter().flatten()
}

fn setting(name: &str, sides: &Value) -> Markup {
    let cell = |side: &str| {
        html! { @match sides.get(side) { None | Some(Value::Null) => span.muted { "–" }, Some(value) => span.mono.json { (json_value(value)) } } }
    };
    html! { tr { td { code { (name) } } td { (cell("before")) } td { (cell("after")) } } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_change_is_shown_and_markup_is_text() {
        let changes = json!({"ask": {"change": "changed",
            "instruction": {"before": null, "after": "x", "effective_before": "Name it.", "effective_after": "Name <all>."},
            "demos": [
                {"change": "added", "to": 0, "demo": {"input": {"q": "<i>"}, "output": {"a": 1}}},
                {"change": "moved", "from": 0, "to": 1},
                {"change": "changed", "from": 2, "to": 2, "fields": [{"field": "output.a", "before": "old one", "after": "new one"}]}],
            "lm": {"temperature": {"before": null, "after": 0.5}}}});
        let html = state_changes(&changes).into_string();
        for part in [
            "<del>it.</del><ins>&lt;all&gt;.</ins>",
            "&lt;i&gt;",
            "demo 1 → 2",
            "<del>old </del><ins>new </ins>one",
            "<code>temperature</code>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(
            outline_of(&changes["ask"]),
            "another instruction, 1 demo added, 1 demo changed, 1 demo moved, another temperature"
        );
    }
}
