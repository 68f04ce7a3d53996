//! The answer to a run that ended: its outputs, or why it failed, with the words of the model.

use maud::{Markup, html};

use crate::parts::badge::status;
use crate::parts::marked_text::{marked_text, repair_list, repairs};
use crate::parts::time::duration;
use crate::parts::values::{members, values};
use dsrs_app::FinishedRun;

pub(super) fn answer(run: &FinishedRun) -> Markup {
    let row = &run.row;
    html! {
        section.panel #answer {
            header { h2 { "Answer" } (status(row.status.as_str()))
                // Lossless: durations of runs are far below 2^52 ms.
                @if let Some(ms) = row.duration_ms { span.muted { (duration(ms as f64)) } }
                a href={ "/runs/" (row.id) } { "The run" }
            }
            div.body {
                @if let Some(failure) = &run.failure {
                    p.refusal role="alert" { @if let Some(node) = &failure.node { code { (node) } " " } (failure.detail) }
                    @if let Some(raw) = &failure.raw {
                        @let found = failure.report.as_ref().map(|report| repairs(&report.to_json())).unwrap_or_default();
                        h3 { "Answer of the model" }
                        (marked_text(raw, &found))
                        @if !found.is_empty() { (repair_list(&found)) }
                    }
                }
                @if let Some(outputs) = &row.outputs { (values(&members(outputs))) }
            }
        }
    }
}
