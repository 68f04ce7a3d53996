//! The upload of a dataset: a file that a script sends as a stream, or a text that the form itself sends.

use maud::{Markup, html};

use dsrs_http::ApiProblem;

/// A text that was sent, and why it was refused.
#[derive(Debug, Default)]
pub(super) struct Pasted {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_table: bool,
    pub(super) inputs: String,
    pub(super) expected: String,
    pub(super) problem: Option<ApiProblem>,
}

/// The form for a new dataset, or for the next version of one.
pub(super) fn upload(dataset: Option<&str>, pasted: &Pasted) -> Markup {
    let title = if dataset.is_some() { "Upload a new version" } else { "New dataset" };
    html! {
        section #upload .panel {
            header { h2 { (title) } }
            div.body {
                @if let Some(problem) = &pasted.problem { (refusal(problem)) }
                (file_form(dataset))
                details open[pasted.problem.is_some()] {
                    summary { "Paste a text instead" }
                    (text_form(dataset, pasted))
                }
            }
        }
    }
}

/// Shown and served by `upload.js`.
fn file_form(dataset: Option<&str>) -> Markup {
    html! {
        form.fields.upload hidden data-script data-upload data-dataset=[dataset] {
            label.drop {
                input.file type="file" name="file" accept=".csv,.jsonl,.ndjson,.json,text/csv,application/json";
                span { b { "Drop a file here" } " or choose one: CSV, JSON lines or JSON" }
                span.chosen.muted {}
            }
            @if dataset.is_none() { (name_field("")) }
            div.columns hidden {
                p.muted { "Which columns are inputs, and which are expected outputs?" }
                div.roles {}
            }
            div.actions {
                button.primary type="submit" disabled { "Upload" }
                progress max="1" value="0" hidden {}
                output aria-live="polite" {}
            }
            ol.problems hidden {}
        }
    }
}

fn name_field(name: &str) -> Markup {
    html! {
        label { "Name" span.hint { "a lower-case letter, then a-z, 0-9, _ and -" }
            input name="name" value=(name) required pattern="[a-z][a-z0-9_\\-]{0,62}" maxlength="63" autocomplete="off";
        }
    }
}

fn text_form(dataset: Option<&str>, pasted: &Pasted) -> Markup {
    let action = match dataset {
        Some(name) => format!("/datasets/{}", crate::form::encoded(name)),
        None => "/datasets".to_owned(),
    };
    html! {
        form.fields.paste action=(action) method="post" {
            @if dataset.is_none() { (name_field(&pasted.name)) }
            label { "Format"
                select name="format" {
                    option value="jsonl" selected[!pasted.is_table] { "JSON lines: one example on each line" }
                    option value="csv" selected[pasted.is_table] { "CSV: a header, then one example on each row" }
                }
            }
            label { "Examples"
                textarea.mono name="text" rows="6" required spellcheck="false"
                    placeholder="{\"inputs\": {\"country\": \"France\"}, \"expected\": {\"capital\": \"Paris\"}}" { "\n" (pasted.text) }
            }
            div.pair {
                label { "Input columns" span.hint { "of CSV and flat rows, comma-separated" }
                    input name="inputs" value=(pasted.inputs) autocomplete="off";
                }
                label { "Expected columns" span.hint { "all others by default" }
                    input name="expected" value=(pasted.expected) autocomplete="off";
                }
            }
            div.actions { button type="submit" { "Store" } }
        }
    }
}

/// Why a request was refused: each problem with its place.
pub(crate) fn refusal(problem: &ApiProblem) -> Markup {
    html! {
        div.refusal role="alert" {
            p { (problem.detail()) }
            @if problem.items().len() > 1 {
                ul { @for item in problem.items() { li { code { (item.pointer) } " " (item.detail) } } }
            }
        }
    }
}
