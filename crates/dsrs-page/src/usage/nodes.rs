//! The nodes of one graph: what each took, cost and failed.

use maud::{Markup, html};

use crate::parts::figure::{cost, count};
use crate::parts::time::duration;
use dsrs_app::{GraphProfile, NodeProfile};

/// The nodes, the one that took the most time first.
pub(super) fn nodes(profile: &GraphProfile) -> Markup {
    let mut rows: Vec<(&String, &NodeProfile)> = profile.nodes.iter().collect();
    rows.sort_by_key(|(_, node)| std::cmp::Reverse(node.durations.iter().sum::<u64>()));
    html! {
        section.panel {
            header {
                h2 { "Nodes" }
                span.small.muted { "newest " (profile.runs) " runs" @if profile.is_sample { ", there are others" } }
            }
            table.stack {
                thead { tr { th { "Node" } th { "p50" } th { "p95" } th { "p99" } th.number { "Failed" } th.number { "Repairs" }
                    th.number { "From cache" } th.number { "Tokens" } th.number { "Cost" } } }
                tbody { @for (name, node) in rows { (line(name, node)) } }
            }
        }
    }
}

fn line(name: &str, node: &NodeProfile) -> Markup {
    let time = |share: f64| node.percentile(share).map(|ms| duration(ms as f64));
    let number = |number: u64| count(i64::try_from(number).unwrap_or(i64::MAX));
    html! {
        tr {
            td.name { (name) }
            @for (label, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
                td data-label=(label) { (time(share).unwrap_or_else(|| "–".to_owned())) }
            }
            td.number data-label="Failed" { (number(node.failed)) }
            td.number data-label="Repairs" { (number(node.repairs)) }
            td.number data-label="From cache" { (number(node.cached_replies)) }
            td.number data-label="Tokens" { (number(node.input_tokens + node.output_tokens)) }
            td.number data-label="Cost" { (node.cost.map_or_else(|| "–".to_owned(), cost)) }
        }
    }
}
