//! The examples of a dataset as a table, with what does not fit a graph. Knows no request.

use dsrs::problem::{Problem, Problems};
use maud::{Markup, html};

use crate::parts::badge::{Tone, badge};
use crate::parts::values::{members, values};
use dsrs_store::dataset_example::ExampleRow;

/// The examples of a page. `fits` are their problems with a graph, in the same order, if one was named.
pub(super) fn table(rows: &[ExampleRow], fits: Option<&[Problems]>) -> Markup {
    html! {
        table.stack.examples {
            thead { tr { th.number { "#" } th { "Inputs" } th { "Expected" } th { "Split" } @if fits.is_some() { th { "Fits" } } } }
            tbody {
                @for (index, row) in rows.iter().enumerate() {
                    (line(row, fits.map(|fits| fits.get(index))))
                }
            }
        }
    }
}

fn line(row: &ExampleRow, fit: Option<Option<&Problems>>) -> Markup {
    let problems: Option<Vec<&Problem>> =
        fit.map(|found| found.into_iter().flat_map(Problems::iter).collect());
    let is_unfit = problems.as_ref().is_some_and(|problems| !problems.is_empty());
    html! {
        tr.unfit[is_unfit] #{ "example-" (row.position) } {
            td.number.muted data-label="Example" title=(row.id) { (row.position) }
            td data-label="Inputs" { (values(&members(&row.inputs))) }
            td data-label="Expected" { (values(&members(&row.expected))) }
            td data-label="Split" {
                @if let Some(split) = &row.split { (badge(Tone::Plain, split)) } @else { span.muted { "–" } }
                @if row.cells { " " (badge(Tone::Plain, "cells")) }
            }
            @if let Some(problems) = problems {
                td data-label="Fits" {
                    @if problems.is_empty() { (badge(Tone::Good, "fits")) }
                    div { @for problem in problems { p.small.reason { code { (problem.pointer) } " " (problem.detail) } } }
                }
            }
        }
    }
}
