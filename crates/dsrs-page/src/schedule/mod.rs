//! Schedules: the list, one with the log of its firings, and the form that creates and changes one.

pub(super) mod change;
mod form;
pub(super) mod list;
mod members;
mod request;
pub(super) mod save;
pub(super) mod view;
mod work_fields;

use chrono::{DateTime, Utc};
use maud::{Markup, html};

use crate::parts::badge::{Tone, badge};
use crate::parts::time::{ago, ahead};
use dsrs_store::schedule::ScheduleRow;
use dsrs_store::schedule_firing::FiringRow;

/// Whether a schedule starts anything, in a word; on hover why not.
fn state(row: &ScheduleRow) -> Markup {
    let (tone, word, reason) = match (row.settings.enabled, row.disabled_because.as_deref()) {
        (true, _) => (Tone::Good, "active", ""),
        (false, Some("key")) => (Tone::Bad, "disabled", "its key was revoked or has expired"),
        (false, Some(_)) => (Tone::Bad, "disabled", "no time fits any more"),
        (false, None) => (Tone::Plain, "paused", ""),
    };
    html! { span title=[(!reason.is_empty()).then_some(reason)] { (badge(tone, word)) } }
}

fn firing_status(word: &str) -> Markup {
    let tone = match word {
        "succeeded" => Tone::Good,
        "failed" => Tone::Bad,
        "missed" => Tone::Warn,
        "skipped" => Tone::Plain,
        _ => Tone::Info,
    };
    badge(tone, word)
}

/// What a firing has started, as a link where it has a view.
fn work(row: &FiringRow) -> Markup {
    let target = row.target.as_deref().unwrap_or("work");
    html! {
        @match row.work_id {
            None => span.muted { "nothing" },
            Some(id) => @match target {
                "run" => a.inline href={ "/runs/" (id) } { "run" },
                "evaluation" => a.inline href={ "/evaluations/" (id) } { "evaluation" },
                "optimization" => a.inline href={ "/optimizations/" (id) } { "optimization" },
                _ => span { (target) " " code.small { (id) } },
            }
        }
    }
}

/// A time of the schedule: how far away it is, and the time.
fn next_time(at: DateTime<Utc>) -> Markup {
    html! { (ahead(at)) " " span.small.muted { (at.format("%Y-%m-%d %H:%M UTC")) } }
}

/// When a firing ended, or was written.
fn ended(row: &FiringRow) -> Markup {
    ago(row.finished_at.unwrap_or(row.created_at))
}
