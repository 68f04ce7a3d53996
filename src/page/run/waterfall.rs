//! The spans of a run as rows with a bar each, nested as they contain each other. Long runs are folded, and the spans of
//! a node come in portions. Knows spans; what one shows when it is opened is `span`.

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use uuid::Uuid;

use crate::page::form::encoded;
use crate::page::parts::time::duration;
use crate::page::run::span::details;
use crate::page::run::trace::{TraceSpan, TraceTree};

/// How many spans within one span are shown at once.
const PORTION: usize = 100;

/// A run with more spans is folded below its nodes.
const MOST_OPEN: usize = 60;

/// The width of the bars' picture.
const WIDTH: f64 = 1000.0;

/// The waterfall of a run.
pub(super) struct Waterfall<'t> {
    pub(super) run: Uuid,
    pub(super) tree: &'t TraceTree,
    start: DateTime<Utc>,
    length_ms: f64,
    /// The span whose next portion is shown, and its first child.
    portion: Option<(u32, usize)>,
    /// Names of nodes that an output comes from.
    sources: &'t [String],
}

impl<'t> Waterfall<'t> {
    /// Of a run.
    pub(super) fn new(
        run: Uuid,
        tree: &'t TraceTree,
        portion: Option<(u32, usize)>,
        sources: &'t [String],
    ) -> Self {
        let start = tree.spans.iter().map(|span| span.started_at).min().unwrap_or_default();
        let end = tree.spans.iter().map(|span| span.ended_ms(start)).max().unwrap_or(0).max(1);
        // Lossless: durations of runs are far below 2^52 ms.
        Self { run, tree, start, length_ms: end as f64, portion, sources }
    }

    /// All of it.
    pub(super) fn show(&self) -> Markup {
        html! {
            div.waterfall {
                p.scale aria-hidden="true" { span { "0" } span { (duration(self.length_ms / 2.0)) } span { (duration(self.length_ms)) } }
                @for at in &self.tree.roots { @if let Some(span) = self.tree.spans.get(*at) { (self.row(span, 0)) } }
            }
        }
    }

    fn row(&self, span: &TraceSpan, depth: usize) -> Markup {
        let children = self.tree.children(span);
        let is_open =
            !children.is_empty() && (self.tree.spans.len() <= MOST_OPEN || self.is_asked(span));
        let is_source = self.sources.contains(&span.node);
        html! {
            details.span.source[is_source] id={ "span-" (span.id) } data-node=(span.node) open[is_open && depth < 12] {
                summary {
                    span.name {
                        span.kind data-kind=(span.kind) { (span.kind) }
                        span.cut title=(span.name) { (span.name) @if let Some(attempt) = span.attempt.filter(|attempt| *attempt > 1 || span.kind == "element") { " " span.muted { "#" (attempt) } } }
                        @if span.status != "succeeded" { span.failed-word { (span.status) } }
                        @if span.cached == Some(true) { span.muted.small { "cached" } }
                    }
                    (self.bar(span))
                    // Lossless: see above.
                    span.number { (span.duration_ms.map_or_else(|| "…".to_owned(), |ms| duration(ms as f64))) }
                }
                div.inside {
                    (details(span))
                    (self.children(span, children, depth))
                }
            }
        }
    }

    /// Whether the address asks for a portion within a span.
    fn is_asked(&self, span: &TraceSpan) -> bool {
        self.portion.is_some_and(|(asked, _)| asked == span.id)
    }

    fn children(&self, span: &TraceSpan, children: &[usize], depth: usize) -> Markup {
        let first = self
            .portion
            .filter(|(asked, _)| *asked == span.id)
            .map_or(0, |(_, first)| first)
            .min(children.len());
        let shown = children.iter().skip(first).take(PORTION);
        let rest = children.len().saturating_sub(first + PORTION);
        let link = |first: usize| {
            format!("/runs/{}?span={}&first={first}#span-{}", self.run, span.id, span.id)
        };
        html! {
            @if first > 0 { p.portion { a href=(link(first.saturating_sub(PORTION))) { "The " (PORTION.min(first)) " before" } } }
            @for at in shown { @if let Some(child) = self.tree.spans.get(*at) { (self.row(child, depth + 1)) } }
            @if rest > 0 { p.portion { a href=(link(first + PORTION)) { "The next of " (rest) " more" } } }
        }
    }

    /// The time of a span within the run, with the time that it waited before it was sent.
    fn bar(&self, span: &TraceSpan) -> Markup {
        // Lossless: see above.
        let x = WIDTH * span.started_ms(self.start) as f64 / self.length_ms;
        let width = (WIDTH * span.duration_ms.unwrap_or(0) as f64 / self.length_ms).max(2.0);
        let queued =
            span.queued_ms.map_or(0.0, |ms| (WIDTH * ms as f64 / self.length_ms).min(width));
        let waited = span
            .queued_ms
            .map(|ms| format!(", {} of it waiting", duration(ms as f64)))
            .unwrap_or_default();
        let label =
            format!("starts after {}{waited}", duration(span.started_ms(self.start) as f64));
        html! {
            svg.bar viewBox={ "0 0 " (WIDTH) " 12" } preserveAspectRatio="none" role="img" aria-label=(label) data-status=(span.status) {
                title { (label) }
                rect.track x="0" y="5.5" width=(WIDTH) height="1" {}
                rect.time x=(px(x)) y="2" width=(px(width)) height="8" {}
                @if queued > 0.0 { rect.queued x=(px(x)) y="2" width=(px(queued)) height="8" {} }
            }
        }
    }
}

fn px(number: f64) -> String {
    format!("{number:.1}")
}

/// A link to the view of a node.
pub(super) fn node_link(graph: &str, node: &str) -> String {
    format!("/graphs/{}?node={}", encoded(graph), encoded(node))
}
