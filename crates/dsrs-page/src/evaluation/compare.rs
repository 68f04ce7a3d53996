//! `/evaluations/compare`: two evaluations example by example, what got worse first, and the interval of the gain.

use std::collections::HashMap;

use axum::response::Response;
use dsrs::optimize::Comparison;
use maud::{Markup, html};
use serde_json::Map;
use uuid::Uuid;

use crate::evaluation::results::{ExamplesByPosition, expected_of, feedback, got};
use crate::evaluation::view::summary_line;
use crate::parts::badge::{Tone, badge};
use crate::parts::chart::interval;
use crate::parts::figure::score;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::values::{members, values};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::ScoreComparison;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::evaluation::{EvaluationResultRow, ScorePairRow};

/// The fewest examples whose interval can exclude chance.
const FEWEST: usize = 6;

/// The results of one side, by example.
type Side = HashMap<String, EvaluationResultRow>;

/// `GET /evaluations/compare`.
pub(crate) async fn compare(visitor: Visitor, mut query: Query) -> Result<Response, ApiProblem> {
    let Visitor { app, scope, .. } = &visitor;
    let id = |text: &str| Uuid::try_parse(text).ok();
    let before = query.required("a", "the id of an evaluation", id).unwrap_or_default();
    let after = query.required("b", "the id of an evaluation", id).unwrap_or_default();
    let page = PageRequest::of(format!("compared {before} {after}"), query)?;
    let comparison = app.evaluation_compare(scope, after, before).await?;
    let from = page.numbered::<usize>()?.after.unwrap_or(0);
    let rest = comparison.pairs.get(from..).unwrap_or_default();
    let pairs = rest.get(..page.limit as usize).unwrap_or(rest);
    let next = page.next((pairs.len() < rest.len()).then_some(from + pairs.len()));
    let ids: Vec<String> = pairs.iter().map(|pair| pair.example_id.clone()).collect();
    let (old, new) = (side(&visitor, before, &ids).await?, side(&visitor, after, &ids).await?);
    let rows: Vec<EvaluationResultRow> = new.values().cloned().collect();
    let examples = expected_of(&visitor, &comparison.after.dataset, &rows).await?;
    let path = format!("/evaluations/compare?a={before}&b={after}");
    let up = [("/evaluations".to_owned(), "Evaluations")];
    let swap =
        html! { a.button href={ "/evaluations/compare?a=" (after) "&b=" (before) } { "Swap" } };
    let body = html! {
        (head(&up, &html! { "Comparison" }, &swap))
        (sides(&comparison))
        (gain(&comparison.sum))
        (table(pairs, &old, &new, &examples))
        (pager(&path, page.after.is_none(), next.as_deref()))
        (SameRequest::get(&format!("/v1/evaluations/{after}/comparison?against={before}")).show())
    };
    let view =
        View::new("Comparison", PageSection::Evaluations).styles(&["quality.css", "chart.css"]);
    Ok(visitor.show(&view, body))
}

async fn side(visitor: &Visitor, id: Uuid, ids: &[String]) -> Result<Side, ApiProblem> {
    let rows = visitor.app.evaluation_results_of(&visitor.scope, id, ids).await?;
    Ok(rows.into_iter().map(|row| (row.example_id.clone(), row)).collect())
}

fn sides(found: &ScoreComparison) -> Markup {
    html! {
        dl.facts {
            @for (name, row) in [("A, before", &found.before), ("B, after", &found.after)] {
                dt { (name) }
                dd { a href={ "/evaluations/" (row.id) } { (row.graph_name) " " (summary_line(row)) } }
            }
        }
    }
}

fn gain(sum: &Comparison) -> Markup {
    let Comparison { n, gain, low, high, wins, ties, losses, .. } = *sum;
    let words =
        format!("mean gain {gain:+.3}, 95 % interval from {low:+.3} to {high:+.3}, {n} examples");
    let (tone, verdict) = match () {
        () if n < FEWEST => (Tone::Plain, "too few examples to exclude chance"),
        () if low > 0.0 => (Tone::Good, "B is better: the interval excludes zero"),
        () if high < 0.0 => (Tone::Bad, "B is worse: the interval excludes zero"),
        () => (Tone::Plain, "no certain difference: the interval includes zero"),
    };
    let most = low.abs().max(high.abs()).clamp(0.05, 1.0) * 1.15;
    html! {
        section.panel {
            header { h2 { "Gain" } span.big { (format!("{gain:+.3}")) } (badge(tone, verdict)) }
            div.body {
                (interval((-most, most), (low, gain, high), Some(0.0), &words))
                p.figures {
                    span { "A " b { (score(sum.mean_before)) } } span { "B " b { (score(sum.mean_after)) } }
                    span { b { (losses) } " worse" } span { b { (ties) } " equal" } span { b { (wins) } " better" }
                    span { "interval " b { (format!("{low:+.3}")) } " to " b { (format!("{high:+.3}")) } " of " b { (n) } " examples" }
                }
            }
        }
    }
}

fn table(pairs: &[ScorePairRow], old: &Side, new: &Side, examples: &ExamplesByPosition) -> Markup {
    html! {
        table.stack.examples.gains {
            thead { tr { th.number { "Gain" } th.number { "A" } th.number { "B" } th { "Inputs" } th { "Expected" } th { "A got" } th { "B got" } } }
            tbody { @for pair in pairs { (line(pair, old.get(&pair.example_id), new.get(&pair.example_id), examples)) } }
        }
    }
}

fn line(
    pair: &ScorePairRow,
    old: Option<&EvaluationResultRow>,
    new: Option<&EvaluationResultRow>,
    examples: &ExamplesByPosition,
) -> Markup {
    let example = new.and_then(|row| examples.get(&row.position));
    let (inputs, expected) = example.map_or_else(
        || (Map::new(), Map::new()),
        |row| (members(&row.inputs), members(&row.expected)),
    );
    let gain = pair.after - pair.before;
    let tone = if gain < 0.0 {
        Tone::Bad
    } else if gain > 0.0 {
        Tone::Good
    } else {
        Tone::Plain
    };
    html! {
        tr title=(pair.example_id) {
            td.number data-label="Gain" { (badge(tone, &format!("{gain:+.3}"))) }
            td.number data-label="A" { (score(pair.before)) }
            td.number data-label="B" { (score(pair.after)) }
            td data-label="Inputs" { (values(&inputs)) }
            td data-label="Expected" { (values(&expected)) }
            @for (label, row) in [("A got", old), ("B got", new)] {
                td data-label=(label) { @if let Some(row) = row { div { (got(row, &expected)) @if row.error.is_some() { (feedback(row)) } } } }
            }
        }
    }
}
