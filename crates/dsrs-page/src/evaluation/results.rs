//! The results of an evaluation as a table: each example with its inputs, what was expected, what came out, and why it
//! scored as it did.

use std::collections::HashMap;

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::parts::badge::{Tone, badge};
use crate::parts::figure::{cost, score};
use crate::parts::time::duration;
use crate::parts::values::{folded, judged, members, plain, values};
use crate::visitor::Visitor;
use dsrs_app::DatasetPick;
use dsrs_http::ApiProblem;
use dsrs_store::dataset_example::ExampleRow;
use dsrs_store::evaluation::EvaluationResultRow;

/// The examples behind results, by their position.
pub(super) type ExamplesByPosition = HashMap<i32, ExampleRow>;

/// The examples behind some results. `dataset` is the stored selection.
pub(super) async fn expected_of(
    visitor: &Visitor,
    dataset: &str,
    rows: &[EvaluationResultRow],
) -> Result<ExamplesByPosition, ApiProblem> {
    let Some(pick) = DatasetPick::read(dataset) else { return Ok(ExamplesByPosition::new()) };
    let positions: Vec<i32> = rows.iter().map(|row| row.position).collect();
    let version = (pick.id, pick.version);
    let found = visitor.app.dataset_examples_at(&visitor.scope, version, &positions).await?;
    Ok(found.into_iter().map(|row| (row.position, row)).collect())
}

/// Results with their examples.
pub(super) struct Results<'a> {
    pub(super) rows: &'a [EvaluationResultRow],
    pub(super) examples: &'a ExamplesByPosition,
}

impl Results<'_> {
    pub(super) fn table(&self) -> Markup {
        html! {
            @if self.rows.is_empty() { p.muted { "No results here." } }
            @else {
                table.stack.examples {
                    thead { tr { th.number { "#" } th.number { "Score" } th { "Inputs" } th { "Expected" } th { "Got" } th { "Feedback" } th.number { "Run" } } }
                    tbody { @for row in self.rows { (self.line(row)) } }
                }
            }
        }
    }

    fn line(&self, row: &EvaluationResultRow) -> Markup {
        let example = self.examples.get(&row.position);
        let document =
            |of: fn(&ExampleRow) -> &str| example.map_or_else(Map::new, |row| members(of(row)));
        let expected = document(|row| &row.expected);
        html! {
            tr.unfit[row.error.is_some()] #{ "example-" (row.position) } {
                td.number.muted data-label="Example" title=(row.example_id) { (row.position) }
                td.number data-label="Score" { (score_badge(row)) }
                td data-label="Inputs" { (values(&document(|row| &row.inputs))) }
                td data-label="Expected" { (values(&expected)) }
                td data-label="Got" { (got(row, &expected)) }
                td data-label="Feedback" { (feedback(row)) }
                td.number.small data-label="Run" { div { (run(row)) } }
            }
        }
    }
}

fn score_badge(row: &EvaluationResultRow) -> Markup {
    let tone = match row.score {
        _ if row.unmeasured => return badge(Tone::Warn, "no score"),
        _ if row.error.is_some() => return badge(Tone::Bad, "failed"),
        score if score >= 1.0 => Tone::Good,
        score if score > 0.0 => Tone::Warn,
        _ => Tone::Bad,
    };
    badge(tone, &score(row.score))
}

/// The outputs, or the error instead of them.
pub(super) fn got(row: &EvaluationResultRow, expected: &Map<String, Value>) -> Markup {
    html! {
        @match &row.outputs {
            Some(outputs) => (judged(&members(outputs), expected)),
            None => span.muted { "nothing" },
        }
    }
}

/// Why an example scored as it did: the feedback of the metric, or the error.
pub(super) fn feedback(row: &EvaluationResultRow) -> Markup {
    let error = row.error.as_deref().map(members);
    let feedback =
        row.feedback.as_deref().and_then(|text| serde_json::from_str::<String>(text).ok());
    html! {
        div {
            @if let Some(error) = error {
                p.reason { code { (error.get("code").map(plain).unwrap_or_default()) } " " (folded(&error.get("detail").map(plain).unwrap_or_default())) }
            }
            @if let Some(feedback) = feedback { (folded(&feedback)) }
        }
    }
}

fn run(row: &EvaluationResultRow) -> Markup {
    let usage = members(&row.usage);
    html! {
        (duration(row.duration_ms as f64))
        @if let Some(spent) = usage.get("cost").and_then(Value::as_f64) { " · " (cost(spent)) }
        @if let Some(id) = row.run_id { br; a href={ "/runs/" (id) } { "run" } }
    }
}
