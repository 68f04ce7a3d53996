//! `GET /usage`: bars over time, and a table of the sums.

use axum::response::Response;
use chrono::Utc;
use maud::{Markup, html};

use crate::dataset::view::graph_names;
use crate::parts::empty::empty;
use crate::parts::figure::{cost, count, score};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::sparkline::sparkline;
use crate::parts::time::duration;
use crate::shell::{PageSection, View};
use crate::usage::form::{UsageForm, label};
use crate::usage::nodes::nodes;
use crate::visitor::Visitor;
use dsrs_app::{ProfileRequest, UsageItem};
use dsrs_http::{ApiProblem, Query};
use dsrs_store::graph::GraphRef;
use dsrs_store::usage::{UsageDimension, UsageQuery};

/// `GET /usage`.
pub(crate) async fn usage(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let form = UsageForm::read(&mut query);
    query.close()?;
    let whole = form.query(Utc::now());
    let over_time = UsageQuery { interval: Some(form.interval()), ..whole.clone() };
    let divided = UsageQuery { by: vec![form.by], ..whole.clone() };
    let over_time = visitor.app.usage(&visitor.scope, &over_time).await?;
    let divided = visitor.app.usage(&visitor.scope, &divided).await?;
    let profile = profile(&visitor, &form, &whole).await?;
    let graphs = graph_names(&visitor).await?;
    let api = format!("/v1/usage?{}", form.api_query(&whole));
    let body = html! {
        (head(&[], &html! { "Usage" }, &html! {}))
        (form.show(&graphs))
        @if over_time.is_empty() { (nothing()) }
        @else {
            (bars(&over_time, form.interval().as_str()))
            (table(form.by, &divided))
            @if let Some(profile) = profile { (profile) }
        }
        (SameRequest::get(&api).show())
    };
    let view = View::new("Usage", PageSection::Usage).styles(&["quality.css", "graph.css"]);
    Ok(visitor.show(&view, body))
}

/// The nodes of the graph that is chosen, if it exists.
async fn profile(
    visitor: &Visitor,
    form: &UsageForm,
    whole: &UsageQuery,
) -> Result<Option<Markup>, ApiProblem> {
    if form.graph.is_empty() {
        return Ok(None);
    }
    let request = ProfileRequest { version: None, since: whole.since, until: whole.until };
    let graph = GraphRef::parse(&form.graph);
    // A graph that was deleted has usage and no profile.
    let found = visitor.app.graph_profile(&visitor.scope, &graph, request).await;
    Ok(found.ok().filter(|profile| profile.runs > 0).map(|profile| nodes(&profile)))
}

fn nothing() -> Markup {
    empty(
        "No usage in this time",
        &html! { p.muted { "Runs count once they have ended, in the hour in which they were created." } },
    )
}

/// Bars of runs, tokens and cost, one for each period that has any.
fn bars(items: &[UsageItem], period: &str) -> Markup {
    let runs: Vec<(i64, i64)> = items.iter().map(|item| (item.row.runs, item.row.failed)).collect();
    let tokens: Vec<(i64, i64)> =
        items.iter().map(|item| (item.row.input_tokens + item.row.output_tokens, 0)).collect();
    // A bar is a whole number: of millionths of the unit of the prices.
    let millionths = |cost: f64| (cost * 1e6).min(1e15) as i64;
    let costs: Vec<(i64, i64)> =
        items.iter().map(|item| (item.row.cost.map_or(0, millionths), 0)).collect();
    let sum = |values: &[(i64, i64)]| values.iter().map(|value| value.0).sum::<i64>();
    let spent: Option<f64> = items.iter().filter_map(|item| item.row.cost).reduce(|a, b| a + b);
    let figures = [
        ("Runs", count(sum(&runs)), &runs),
        ("Tokens", count(sum(&tokens)), &tokens),
        ("Cost", spent.map_or_else(|| "–".to_owned(), cost), &costs),
    ];
    html! {
        div.cards {
            @for (name, total, values) in figures {
                article.card {
                    h2 { (name) " " span.muted { (total) } }
                    (sparkline(values, &format!("{name} by {period}")))
                }
            }
        }
    }
}

fn table(by: UsageDimension, items: &[UsageItem]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { (label(by)) } th.number { "Runs" } th.number { "Failed" } th { "Mean time" }
                th.number { "Requests" } th.number { "Input" } th.number { "Output" } th.number { "Cost" } th { "Scores" } } }
            tbody { @for item in items { (line(by, item)) } }
        }
    }
}

fn line(by: UsageDimension, item: &UsageItem) -> Markup {
    let row = &item.row;
    let mean = (row.runs > 0).then(|| duration(row.duration_ms as f64 / row.runs as f64));
    html! {
        tr {
            td.name { (value(by, item)) }
            td.number data-label="Runs" { (count(row.runs)) }
            td.number data-label="Failed" { (count(row.failed)) }
            td data-label="Mean time" { (mean.unwrap_or_else(|| "–".to_owned())) }
            td.number data-label="Requests" { (count(row.lm_calls)) }
            td.number data-label="Input" { (count(row.input_tokens)) }
            td.number data-label="Output" { (count(row.output_tokens)) }
            td.number data-label="Cost" { (row.cost.map_or_else(|| "–".to_owned(), cost)) }
            td data-label="Scores" {
                @for found in &item.scores { div { (found.name) " " b { (score(found.mean)) } " (" (found.count) ")" } }
            }
        }
    }
}

/// The value by which the row is one of its own.
fn value(by: UsageDimension, item: &UsageItem) -> String {
    let row = &item.row;
    let number = |number: Option<i32>| number.map(|number| number.to_string());
    let found = match by {
        UsageDimension::Graph => row.graph_name.clone(),
        UsageDimension::Version => number(row.graph_version),
        UsageDimension::StateVersion => number(row.state_version),
        UsageDimension::Key => row.created_by.clone(),
        UsageDimension::User => row.user_id.clone(),
        UsageDimension::Work => row.work.clone(),
        UsageDimension::Tag | UsageDimension::Model => row.value.clone(),
    };
    found.unwrap_or_else(|| "none".to_owned())
}
