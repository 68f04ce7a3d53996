//! How live runs of a graph are judged: its online evaluation, the budget of today, the mean scores of the last week, and
//! what a person does with it.

use axum::extract::Path;
use axum::response::Response;
use chrono::{TimeDelta, Utc};
use dsrs::value::Payload;
use maud::{Markup, html};

use crate::form::{encoded, see};
use crate::parts::badge::{Tone, badge};
use crate::parts::figure::{cost, count, score};
use crate::parts::json::json;
use crate::parts::life::LifeButtons;
use crate::visitor::Visitor;
use dsrs_app::Precondition;
use dsrs_http::ApiProblem;
use dsrs_store::feedback_summary::{GraphScoreRow, ScorePeriod};
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::online_evaluation::{OnlineEvaluationRow, OnlineEvaluationSettings};

/// How many days of scores are shown.
const DAYS: i64 = 7;

/// The source of the scores that an online evaluation gives.
const ONLINE: &str = "online";

/// The panel of a graph that has an online evaluation; for those who may set one, the way to it.
pub(super) async fn judgement(
    visitor: &Visitor,
    row: &GraphRow,
) -> Result<Option<Markup>, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let Some(evaluation) = app.online_evaluation_of(scope, row.id).await? else {
        return Ok(visitor.may(KeyScope::Write).then(|| invitation(row)));
    };
    let period =
        ScorePeriod { since: Utc::now().checked_sub_signed(TimeDelta::days(DAYS)), until: None };
    let mut scores = app.graph_scores(scope, &GraphRef::Id(row.id), period).await?;
    scores.retain(|found| found.source == ONLINE);
    Ok(Some(panel(visitor, row, &evaluation, &scores)))
}

fn invitation(row: &GraphRow) -> Markup {
    let path = format!("/graphs/{}/online-evaluation", encoded(&row.name));
    html! { p.small { a href=(path) { "Judge live runs with an online evaluation" } } }
}

fn panel(
    visitor: &Visitor,
    row: &GraphRow,
    evaluation: &OnlineEvaluationRow,
    scores: &[GraphScoreRow],
) -> Markup {
    let settings = &evaluation.settings;
    html! {
        section.panel #online-evaluation {
            header {
                h2 { "Online evaluation " (state(settings)) }
                @if visitor.may(KeyScope::Write) { (actions(row, settings.enabled)) }
            }
            div.body {
                dl.facts {
                    dt { "Judges" } dd { (percent(settings.sample)) " of the runs that succeed" }
                    dt { "Today" } dd { (budget(evaluation)) }
                    @if evaluation.unmeasured > 0 {
                        dt { "Unmeasured" } dd { (count(i64::from(evaluation.unmeasured))) " runs of today: their metric failed for a reason of its provider or the time" }
                    }
                    dt { "Metrics" } dd { (metrics(&settings.metrics)) }
                }
                @if scores.is_empty() { p.small.muted { "No scores in the last " (DAYS) " days." } }
                @else { (means(scores)) }
            }
        }
    }
}

fn state(settings: &OnlineEvaluationSettings) -> Markup {
    match settings.enabled {
        true => badge(Tone::Good, "active"),
        false => badge(Tone::Plain, "paused"),
    }
}

fn actions(row: &GraphRow, enabled: bool) -> Markup {
    let path = format!("/graphs/{}/online-evaluation", encoded(&row.name));
    let buttons = LifeButtons {
        path: &path,
        is_enabled: enabled,
        delete: "Remove",
        question: "Remove this online evaluation? Its scores stay.",
    };
    html! { div.actions { a.button href=(path) { "Change" } (buttons.show()) } }
}

fn percent(share: f64) -> String {
    let percent = (share * 100_000.0).round() / 1000.0;
    if percent > 0.0 { format!("{percent} %") } else { "less than 0.001 %".to_owned() }
}

/// What the metrics have spent today, and may spend.
fn budget(evaluation: &OnlineEvaluationRow) -> Markup {
    let settings = &evaluation.settings;
    html! {
        (count(evaluation.spent_calls))
        @if let Some(most) = settings.calls_per_day { " of " (count(most)) }
        " calls"
        @if evaluation.spent_cost > 0.0 || settings.cost_per_day.is_some() {
            ", cost " (cost(evaluation.spent_cost))
            @if let Some(most) = settings.cost_per_day { " of " (cost(most)) }
        }
    }
}

/// The metrics by name, each with its definition.
fn metrics(written: &str) -> Markup {
    let read = Payload::from_json(written).ok();
    html! {
        @for (name, metric) in read.as_ref().and_then(Payload::as_map).into_iter().flatten() {
            details { summary { (name) } pre.json tabindex="0" aria-label={ "Metric " (name) } { (json(&metric.to_json())) } }
        }
    }
}

fn means(scores: &[GraphScoreRow]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Score" } th { "Version" } th.number { "Mean" } th.number { "Runs" } } }
            tbody {
                @for found in scores {
                    tr {
                        td data-label="Score" { (found.name) @if let Some(category) = &found.category { " " span.badge { (category) } } }
                        td data-label="Version" { (found.graph_version) }
                        td.number data-label="Mean" { (found.score.map_or_else(|| "–".to_owned(), score)) }
                        td.number data-label="Runs" { (count(found.count)) }
                    }
                }
            }
        }
        p.small.muted { "Of the last " (DAYS) " days." }
    }
}

/// `POST /graphs/{graph}/online-evaluation/pause`.
pub(crate) async fn pause(
    visitor: Visitor,
    Path(graph): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &graph, false).await
}

/// `POST /graphs/{graph}/online-evaluation/resume`.
pub(crate) async fn resume(
    visitor: Visitor,
    Path(graph): Path<String>,
) -> Result<Response, ApiProblem> {
    enable(&visitor, &graph, true).await
}

async fn enable(visitor: &Visitor, graph: &str, enabled: bool) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    app.online_evaluation_enable(scope, &GraphRef::parse(graph), enabled).await?;
    Ok(see(&format!("/graphs/{}#online-evaluation", encoded(graph))))
}

/// `POST /graphs/{graph}/online-evaluation/delete`.
pub(crate) async fn delete(
    visitor: Visitor,
    Path(graph): Path<String>,
) -> Result<Response, ApiProblem> {
    visitor
        .app
        .online_evaluation_delete(&visitor.scope, &GraphRef::parse(&graph), &Precondition::Any)
        .await?;
    Ok(see(&format!("/graphs/{}", encoded(&graph))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_in_percent() {
        assert_eq!([1.0, 0.25, 0.015].map(percent), ["100 %", "25 %", "1.5 %"]);
        assert_eq!([0.07, 0.0057, 1e-9].map(percent), ["7 %", "0.57 %", "less than 0.001 %"]);
    }
}
