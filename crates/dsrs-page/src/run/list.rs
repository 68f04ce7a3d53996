//! `/runs`: a table of runs, newest first, with filters. A script renews it while a person looks.

use std::collections::HashMap;

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::dataset::view::graph_names;
use crate::form::encoded;
use crate::parts::badge::status;
use crate::parts::empty::empty;
use crate::parts::figure::{cost, count};
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::{ago, duration};
use crate::run::filter::FilterForm;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::feedback_summary::RunScoreRow;
use dsrs_store::run::RunSummaryRow;

/// Calls, tokens and cost, as runs store them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunUsage {
    pub(super) lm_calls: i64,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    pub(super) reasoning_tokens: i64,
    pub(super) cached_tokens: i64,
    pub(super) cost: Option<f64>,
}

impl RunUsage {
    /// Reads the stored text.
    pub(super) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// `GET /runs`.
pub(crate) async fn runs(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let form = FilterForm::read(&mut query);
    let page = PageRequest::of("runs", query)?;
    let listed = visitor.app.run_list(&visitor.scope, &form.filter(), page.newest()?).await?;
    let ids: Vec<Uuid> = listed.items.iter().map(|run| run.id).collect();
    let scores = visitor.app.run_scores(&visitor.scope, &ids).await?;
    let next = page.next_of(&listed);
    let is_first = page.after.is_none();
    let graphs = graph_names(&visitor).await?;
    let path = |start: &str, query: String| {
        if query.is_empty() { start.to_owned() } else { format!("{start}?{query}") }
    };
    let body = html! {
        (head(&[], &html! { "Runs" }, &html! {}))
        (form.show(&graphs))
        // Only the first page has what is new.
        div #runs data-renew[is_first] {
            @if listed.items.is_empty() { (nothing(&form)) } @else { (table(&listed.items, &scores)) }
        }
        (pager(&path("/runs", form.query()), is_first, next.as_deref()))
        (SameRequest::get(&path("/v1/runs", form.api_query())).show())
    };
    let view = View::new("Runs", PageSection::Runs).styles(&["run.css"]).scripts(&["runs.js"]);
    Ok(visitor.show(&view, body))
}

fn nothing(form: &FilterForm) -> Markup {
    if form.is_empty() {
        return empty(
            "No runs yet",
            &html! { p.muted { "A run is one execution of a graph. Choose one of the " a href="/" { "graphs" } " and run it." } },
        );
    }
    empty("No run fits", &html! { p { a href="/runs" { "Show all runs" } } })
}

fn table(rows: &[RunSummaryRow], scores: &HashMap<Uuid, Vec<RunScoreRow>>) -> Markup {
    html! {
        form #comparison action="/runs/compare" method="get" {}
        table.stack.runs {
            thead { tr {
                th { span.sr { "Compare" } } th { "Run" } th { "Status" } th { "Graph" } th { "Started" } th.number { "Duration" }
                th.number { "Calls" } th.number { "Tokens" } th.number { "Cost" } @if !scores.is_empty() { th { "Scores" } } th { "Problem" }
            } }
            tbody { @for row in rows { (line(row, (!scores.is_empty()).then(|| scores.get(&row.id).map_or(&[][..], Vec::as_slice)))) } }
        }
        button.quiet type="submit" form="comparison" { "Compare the two that are marked" }
    }
}

/// The line of a run; with its scores if a run of the page has some.
fn line(row: &RunSummaryRow, scores: Option<&[RunScoreRow]>) -> Markup {
    let usage = RunUsage::read(&row.usage);
    let id = row.id.to_string();
    html! {
        tr {
            td.pick { input type="checkbox" form="comparison" name="run" value=(id) aria-label={ "Compare run " (id) }; }
            td data-label="Run" { a.mono href={ "/runs/" (id) } title=(id) { (id.get(24..).unwrap_or(&id)) } }
            td data-label="Status" { (status(row.status.as_str())) }
            td data-label="Graph" { span { a href={ "/graphs/" (encoded(&row.graph_name)) } { (row.graph_name) } " " span.small.muted { "v" (row.graph_version) " · state " (row.state_version) } } }
            td data-label="Started" { (ago(row.created_at)) }
            td.number data-label="Duration" { (millis(row.duration_ms)) }
            td.number data-label="Calls" { (count(usage.lm_calls)) }
            td.number data-label="Tokens" { (count(usage.input_tokens + usage.output_tokens)) }
            td.number data-label="Cost" { (usage.cost.map_or_else(|| "–".to_owned(), cost)) }
            @if let Some(scores) = scores { td data-label="Scores" { (score_texts(scores)) } }
            td.problem data-label="Problem" { @if let Some(problem) = row.error.as_deref().and_then(problem_line) { span.cut title=(problem) { (problem) } } }
        }
    }
}

fn score_texts(scores: &[RunScoreRow]) -> String {
    let text = |row: &RunScoreRow| {
        let name = row.name.as_deref()?;
        let number = row.score.map(|score| format!("{score:.2}"));
        Some(format!("{name} {}", number.or_else(|| row.category.clone())?))
    };
    scores.iter().filter_map(text).collect::<Vec<_>>().join(", ")
}

/// A duration that may be unknown.
pub(super) fn millis(ms: Option<i64>) -> String {
    // Lossless: durations of runs are far below 2^52 ms.
    ms.map_or_else(|| "–".to_owned(), |ms| duration(ms as f64))
}

fn problem_line(error: &str) -> Option<String> {
    let problem: Value = serde_json::from_str(error).ok()?;
    let text = |name: &str| problem.get(name).and_then(Value::as_str);
    let node = text("node").map(|node| format!("{node}: ")).unwrap_or_default();
    Some(format!("{node}{}", text("detail").or_else(|| text("code"))?))
}
