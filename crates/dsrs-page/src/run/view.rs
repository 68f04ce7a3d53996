//! `/runs/{id}`: a run with its inputs, outputs and problem, the waterfall of what it did, and where its outputs come
//! from. A script renews it while the run is in progress.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::evaluation::id_of;
use crate::form::encoded;
use crate::parts::badge::status;
use crate::parts::figure::count;
use crate::parts::head::head;
use crate::parts::marked_text::repairs;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::parts::values::members;
use crate::run::feedback::{RefusedFeedback, panel as panel_of_feedback};
use crate::run::labels::labels;
use crate::run::list::{RunUsage, millis};
use crate::run::provenance::{lineage, panel};
use crate::run::signal_form::{RefusedSignal, forms};
use crate::run::span::{answer, shown, spent};
use crate::run::trace::TraceTree;
use crate::run::waterfall::{Waterfall, node_link};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, Query};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::run::{RunRow, RunStatus};

/// `GET /runs/{id}`.
pub(crate) async fn run(
    visitor: Visitor,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let output = query.text("output").filter(|output| !output.is_empty());
    let portion = query.number("span").zip(query.text("first"));
    query.close()?;
    let portion =
        portion.and_then(|(span, first)| Some((u32::try_from(span).ok()?, first.parse().ok()?)));
    show(&visitor, id, &RunFocus { output, portion, refused: None, refused_feedback: None }).await
}

/// What of a run a person looks at.
#[derive(Default)]
pub(super) struct RunFocus<'f> {
    /// The output whose sources are marked.
    pub(super) output: Option<String>,
    /// The span that is opened, and the first span to show within it.
    pub(super) portion: Option<(u32, usize)>,
    /// The value that a person sent to a waiting node, if it does not fit.
    pub(super) refused: Option<RefusedSignal<'f>>,
    /// The feedback that a person gave, if it does not fit.
    pub(super) refused_feedback: Option<RefusedFeedback>,
}

/// The view of a run.
pub(super) async fn show(
    visitor: &Visitor,
    id: Uuid,
    focus: &RunFocus<'_>,
) -> Result<Response, ApiProblem> {
    let RunFocus { output, portion, refused, refused_feedback } = focus;
    let (row, is_archived) = visitor.app.run_find(&visitor.scope, id).await?;
    let lineage = match output {
        Some(output) => lineage(visitor, &row, output).await?,
        None => None,
    };
    let sources = lineage.as_ref().map(|lineage| lineage.nodes.clone()).unwrap_or_default();
    let used = lineage.as_ref().map(|lineage| lineage.inputs.as_slice()).unwrap_or_default();
    let tree = TraceTree::read(&row.trace);
    let signals = if visitor.may(KeyScope::Execute) && row.status == RunStatus::Waiting {
        forms(visitor, &row, refused.as_ref()).await?
    } else {
        html! {}
    };
    let feedback = match is_archived {
        true => html! {},
        false => panel_of_feedback(visitor, &row, refused_feedback.as_ref()).await?,
    };
    let body = html! {
        (title(visitor, &row, is_archived))
        @if is_archived { p.muted { "This run is in the archive: it is not in lists, and cannot be resumed." } }
        (facts(&row))
        (signals)
        div #problem data-live { @if let Some(error) = &row.error { (problem(&row, error)) } }
        div.beside {
            (inputs(&row, used))
            (outputs(&row, output.as_deref()))
        }
        @match (output, &lineage) {
            (Some(output), Some(lineage)) => (panel(&row, output, lineage)),
            (Some(output), None) => p.muted #provenance { "Where " code { (output) } " comes from is not known." },
            _ => {}
        }
        (feedback)
        section #trace data-live aria-label="Trace" {
            h2 { "Trace " span.muted.small { (count(i64::try_from(tree.spans.len()).unwrap_or(i64::MAX))) " spans" } }
            @if tree.spans.is_empty() { p.muted { "No spans are recorded yet." } }
            @else { (Waterfall::new(row.id, &tree, *portion, &sources).show()) }
        }
        @if visitor.may(KeyScope::Write) && row.status.has_ended() && !is_archived { (example_form(&row)) }
        (SameRequest::get(&format!("/v1/runs/{id}")).show())
    };
    let view = View::new(format!("Run of {}", row.graph_name), PageSection::Runs)
        .styles(&["run.css"])
        .scripts(&["live_job.js", "run.js", "value_rows.js"]);
    Ok(visitor.show(&view, body))
}

fn title(visitor: &Visitor, row: &RunRow, is_archived: bool) -> Markup {
    let graph = encoded(&row.graph_name);
    let may_execute = visitor.may(KeyScope::Execute);
    let is_resumable =
        matches!(row.status, RunStatus::Failed | RunStatus::Cancelled) && !is_archived;
    let actions = html! {
        @if may_execute && !row.status.has_ended() {
            form action={ "/runs/" (row.id) "/cancel" } method="post" data-confirm="Cancel this run?" data-while-running {
                button.danger type="submit" { "Cancel" }
            }
        }
        @if may_execute && is_resumable {
            form action={ "/runs/" (row.id) "/resume" } method="post" {
                button type="submit" title="Completed nodes do not run again" { "Resume" }
            }
        }
        @if may_execute { a.button.primary href={ "/graphs/" (graph) "/run?run=" (row.id) } { "Run again" } }
        a.button href={ "/runs?graph=" (graph) } { "Runs of this graph" }
    };
    let name =
        html! { "Run " span.muted.mono { (row.id.to_string().get(24..).unwrap_or_default()) } };
    head(
        &[("/runs".to_owned(), "Runs"), (format!("/graphs/{graph}"), &row.graph_name)],
        &name,
        &actions,
    )
}

