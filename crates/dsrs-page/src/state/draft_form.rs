//! The fields of a predictor's editor. Knows how a draft is shown, not how it is saved.

use dsrs::predict::DynPredictor;
use dsrs::types::TypeDefs;
use maud::{Markup, html};

use crate::parts::typed_field::typed_field;
use crate::state::draft::{DraftDemo, DraftDemos, DraftField, PredictorDraft, field_name};

/// Everything that can be edited.
pub(super) fn draft_fields(predictor: &dyn DynPredictor, draft: &PredictorDraft) -> Markup {
    html! {
        label {
            "Instruction"
            span.hint { "Empty for that of the signature." }
            textarea.instruction-field name="instruction" rows="8" placeholder=(predictor.schema().instructions) { "\n" (draft.instruction) }
        }
        (demos(predictor, draft))
        details open[!draft.lm.is_empty()] {
            summary { "LM settings" }
            label {
                span.hint { "JSON with " code { "model" } ", " code { "temperature" } ", " code { "max_tokens" } ", " code { "top_p" } ", " code { "seed" } ", " code { "stop" }
                    ". They override those of the node. Empty for none." }
                textarea.mono name="lm" rows="2" aria-label="LM settings" spellcheck="false" { "\n" (draft.lm) }
            }
        }
    }
}

fn demos(predictor: &dyn DynPredictor, draft: &PredictorDraft) -> Markup {
    html! {
        section #demos aria-label="Demos" {
            h3 { "Demos" }
            @if predictor.state().nearest.is_some() {
                p.warning { "Each call shows the demos that are nearest to it. Other demos need other vectors: show all demos to every call instead, or import a state with vectors." }
                label.inline { input type="checkbox" name="show_all" value="yes" checked[draft.shows_all_demos]; "Show all demos to every call" }
            }
            @match &draft.demos {
                DraftDemos::Fields(demos) => {
                    @if demos.is_empty() { p.muted.small { "No demos: the prompt has the instruction only." } }
                    @for (index, found) in demos.iter().enumerate() { (demo(index, demos.len(), found, &predictor.schema().defs)) }
                    p { button type="submit" name="act" value="add" { "Add a demo" } }
                },
                DraftDemos::Json(text) => label {
                    span.hint { "Many demos are edited as JSON: a list of " code { "{\"input\": {…}, \"output\": {…}}" } "." }
                    textarea.mono name="demos" rows="24" aria-label="Demos as JSON" spellcheck="false" { "\n" (text) }
                },
                DraftDemos::Fixed(count) => p.muted { (count) " demos are too long to edit here. They stay as they are; the API and Import replace them." },
            }
        }
    }
}

fn demo(index: usize, count: usize, demo: &DraftDemo, defs: &TypeDefs) -> Markup {
    let number = index + 1;
    html! {
        fieldset.demo-form {
            input type="hidden" name="demo" value=(index);
            header {
                h3 { "Demo " (number) }
                (act("up", index, "↑", &format!("Move demo {number} up"), index == 0))
                (act("down", index, "↓", &format!("Move demo {number} down"), number == count))
                (act("remove", index, "×", &format!("Remove demo {number}"), false))
            }
            @for field in &demo.input { (value(index, "input", field, defs)) }
            div.arrow aria-hidden="true" { "↓" }
            @for field in &demo.output { (value(index, "output", field, defs)) }
        }
    }
}

fn value(index: usize, side: &str, field: &DraftField, defs: &TypeDefs) -> Markup {
    let name = field_name(index, side, &field.field.name);
    html! {
        @if field.is_absent { input type="hidden" name="absent" value=(name); }
        (typed_field(&name, &field.field, &field.text, defs))
    }
}

fn act(act: &str, index: usize, sign: &str, label: &str, is_disabled: bool) -> Markup {
    html! {
        button.icon.quiet type="submit" name="act" value={ (act) "." (index) } aria-label=(label) title=(label) disabled[is_disabled] { (sign) }
    }
}
