//! What a job will probably use, before it starts: calls and cost, and what the figures rest on. What is not known is
//! said to be unknown.

use maud::{Markup, html};
use serde_json::Value;

use crate::parts::figure::{cost, count};
use crate::visitor::Visitor;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use dsrs_app::{DatasetRef, EstimateBasis, UsageEstimate};
use dsrs_http::{ApiProblem, read_document};
use dsrs_store::graph::GraphRef;

/// What is known before a start: the number of examples, and what one of them uses.
pub(crate) struct Forecast {
    pub(crate) examples: usize,
    pub(crate) estimate: UsageEstimate,
    /// Whether the metric calls an LM, too.
    pub(crate) judges: bool,
}

/// The forecast of a request so far; `None` if it names no graph or no dataset, or if these do not exist.
pub(crate) async fn forecast(
    visitor: &Visitor,
    graph: &str,
    dataset: &Value,
    metric: &Value,
) -> Option<Result<Forecast, ApiProblem>> {
    if graph.is_empty() || dataset.is_null() {
        return None;
    }
    Some(Box::pin(of_request(visitor, graph, dataset, metric)).await)
}

async fn of_request(
    visitor: &Visitor,
    graph: &str,
    dataset: &Value,
    metric: &Value,
) -> Result<Forecast, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let examples = examples(visitor, dataset).await?;
    let estimate = app.usage_estimate(scope, &GraphRef::parse(graph)).await?;
    Ok(Forecast { examples, estimate, judges: judges(metric) })
}

/// The number of examples of a reference to a dataset.
pub(crate) async fn examples(visitor: &Visitor, dataset: &Value) -> Result<usize, ApiProblem> {
    let document = read_document(dataset.to_string().as_bytes())?;
    let mut problems = Problems::new();
    let wanted = DatasetRef::read(&document.parsed.payload, &At::Root, &mut problems);
    let Some(wanted) = wanted.filter(|_| problems.is_empty()) else {
        return Err(ApiProblem::of(dsrs_http::ProblemCode::InvalidRequest, problems));
    };
    Ok(visitor.app.dataset_pick(&visitor.scope, &wanted, &At::Root).await?.count)
}

/// Whether a metric names a judge, or a stored graph, at any depth.
fn judges(metric: &Value) -> bool {
    match metric {
        Value::Object(members) => {
            members.keys().any(|name| name == "judge" || name == "graph")
                || members.values().any(judges)
        }
        Value::Array(items) => items.iter().any(judges),
        _ => false,
    }
}

impl Forecast {
    /// The calls for this many runs of the graph.
    pub(crate) fn calls(&self, runs: usize) -> f64 {
        runs as f64 * self.estimate.lm_calls
    }

    /// The figures for this many runs of the graph, and what they rest on.
    pub(crate) fn figures(&self, runs: usize) -> Markup {
        let UsageEstimate { tokens, cost: each, .. } = self.estimate;
        let runs_shown = i64::try_from(runs).unwrap_or(i64::MAX);
        html! {
            dl.forecast {
                dt { "Runs of the graph" } dd { b { (count(runs_shown)) } }
                dt { "Calls of models" } dd { "about " b { (whole(self.calls(runs))) } @if self.judges { span.muted { " + " (count(runs_shown)) " or more of the metric" } } }
                dt { "Tokens" } dd { @match tokens { Some(each) => { "about " b { (whole(each * runs as f64)) } }, None => "unknown" } }
                dt { "Cost" } dd {
                    @match each {
                        Some(each) => { "about " b { (cost(each * runs as f64)) } @if self.judges { span.muted { ", without the metric" } } },
                        None => "unknown",
                    }
                }
            }
            p.small.muted { (self.basis()) }
        }
    }

    fn basis(&self) -> String {
        let unpriced = if self.estimate.cost.is_none() {
            " The prices of its models are not configured, or not known yet."
        } else {
            ""
        };
        match self.estimate.basis {
            EstimateBasis::Evaluation { examples } => format!(
                "Based on the {examples} examples of the last evaluation of this graph version.{unpriced}"
            ),
            EstimateBasis::Runs { count } => format!(
                "Based on the last {count} successful runs of this graph version.{unpriced}"
            ),
            EstimateBasis::Predictors { count } => format!(
                "Based on the predictors of the graph alone ({count}), each called once for an example; this graph \
                 version has no runs yet, so tokens and cost are unknown."
            ),
        }
    }
}

/// A large number without false precision.
fn whole(number: f64) -> String {
    // Saturates, and a forecast is never negative.
    count(number.round() as i64)
}

/// A document of the engine as JSON.
pub(crate) fn json_of(payload: &Payload) -> Value {
    serde_json::from_str(&payload.to_json()).unwrap_or_default()
}
