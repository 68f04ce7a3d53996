//! The log of the messages of a webhook: what each reports, its attempts, and a button that sends it again.

use maud::{Markup, html};
use serde_json::Value;

use crate::parts::badge::status;
use crate::parts::json::json;
use crate::parts::time::{ago, ahead, duration};
use crate::parts::values::plain;
use dsrs_store::webhook_delivery::DeliveryRow;

/// The messages, as a table.
pub(super) fn messages(rows: &[DeliveryRow]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Event" } th { "Status" } th.number { "Attempts" } th { "Newest attempt" } th { "When" } th { span.sr { "Actions" } } } }
            tbody { @for row in rows { (line(row)) } }
        }
    }
}

fn line(row: &DeliveryRow) -> Markup {
    let attempts: Vec<Value> =
        row.log.iter().filter_map(|entry| serde_json::from_str(entry).ok()).collect();
    html! {
        tr {
            td data-label="Event" {
                div {
                    code { (row.event) }
                    @if row.replays > 0 { " " span.badge { "sent again " (row.replays) "×" } }
                    details.small {
                        summary { "Message" }
                        pre.json tabindex="0" { (json(&row.data)) }
                        @if !attempts.is_empty() { ol { @for entry in attempts.iter().rev() { li { (attempt(entry)) } } } }
                    }
                }
            }
            td data-label="Status" { (status(&row.status)) }
            td.number data-label="Attempts" { (row.attempts) }
            td data-label="Newest attempt" {
                div {
                    @match attempts.last() { Some(entry) => (attempt(entry)), None => span.muted { "none yet" } }
                    @if let Some(at) = row.next_attempt_at { div.small.muted { "next attempt " (ahead(at)) } }
                }
            }
            td data-label="When" { (ago(row.created_at)) }
            td {
                form action={ "/webhooks/" (row.webhook_id) "/messages/" (row.id) "/replay" } method="post" {
                    button.quiet type="submit" aria-label={ "Send the message " (row.id) " again" } { "Send again" }
                }
            }
        }
    }
}

/// An attempt in one line.
fn attempt(entry: &Value) -> Markup {
    let took = entry["duration_ms"].as_f64().map(duration).unwrap_or_default();
    html! {
        span {
            @if entry["status_code"].is_number() { b { (plain(&entry["status_code"])) } " " }
            @if entry["error"].is_string() { span.reason { (plain(&entry["error"])) } " " }
            span.small.muted { "in " (took) }
            @if entry["response"].is_string() { div.small.muted { (plain(&entry["response"])) } }
        }
    }
}
