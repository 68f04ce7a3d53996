//! Webhooks: the list, one with the log of its messages, and the form that creates and changes one. A secret is shown
//! once, in the answer to the form that created its webhook.

pub(super) mod change;
mod form;
pub(super) mod list;
mod members;
pub(super) mod messages;
pub(super) mod save;
pub(super) mod view;

use maud::{Markup, html};

use crate::parts::badge::{Tone, badge};
use dsrs_store::webhook::WebhookRow;

/// Whether a webhook sends messages, in a word.
fn state(row: &WebhookRow) -> Markup {
    let (tone, word) = match (row.settings.enabled, row.failing_since) {
        (true, None) => (Tone::Good, "active"),
        (true, Some(_)) => (Tone::Warn, "failing"),
        (false, _) if row.disabled_because.is_some() => (Tone::Bad, "disabled"),
        (false, _) => (Tone::Plain, "paused"),
    };
    badge(tone, word)
}

/// The events of a webhook, and the graph that they are limited to.
fn events(row: &WebhookRow) -> Markup {
    html! {
        span {
            @for event in &row.settings.events { span.badge { (event) } " " }
            @if let Some(graph) = &row.settings.graph_name { span.small.muted { "of " (graph) } }
        }
    }
}