fn facts(row: &RunRow) -> Markup {
    let usage = RunUsage::read(&row.usage);
    let follow = (!row.status.has_ended()).then(|| format!("/v1/runs/{}/events", row.id));
    let queued = row
        .started_at
        .map(|start| (start - row.created_at).num_milliseconds())
        .filter(|ms| *ms > 0);
    html! {
        div #facts data-live {
            div.run-facts data-follow=[follow]
                data-events="run.started node.started node.completed node.failed run.waiting run.completed run.failed run.cancelled" {
                (status(row.status.as_str()))
                span { a href={ "/graphs/" (encoded(&row.graph_name)) "?version=" (row.graph_version) } { "version " (row.graph_version) } " · "
                    a href={ "/graphs/" (encoded(&row.graph_name)) "/state?version=" (row.state_version) } { "state " (row.state_version) } }
                @if row.duration_ms.is_some() { span { "took " b { (millis(row.duration_ms)) } } }
                @if let Some(ms) = queued { span { "queued " b { (millis(Some(ms))) } } }
                span { b { (count(usage.lm_calls)) } " calls" }
                (spent(&RunUsage { lm_calls: 0, ..usage }))
                span.muted { (ago(row.created_at)) " by " (row.created_by) }
                @if !row.labels.is_empty() { span { (labels(&row.labels)) } }
                span.muted.mono.small { (row.id) }
            }
        }
    }
}

/// Why a run failed, at its node, with the words of the model.
fn problem(row: &RunRow, stored: &str) -> Markup {
    let problem: Value = serde_json::from_str(stored).unwrap_or_default();
    let text = |name: &str| problem.get(name).and_then(Value::as_str);
    let report = problem.get("report").map(ToString::to_string).unwrap_or_default();
    html! {
        section.panel.failure role="alert" {
            header { h2 { (text("title").unwrap_or("The run failed")) } code { (text("code").unwrap_or_default()) } }
            div.body {
                p { (text("detail").unwrap_or_default()) }
                @if let Some(node) = text("node") { p { "Node " a href=(node_link(&row.graph_name, node)) { code { (node) } } } }
                @for item in problem.get("errors").and_then(Value::as_array).into_iter().flatten() {
                    p.small { code { (item.get("pointer").and_then(Value::as_str).unwrap_or_default()) } " " (item.get("detail").and_then(Value::as_str).unwrap_or_default()) }
                }
                @if let Some(raw) = text("raw") { (answer(raw, &repairs(&report))) }
            }
        }
    }
}

fn inputs(row: &RunRow, used: &[String]) -> Markup {
    let is_used = |name: &str| {
        let reference = format!("input:{name}");
        used.iter().any(|used| {
            *used == reference
                || used.starts_with(&format!("{reference}."))
                || used.starts_with(&format!("{reference}["))
        })
    };
    let values = members(&row.inputs);
    html! {
        section.panel {
            header { h2 { "Inputs" } }
            div.body {
                @if values.is_empty() { p.muted { "none" } }
                dl.values { @for (name, value) in &values { dt.source[is_used(name)] { (name) } dd { (shown(value)) } } }
            }
        }
    }
}

fn outputs(row: &RunRow, chosen: Option<&str>) -> Markup {
    let values: Map<String, Value> = row.outputs.as_deref().map(members).unwrap_or_default();
    html! {
        section.panel #outputs data-live {
            header { h2 { "Outputs" } @if !values.is_empty() { span.hint { "choose one to see where it comes from" } } }
            div.body {
                @if values.is_empty() { p.muted { @if row.status.has_ended() { "none" } @else { "not yet" } } }
                dl.values {
                    @for (name, value) in &values {
                        dt { a href={ "/runs/" (row.id) "?output=" (encoded(name)) "#provenance" } aria-current=[(chosen == Some(name.as_str())).then_some("true")] { (name) } }
                        dd { (shown(value)) }
                    }
                }
            }
        }
    }
}

fn example_form(row: &RunRow) -> Markup {
    html! {
        details.panel.make-example {
            summary { "Make an example of it" }
            form.body.filters action={ "/runs/" (row.id) "/example" } method="post" {
                label { "Dataset" input name="dataset" required pattern="[a-z][a-z0-9_\\-]*" placeholder="a new or an existing one" autocomplete="off"; }
                label { "Expected outputs"
                    select name="expected" {
                        option value="outputs" { "those of this run" }
                        option value="corrected" { "with the corrected outputs of its feedback" }
                        option value="none" selected[row.outputs.is_none()] { "none" }
                    }
                }
                button type="submit" { "Add" }
            }
        }
    }
}
