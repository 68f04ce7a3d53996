//! `/optimizations/{id}`: its status and budget, score curve and candidates, the best prompt so far beside the
//! original one, and its result. Live while it runs.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::evaluation::list::dataset_name;
use crate::evaluation::view::failure;
use crate::evaluation::{id_of, metric_line};
use crate::form::encoded;
use crate::optimization::activate::activation;
use crate::optimization::changes::changes;
use crate::optimization::charts::{budget, curve, scatter};
use crate::optimization::outline::{CandidateOutline, best, front, has_prices};
use crate::parts::badge::{Tone, badge, status};
use crate::parts::chart::interval;
use crate::parts::figure::{cost, count, score};
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::parts::values::plain;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::Optimizations;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::optimization::OptimizationRow;

/// The most candidates that are shown.
const MOST: i64 = 2_000;

const EVENTS: &str = "optimization.started optimization.phase optimization.candidate optimization.scored \
    optimization.progress optimization.completed optimization.failed optimization.cancelled";

/// `GET /optimizations/{id}`.
pub(crate) async fn optimization(
    visitor: Visitor,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let id = id_of(&id)?;
    let page = PageRequest::of(format!("page of {id}"), query)?;
    let from = page.numbered::<usize>()?.after.unwrap_or(0);
    let row = app.job_get::<Optimizations>(scope, id).await?;
    let outlines = app.optimization_outlines(scope, id, MOST).await?;
    let all: Vec<CandidateOutline> = outlines.iter().map(CandidateOutline::read).collect();
    let request: Value = serde_json::from_str(&row.request).unwrap_or_default();
    let result: Value =
        row.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let rest = all.get(from..).unwrap_or_default();
    let shown = rest.get(..page.limit as usize).unwrap_or(rest);
    let next = page.next((shown.len() < rest.len()).then_some(from + shown.len()));
    let path = format!("/optimizations/{id}");
    let body = html! {
        (title(&visitor, &row))
        div #live data-live {
            (progress(&row))
            (outcome(&row, &result))
            (activation(&visitor, &row, &result).await?)
            div.panels {
                section.panel { header { h2 { "Score" } } div.body { (curve(id, &all)) } }
                section.panel { header { h2 { "Score against cost" } } div.body { (scatter(id, &all)) } }
                section.panel { header { h2 { "Budget" } } div.body { (budget(&row, &request)) } }
                (facts(&row, &request))
            }
            (best_prompt(&visitor, &row, &all).await)
        }
        section.panel hidden { header { h2 { "Progress" } } div.body { ol.log data-log aria-live="off" tabindex="0" {} } }
        section.fields #candidates data-live aria-label="Candidates" {
            h2 { "Candidates" }
            (table(&row, shown, &all))
        }
        (pager(&path, page.after.is_none(), next.as_deref()))
        (SameRequest::get(&format!("/v1{path}")).show())
    };
    let view = View::new(format!("Optimization of {}", row.graph_name), PageSection::Optimizations)
        .styles(&["quality.css", "chart.css"])
        .scripts(&["live_job.js"]);
    Ok(visitor.show(&view, body))
}

fn title(visitor: &Visitor, row: &OptimizationRow) -> Markup {
    let actions = html! {
        @if visitor.may(KeyScope::Execute) && !row.status.has_ended() {
            form action={ "/optimizations/" (row.id) "/cancel" } method="post" data-while-running
                data-confirm="Cancel this optimization? Its candidates remain, and the best so far is stored." {
                button.danger type="submit" { "Cancel" }
            }
        }
    };
    let name = html! { span.cut title=(row.graph_name) { "Optimization of " (row.graph_name) } };
    head(&[("/optimizations".to_owned(), "Optimizations")], &name, &actions)
}

/// Events are stored for an hour, so an optimization that ended lately still has its log.
fn progress(row: &OptimizationRow) -> Markup {
    let is_lately = row.finished_at.is_none_or(|end| (chrono::Utc::now() - end).num_minutes() < 50);
    let follow = is_lately.then(|| format!("/v1/optimizations/{}/events", row.id));
    html! {
        div.progress-line data-follow=[follow] data-events=(EVENTS) {
            (status(row.status.as_str()))
            span { b { (count(row.candidates)) } " candidates" }
            span { b { (count(row.spent.lm_calls)) } " calls" }
            @if let Some(spent) = row.spent.cost { span { b { (cost(spent)) } } }
            span { b { (format!("{:.0}", row.seconds)) } " s of work" }
            span.muted { "started " (ago(row.created_at)) " by " (row.created_by) }
        }
        @if let Some(error) = &row.error { (failure(error)) }
    }
}

/// What the optimization found, measured on the held-out examples.
fn outcome(row: &OptimizationRow, result: &Value) -> Markup {
    let compared = &result["comparison"];
    let number = |name: &str| compared[name].as_f64().unwrap_or(0.0);
    let (low, gain, high) = (number("low"), number("gain"), number("high"));
    let most = low.abs().max(high.abs()).clamp(0.05, 1.0) * 1.15;
    let words = format!("gain {gain:+.3}, 95 % interval from {low:+.3} to {high:+.3}");
    html! {
        @if !result.is_null() {
            section.panel {
                header { h2 { "Result on held-out examples" }
                    @if compared.is_object() { span.big { (format!("{gain:+.3}")) } }
                    @if row.best.is_none() { (badge(Tone::Plain, "nothing better found")) }
                }
                div.body {
                    @if compared.is_object() {
                        (interval((-most, most), (low, gain, high), Some(0.0), &words))
                        p.figures {
                            span { "before " b { (score(number("before"))) } } span { "after " b { (score(number("after"))) } }
                            span { b { (plain(&compared["losses"])) } " worse" } span { b { (plain(&compared["ties"])) } " equal" } span { b { (plain(&compared["wins"])) } " better" }
                            span { "interval " b { (format!("{low:+.3}")) } " to " b { (format!("{high:+.3}")) } " of " b { (plain(&compared["n"])) } " examples" }
                        }
                    }
                    @if let Some(stopped) = result["stopped"]["detail"].as_str() { p { "Stopped: " (stopped) } }
                    @if let Some(activated) = &row.activated { (decision(activated)) }
                }
            }
        }
    }
}

