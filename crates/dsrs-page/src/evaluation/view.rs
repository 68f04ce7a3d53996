//! `/evaluations/{id}`: status, score with its interval, cost, and the examples, those that failed first.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use uuid::Uuid;

use crate::evaluation::list::{dataset_name, total_cost};
use crate::evaluation::results::{Results, expected_of};
use crate::evaluation::{id_of, metric_line};
use crate::form::{encoded, see};
use crate::parts::badge::status;
use crate::parts::chart::{histogram, interval, share_bar};
use crate::parts::figure::{cost, count, score};
use crate::parts::head::{head, tabs};
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::{ago, duration};
use crate::parts::values::plain;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::{Evaluations, ScoreSummary};
use dsrs_http::{ApiProblem, PageRequest, Query, result_key_of};
use dsrs_store::ListQuery;
use dsrs_store::batch::UsageTotals;
use dsrs_store::evaluation::{EvaluationRow, ResultFilter};
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;

/// The orders and filters of results: the word in addresses, the name, and the filter.
const SHOWN: [(&str, &str, ResultFilter); 4] = [
    ("worst", "Worst first", ResultFilter { worst_first: true, ..ALL }),
    ("failed", "Failed", ResultFilter { failed: Some(true), ..ALL }),
    ("unmeasured", "No score", ResultFilter { unmeasured: Some(true), ..ALL }),
    ("order", "In order", ALL),
];

const ALL: ResultFilter = ResultFilter { failed: None, unmeasured: None, worst_first: false };

/// `GET /evaluations/{id}`.
pub(crate) async fn evaluation(
    visitor: Visitor,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let id = id_of(&id)?;
    let shown = query.text("show");
    let known = SHOWN.iter().find(|(word, _, _)| shown.as_deref() == Some(*word));
    let (word, _, filter) = *known.unwrap_or(&SHOWN[0]);
    let page = PageRequest::of(format!("results {id} {word}"), query)?;
    let row = app.job_get::<Evaluations>(scope, id).await?;
    let results = app.evaluation_results(scope, id, filter, page.list(result_key_of)?).await?;
    let examples = expected_of(&visitor, &row.dataset, &results.items).await?;
    let summary = app.evaluation_scores(scope, id).await?;
    let next = page.next_of(&results);
    let path = format!("/evaluations/{id}");
    let body = html! {
        (title(&visitor, &row))
        div #live data-live {
            (progress(&row))
            (panels(&row, summary.as_ref()))
        }
        (compare_with(&visitor, &row).await?)
        section.fields #scored aria-label="Examples" {
            (tabs("Order", &SHOWN.map(|(own, name, _)| (format!("{path}?show={own}#scored"), name, own == word))))
            div #examples data-live { (Results { rows: &results.items, examples: &examples }.table()) }
            (pager(&format!("{path}?show={word}"), page.after.is_none(), next.as_deref()))
        }
        (SameRequest::get(&format!("/v1{path}")).show())
    };
    let view = View::new(format!("Evaluation of {}", row.graph_name), PageSection::Evaluations)
        .styles(&["quality.css", "chart.css"])
        .scripts(&["live_job.js"]);
    Ok(visitor.show(&view, body))
}

/// `POST /evaluations/{id}/cancel`.
pub(crate) async fn cancel(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.job_cancel::<Evaluations>(&visitor.scope, id).await?;
    Ok(see(&format!("/evaluations/{id}")))
}

fn title(visitor: &Visitor, row: &EvaluationRow) -> Markup {
    let may_cancel = visitor.may(KeyScope::Execute) && !row.status.has_ended();
    let again = format!(
        "/evaluations/new?graph={}&dataset={}",
        encoded(&row.graph_name),
        encoded(&dataset_of(row))
    );
    let actions = html! {
        @if may_cancel {
            form action={ "/evaluations/" (row.id) "/cancel" } method="post" data-confirm="Cancel this evaluation? Scores so far remain." data-while-running {
                button.danger type="submit" { "Cancel" }
            }
        }
        @if visitor.may(KeyScope::Execute) { a.button href=(again) { "Evaluate again" } }
    };
    let name = html! {
        span.cut title=(row.graph_name) { "Evaluation of " (row.graph_name) }
    };
    head(&[("/evaluations".to_owned(), "Evaluations")], &name, &actions)
}

fn dataset_of(row: &EvaluationRow) -> String {
    let stored: serde_json::Value = serde_json::from_str(&row.dataset).unwrap_or_default();
    plain(&stored["dataset"])
}

