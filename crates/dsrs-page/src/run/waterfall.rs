//! The spans of a run as rows with a bar each, nested as they contain each other. In long runs a span is written when it
//! is opened, and the spans within it come in portions. Knows spans; what one shows when it is opened is `span`.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use maud::{Markup, html};
use uuid::Uuid;

use crate::form::encoded;
use crate::parts::time::duration;
use crate::run::span::details;
use crate::run::trace::{TraceSpan, TraceTree};

/// How many spans within one span are shown at once.
const PORTION: usize = 100;

/// A run with more spans shows only the rows of closed spans; what is within one is written when it is opened.
const MOST_OPEN: usize = 60;

/// Spans deeper than this are closed.
const MOST_DEPTH: usize = 12;

/// The width of the bars' picture.
const WIDTH: f64 = 1000.0;

/// The waterfall of a run.
pub(super) struct Waterfall<'t> {
    pub(super) run: Uuid,
    pub(super) tree: &'t TraceTree<'t>,
    start: DateTime<Utc>,
    length_ms: f64,
    /// The spans that the address opens, and the first span to show within each.
    opened: HashMap<u32, usize>,
    /// Names of nodes that an output comes from.
    sources: &'t [String],
}

impl<'t> Waterfall<'t> {
    /// Of a run. The address may open a span, with all spans around it, from one of the spans within it.
    pub(super) fn new(
        run: Uuid,
        tree: &'t TraceTree<'t>,
        portion: Option<(u32, usize)>,
        sources: &'t [String],
    ) -> Self {
        let start = tree.spans.iter().map(|span| span.started_at).min().unwrap_or_default();
        let end = tree.spans.iter().map(|span| span.ended_ms(start)).max().unwrap_or(0).max(1);
        // Lossless: durations of runs are far below 2^52 ms.
        Self { run, tree, start, length_ms: end as f64, opened: opened(tree, portion), sources }
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

    fn row(&self, span: &TraceSpan<'_>, depth: usize) -> Markup {
        let children = self.tree.children(span);
        let is_short = self.tree.spans.len() <= MOST_OPEN;
        let is_asked = self.opened.contains_key(&span.id);
        let is_open = is_asked || (is_short && !children.is_empty() && depth < MOST_DEPTH);
        html! {
            details.span.source[self.sources.iter().any(|source| *source == span.node)] id={ "span-" (span.id) } data-node=(span.node) open[is_open] {
                summary {
                    span.name {
                        span.kind data-kind=(span.kind) { (span.kind) }
                        span.cut title=(span.name) { (span.name) @if let Some(attempt) = span.attempt.filter(|attempt| *attempt > 1 || ["element", "round"].contains(&&*span.kind)) { " " span.muted { "#" (attempt) } } }
                        @if span.status != "succeeded" { span.failed-word { (span.status) } }
                        @if span.cached == Some(true) { span.muted.small { "cached" } }
                    }
                    (self.bar(span))
                    // Lossless: see above.
                    span.number { (span.duration_ms.map_or_else(|| "…".to_owned(), |ms| duration(ms as f64))) }
                }
                div.inside {
                    @if is_short || is_asked {
                        (details(span))
                        (self.children(span, children, depth))
                    } @else {
                        p.portion { a data-load href=(self.link(span, 0)) { "Open this span" } }
                    }
                }
            }
        }
    }

    /// The address that opens a span, from one of the spans within it.
    fn link(&self, span: &TraceSpan<'_>, first: usize) -> String {
        format!("/runs/{}?span={}&first={first}#span-{}", self.run, span.id, span.id)
    }

    fn children(&self, span: &TraceSpan<'_>, children: &[usize], depth: usize) -> Markup {
        let first = self.opened.get(&span.id).copied().unwrap_or(0).min(children.len());
        let shown = children.iter().skip(first).take(PORTION);
        let rest = children.len().saturating_sub(first + PORTION);
        html! {
            @if first > 0 { p.portion { a href=(self.link(span, first.saturating_sub(PORTION))) { "The " (PORTION.min(first)) " before" } } }
            @for at in shown { @if let Some(child) = self.tree.spans.get(*at) { (self.row(child, depth + 1)) } }
            @if rest > 0 { p.portion { a href=(self.link(span, first + PORTION)) { "The next of " (rest) " more" } } }
        }
    }

    /// The time of a span within the run, with the time that it waited before it was sent.
    fn bar(&self, span: &TraceSpan<'_>) -> Markup {
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

/// The asked span and all spans around it, each with the portion in which the next one is.
fn opened(tree: &TraceTree<'_>, portion: Option<(u32, usize)>) -> HashMap<u32, usize> {
    let mut opened = HashMap::new();
    let Some((asked, first)) = portion else { return opened };
    opened.insert(asked, first);
    let mut inner = tree.span(asked);
    while let Some((at, parent)) =
        inner.and_then(|(at, span)| Some((at, tree.span(span.parent_id?)?)))
    {
        let place = tree.children(parent.1).iter().position(|child| *child == at).unwrap_or(0);
        if opened.insert(parent.1.id, place / PORTION * PORTION).is_some() {
            break;
        }
        inner = Some(parent);
    }
    opened
}

fn px(number: f64) -> String {
    format!("{number:.1}")
}

/// A link to the view of a node.
pub(super) fn node_link(graph: &str, node: &str) -> String {
    format!("/graphs/{}?node={}", encoded(graph), encoded(node))
}
