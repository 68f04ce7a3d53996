//! The charts of an optimization: the best score over the calls spent, and the candidates as score against cost.

use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use crate::optimization::outline::{CandidateOutline, best, front, has_prices};
use crate::parts::chart::{Axes, Point, points, share_bar};
use crate::parts::figure::{cost, count, score};
use dsrs_store::optimization::OptimizationRow;

/// The score of each candidate over the calls of all trials until then, with a line for the best so far.
pub(super) fn curve(id: Uuid, all: &[CandidateOutline]) -> Markup {
    let (mut calls, mut best_so_far) = (0.0, f64::MIN);
    let (mut found, mut line) = (Vec::new(), Vec::new());
    let best = best(all);
    for one in all {
        calls += one.lm_calls;
        let Some(full) = one.full else { continue };
        best_so_far = f64::max(best_so_far, full.score);
        line.push((calls, best_so_far));
        found.push(Point {
            x: calls,
            y: full.score,
            label: format!(
                "candidate {}: score {} after {calls:.0} calls",
                one.number,
                score(full.score)
            ),
            href: address(id, one.number),
            is_marked: best == Some(one.number),
        });
    }
    let axes = Axes {
        title: "Score over calls",
        about: "Each point is a candidate that was tried on all examples; the line is the best score so far.",
        x: "calls of all trials",
        y: "score",
        show_x: |x| count(x.round() as i64),
    };
    html! { (points(axes, &found, &line)) }
}

/// Candidates by what an example costs and what it scores. Those that no other beats are marked.
pub(super) fn scatter(id: Uuid, all: &[CandidateOutline]) -> Markup {
    let in_money = has_prices(all);
    let front = front(all, in_money);
    let point = |one: &CandidateOutline| {
        let (full, x) = (one.full?, one.expense(in_money)?);
        let spent = if in_money { cost(x) } else { format!("{x:.0} tokens") };
        Some(Point {
            x,
            y: full.score,
            label: format!(
                "candidate {}: score {}, {spent} for an example",
                one.number,
                score(full.score)
            ),
            href: address(id, one.number),
            is_marked: front.contains(&one.number),
        })
    };
    let found: Vec<Point> = all.iter().filter_map(point).collect();
    let axes = Axes {
        title: "Score against cost",
        about: "Each point is a candidate; filled points are the Pareto front: no other is better in one and as good in the other.",
        x: if in_money { "cost of an example" } else { "tokens of an example" },
        y: "score",
        show_x: if in_money { cost } else { |x| count(x.round() as i64) },
    };
    html! {
        (points(axes, &found, &[]))
        p.legend { span { span.dot.on {} "Pareto front" } span { span.dot {} "other candidates" } }
    }
}

fn address(id: Uuid, number: i32) -> String {
    format!("/optimizations/{id}/candidates/{number}")
}

/// What the optimization has spent of each limit.
pub(super) fn budget(row: &OptimizationRow, request: &Value) -> Markup {
    let limits = &request["budget"];
    let spent = &row.spent;
    // Lossless: counts of calls and tokens are far below 2^52.
    let tokens = (spent.input_tokens + spent.output_tokens) as f64;
    let plain = |number: f64| count(number.round() as i64);
    let seconds = |number: f64| format!("{number:.0} s");
    html! {
        div.budget {
            (of_limit("Calls", Some(spent.lm_calls as f64), limits["lm_calls"].as_f64(), &plain))
            (of_limit("Tokens", Some(tokens), limits["tokens"].as_f64(), &plain))
            (of_limit("Cost", spent.cost, limits["cost"].as_f64(), &cost))
            (of_limit("Time", Some(row.seconds), limits["seconds"].as_f64(), &seconds))
        }
    }
}

fn of_limit(
    name: &str,
    spent: Option<f64>,
    limit: Option<f64>,
    show: &dyn Fn(f64) -> String,
) -> Markup {
    let shown = spent.map_or_else(|| "unknown".to_owned(), show);
    html! {
        span.muted { (name) }
        @match (spent, limit) {
            (Some(spent), Some(limit)) => (share_bar(spent, limit, &format!("{name}: {shown} of {}", show(limit)))),
            _ => span.small.muted { "no limit" },
        }
        span.number { b { (shown) } @if let Some(limit) = limit { " of " (show(limit)) } }
    }
}
