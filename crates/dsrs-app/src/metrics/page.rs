//! The table of all metrics for the page about them. Knows no page.

use std::fmt::Write as _;

use super::catalogue::ALL_METRICS;

/// The table, as Markdown.
#[must_use]
pub fn metrics_markdown() -> String {
    let mut table = "\n| Metric | Type | Meaning |\n|---|---|---|\n".to_owned();
    for metric in ALL_METRICS {
        let labels = match metric.labels {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(", ")),
        };
        let (name, kind, help) = (metric.name, metric.kind.as_str(), metric.help);
        // Writing to a text does not fail.
        let _ = writeln!(table, "| `{name}{labels}` | {kind} | {help} |");
    }
    table.push('\n');
    table
}