fn decision(stored: &str) -> Markup {
    let activated: Value = serde_json::from_str(stored).unwrap_or_default();
    let (tone, word) = if activated["activated"] == true {
        (Tone::Good, "activated")
    } else {
        (Tone::Plain, "not activated")
    };
    html! { p { (badge(tone, word)) " " (plain(&activated["reason"])) } }
}

fn facts(row: &OptimizationRow, request: &Value) -> Markup {
    let graph = encoded(&row.graph_name);
    let examples = &request["examples"];
    html! {
        section.panel {
            header { h2 { "Request" } }
            div.body {
                dl.facts {
                    dt { "Graph" } dd { a href={ "/graphs/" (graph) "?version=" (row.graph_version) } { (row.graph_name) } " v" (row.graph_version) " · state " (row.state_version) }
                    dt { "Optimizer" } dd { a href={ "/optimizers/" (encoded(&row.optimizer)) } { (row.optimizer) } " " code.small { (request["config"]) } }
                    @for set in ["trainset", "valset", "testset"] {
                        @if !request[set].is_null() { dt { (set) } dd { (dataset_name(&request[set].to_string())) } }
                    }
                    dt { "Examples" } dd { (plain(&examples["train"])) " train, " (plain(&examples["val"])) " val, " (plain(&examples["held_out"])) " held out" }
                    dt { "Metric" } dd { code { (metric_line(&request["metric"].to_string())) } }
                    dt { "Seed" } dd { (plain(&request["seed"])) }
                    dt { "Activate" } dd { (plain(&request["activate"])) }
                }
            }
        }
    }
}

/// The best candidate so far, as changes of the original program.
async fn best_prompt(visitor: &Visitor, row: &OptimizationRow, all: &[CandidateOutline]) -> Markup {
    let best = row.best.or_else(|| best(all)).filter(|number| *number > 0);
    let Some(number) = best else {
        return html! { @if !row.status.has_ended() { p.muted { "No candidate is better than the original program so far." } } };
    };
    let found = Box::pin(visitor.app.optimization_candidate(&visitor.scope, row.id, number)).await;
    html! {
        section.panel {
            header { h2 { "Best program " @if row.status.has_ended() { "found" } @else { "so far" } }
                a href={ "/optimizations/" (row.id) "/candidates/" (number) } { "candidate " (number) } }
            div.body {
                @match found {
                    Ok((_, diff)) => (changes(&serde_json::from_str(&diff).unwrap_or_default())),
                    Err(error) => p.refusal { (ApiProblem::from(error).detail()) },
                }
            }
        }
    }
}

fn table(row: &OptimizationRow, shown: &[CandidateOutline], all: &[CandidateOutline]) -> Markup {
    let in_money = has_prices(all);
    let (best, front) = (row.best.or_else(|| best(all)), front(all, in_money));
    html! {
        @if shown.is_empty() { p.muted { "None yet." } }
        @else {
            table.stack {
                thead { tr { th { "Candidate" } th { "How it was made" } th.number { "Score" } th.number { "Examples" } th.number { "Failed" } th.number { "No score" } th.number { "Trials on parts" } th.number { (if in_money { "Cost of an example" } else { "Tokens of an example" }) } } }
                tbody { @for one in shown { (line(row, one, (best == Some(one.number), front.contains(&one.number)), in_money)) } }
            }
        }
    }
}

fn line(
    row: &OptimizationRow,
    one: &CandidateOutline,
    (is_best, is_front): (bool, bool),
    in_money: bool,
) -> Markup {
    let number = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let expense = one
        .expense(in_money)
        .map(|spent| if in_money { cost(spent) } else { count(spent.round() as i64) });
    html! {
        tr {
            td.name { a href={ "/optimizations/" (row.id) "/candidates/" (one.number) } { (one.number) } " "
                @if one.number == 0 { span.small.muted { "original" } " " }
                @if is_best { (badge(Tone::Good, "best")) } " " @if is_front { (badge(Tone::Info, "front")) } }
            td data-label="Made" { div { (one.origin)
                @if !one.parents.is_empty() { span.small.muted { " from " (one.parents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) } }
                @if one.changes_graph { " " (badge(Tone::Warn, "changes the graph")) } } }
            td.number data-label="Score" { (number(one.full.map(|full| score(full.score)))) }
            td.number data-label="Examples" { (number(one.full.map(|full| full.n.to_string()))) }
            td.number data-label="Failed" { (number(one.full.map(|full| full.failures.to_string()))) }
            td.number data-label="No score" { (number(one.full.map(|full| full.unmeasured.to_string()))) }
            td.number data-label="Trials on parts" { (one.partial) }
            td.number data-label=(if in_money { "Cost" } else { "Tokens" }) { (number(expense)) }
        }
    }
}