fn progress(row: &EvaluationRow) -> Markup {
    let tally = row.tally;
    let follow = (!row.status.has_ended()).then(|| format!("/v1/evaluations/{}/events", row.id));
    let took = row
        .started_at
        .zip(row.finished_at)
        .map(|(start, end)| (end - start).num_milliseconds() as f64);
    html! {
        div.progress-line data-follow=[follow] data-events="evaluation.progress evaluation.completed evaluation.failed evaluation.cancelled" {
            (status(row.status.as_str()))
            span { b { (count(tally.done.into())) } " of " (count(tally.total.into())) " examples" }
            @if tally.failed > 0 { span.reason { b { (count(tally.failed.into())) } " failed" } }
            @if tally.unmeasured > 0 { span.reason { b { (count(tally.unmeasured.into())) } " without a score" } }
            @if !row.status.has_ended() { (share_bar(tally.done.into(), tally.total.into(), &format!("{} of {} examples", tally.done, tally.total))) }
            @if let Some(took) = took { span.muted { "in " (duration(took)) } }
            span.muted { "started " (ago(row.created_at)) " by " (row.created_by) }
        }
        @if let Some(error) = &row.error { (failure(error)) }
    }
}

/// The problem of a job that failed as a whole.
pub(crate) fn failure(stored: &str) -> Markup {
    let problem: serde_json::Value = serde_json::from_str(stored).unwrap_or_default();
    html! { p.refusal role="alert" { code { (plain(&problem["code"])) } " " (plain(&problem["detail"])) } }
}

fn panels(row: &EvaluationRow, summary: Option<&ScoreSummary>) -> Markup {
    let graph = encoded(&row.graph_name);
    let judging = UsageTotals::from(row.judging);
    let tokens = |usage: UsageTotals| count(usage.input_tokens + usage.output_tokens);
    html! {
        div.panels {
            section.panel {
                header { h2 { "Score" } @if let Some(found) = summary { span.big { (score(found.interval.mean)) } } }
                div.body {
                    @match summary {
                        None => p.muted { "No example has a score yet." },
                        Some(found) => {
                            @let of = found.interval;
                            @let words = format!("mean score {:.3}, 95 % interval from {:.3} to {:.3}, {} examples", of.mean, of.low, of.high, of.n);
                            (interval((0.0, 1.0), (of.low, of.mean, of.high), None, &words))
                            p.small.muted { "95 % interval " (score(of.low)) " to " (score(of.high))
                                @if of.n < 30 { ": too few examples to rest on; use at least 30" } }
                            (histogram(&found.bins, "How many examples have which score"))
                        }
                    }
                }
            }
            section.panel {
                header { h2 { "Request and cost" } @if let Some(spent) = total_cost(row) { span.big { (cost(spent)) } } }
                div.body {
                    dl.facts {
                        dt { "Graph" } dd { a href={ "/graphs/" (graph) "?version=" (row.graph_version) } { (row.graph_name) } " v" (row.graph_version)
                            " · state " a href={ "/graphs/" (graph) "/state?version=" (row.state_version) } { (row.state_version) } }
                        dt { "Dataset" } dd { (dataset_name(&row.dataset)) }
                        dt { "Metric" } dd { code { (metric_line(&row.metric)) } }
                        dt { "Graph used" } dd { (count(row.spent.lm_calls)) " calls, " (tokens(row.spent)) " tokens, " (row.spent.cost.map_or_else(|| "cost unknown".to_owned(), cost)) }
                        @if judging.lm_calls > 0 { dt { "Metric used" } dd { (count(judging.lm_calls)) " calls, " (tokens(judging)) " tokens, " (judging.cost.map_or_else(|| "cost unknown".to_owned(), cost)) } }
                    }
                }
            }
        }
    }
}

/// A form that compares this evaluation with another of the same graph.
async fn compare_with(visitor: &Visitor, row: &EvaluationRow) -> Result<Markup, ApiProblem> {
    let graph = GraphRef::Id(row.graph_id);
    let list = ListQuery::new(None, 50);
    let found = visitor.app.evaluation_list(&visitor.scope, Some(&graph), list).await?;
    let is_other = |other: &&EvaluationRow| other.id != row.id && other.tally.done > 0;
    let mut others: Vec<&EvaluationRow> = found.items.iter().filter(is_other).collect();
    // Those of the same dataset have examples in common.
    others.sort_by_key(|other| dataset_of(other) != dataset_of(row));
    Ok(html! {
        @if !others.is_empty() {
            form.filters action="/evaluations/compare" method="get" {
                label.wide { "Compare with"
                    select name="a" { @for other in others { option value=(other.id) { (summary_line(other)) } } }
                }
                input type="hidden" name="b" value=(row.id);
                button type="submit" { "Compare" }
            }
        }
    })
}

/// An evaluation in one line, for a choice.
pub(super) fn summary_line(row: &EvaluationRow) -> String {
    let mean = row.tally.mean().map_or_else(|| "–".to_owned(), score);
    let id: Uuid = row.id;
    format!(
        "{mean} · v{} state {} · {} · {} · {}",
        row.graph_version,
        row.state_version,
        dataset_of(row),
        row.created_at.format("%Y-%m-%d %H:%M"),
        &id.to_string()[..8]
    )
}
