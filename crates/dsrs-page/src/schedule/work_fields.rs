//! The fields of the request that a schedule starts, by its kind of work, or one field with its JSON.

use maud::{Markup, html};

use crate::parts::choice::Names;
use crate::parts::schema_form::{FieldMark, SchemaForm};
use crate::parts::value_form::FieldProblems;
use crate::run_form::request::fields as input_fields;
use crate::schedule::request::{
    INPUTS, ITEMS, JSON, REQUEST, StartedWork, WAY, batch_options, run_options,
};
use crate::visitor::Visitor;
use crate::{evaluation, optimization};
use dsrs_api::schedule::ScheduleTarget;
use dsrs_store::key_scope::KeyScope;

/// The fields of the request.
pub(super) fn work_fields(
    visitor: &Visitor,
    fields: &SchemaForm<'_>,
    work: &StartedWork,
    datasets: &Names,
) -> Markup {
    html! {
        section.panel {
            header { h2 { "Request" } (way(work)) }
            div.body.fields {
                @if work.is_beyond_fields { p.small.muted { "This request has more than fields can show, so it is JSON." } }
                @if work.is_json() { (document(fields, work)) } @else { (own_fields(fields, work, datasets)) }
            }
        }
        @if !work.is_json() {
            @match work.target {
                ScheduleTarget::Run | ScheduleTarget::Batch => {}
                ScheduleTarget::Evaluation => {
                    (evaluation::request::metric_panel(fields, REQUEST))
                    (evaluation::request::limits(fields, REQUEST))
                }
                ScheduleTarget::Optimization => {
                    (optimization::request::optimizer_panel(fields, REQUEST))
                    (evaluation::request::metric_panel(fields, REQUEST))
                    (optimization::request::limits(fields, REQUEST, visitor.may(KeyScope::Write)))
                }
            }
        }
    }
}

fn way(work: &StartedWork) -> Markup {
    html! {
        select.way name=(WAY) data-reshapes aria-label="How the request is written" {
            option value="fields" selected[!work.is_json()] { "as fields" }
            option value=(JSON) selected[work.is_json()] { "as JSON" }
        }
    }
}

fn document(fields: &SchemaForm<'_>, work: &StartedWork) -> Markup {
    let FieldMark { invalid, is_first } = fields.mark(REQUEST);
    let path = match work.target {
        ScheduleTarget::Run => "runs",
        ScheduleTarget::Batch => "batches",
        ScheduleTarget::Evaluation => "evaluations",
        ScheduleTarget::Optimization => "optimizations",
    };
    let text = fields.form.text(REQUEST);
    html! {
        label { "JSON" span.hint { "the body of POST /v1/graphs/{graph}/" (path) }
            textarea.mono name=(REQUEST) rows=(text.lines().count().clamp(6, 24)) spellcheck="false"
                aria-invalid=[invalid] autofocus[is_first] { "\n" (text) }
            (fields.problems_within(REQUEST))
        }
    }
}

fn own_fields(fields: &SchemaForm<'_>, work: &StartedWork, datasets: &Names) -> Markup {
    match work.target {
        ScheduleTarget::Run => inputs(fields, work),
        ScheduleTarget::Batch => items(fields),
        ScheduleTarget::Evaluation => evaluation::request::subject(fields, REQUEST, datasets),
        ScheduleTarget::Optimization => html! {
            (evaluation::request::versions(fields, REQUEST))
            (optimization::request::sets(fields, REQUEST, datasets))
        },
    }
}

fn inputs(fields: &SchemaForm<'_>, work: &StartedWork) -> Markup {
    let value = work.value();
    let problems = FieldProblems::of(fields.problem).below(fields.has_focus());
    html! {
        @match work.program.as_deref() {
            Some(program) => {
                @let own = input_fields(program, REQUEST);
                @if own.is_empty() { p.muted { "The graph has no inputs." } }
                @for field in &own { (field.show(value["inputs"].get(field.name), &problems)) }
            }
            None => {
                // What was typed stays for the graph that is chosen next.
                @for (name, text) in fields.form.iter().filter(|(name, _)| is_input(name)) { input type="hidden" name=(name) value=(text); }
                p.muted {
                @if fields.form.text("/graph").is_empty() { "Choose a graph: its inputs follow." }
                @else { "There is no such graph, or this server cannot build it. What was entered for its inputs stays; the request can be written as JSON." }
                }
            },
        }
        (fields.problems(INPUTS))
        (more(fields, &run_options()))
    }
}

fn is_input(name: &str) -> bool {
    name.strip_prefix(INPUTS).is_some_and(|rest| rest.starts_with('/'))
}

fn items(fields: &SchemaForm<'_>) -> Markup {
    let FieldMark { invalid, is_first } = fields.mark(ITEMS);
    let text = fields.form.text(ITEMS);
    html! {
        label { "Items" span.hint { "the inputs of one run on each line, as JSON" }
            textarea.mono name=(ITEMS) rows=(text.lines().count().clamp(4, 16)) spellcheck="false"
                placeholder="{\"question\": \"What is new?\"}" aria-invalid=[invalid] autofocus[is_first] { "\n" (text) }
            (fields.problems_within(ITEMS))
        }
        (more(fields, &batch_options()))
    }
}

/// Versions, limits and labels, folded while none is set.
fn more(fields: &SchemaForm<'_>, schema: &serde_json::Value) -> Markup {
    let members: Vec<&String> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
    let is_set = members.iter().any(|name| {
        let field = format!("{REQUEST}/{name}");
        fields.form.given(&field).is_some() || fields.has_problem(REQUEST, &[name])
    });
    // A problem of the request as a whole is shown below these fields.
    let is_open = is_set || fields.has_own_problem(REQUEST);
    html! {
        details open[is_open] {
            summary { "Versions, limits and labels" }
            div.fields.inner { (fields.fields(schema, REQUEST, "Options")) }
        }
    }
}
