//! `/schedules`: all schedules, each with its next time and what its last one has started.

use std::collections::HashMap;

use axum::response::Response;
use maud::{Markup, html};
use uuid::Uuid;

use crate::form::encoded;
use crate::parts::empty::empty;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::schedule::{ended, firing_status, next_time, state, work};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::ScheduleWithTimes;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::schedule_firing::FiringRow;

/// `GET /schedules`.
pub(crate) async fn schedules(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("schedules", query)?;
    let listed = visitor.app.schedule_list(&visitor.scope, page.newest()?).await?;
    let ids: Vec<Uuid> = listed.items.iter().map(|schedule| schedule.row.id).collect();
    let newest = visitor.app.firings_newest(&visitor.scope, &ids).await?;
    let newest: HashMap<Uuid, FiringRow> =
        newest.into_iter().map(|firing| (firing.schedule_id, firing)).collect();
    let (is_first, next) = (page.after.is_none(), page.next_of(&listed));
    let actions = html! {
        @if visitor.may(KeyScope::Execute) { a.button.primary href="/schedules/new" { "New schedule" } }
    };
    let body = html! {
        (head(&[], &html! { "Schedules" }, &actions))
        @if listed.items.is_empty() && is_first { (nothing()) }
        @else {
            (table(&listed.items, &newest))
            (pager("/schedules", is_first, next.as_deref()))
        }
        (SameRequest::get("/v1/schedules").show())
    };
    let view = View::new("Schedules", PageSection::Schedules).styles(&["quality.css"]);
    Ok(visitor.show(&view, body))
}

fn nothing() -> Markup {
    empty(
        "No schedules yet",
        &html! {
            p.muted { "A schedule starts a run, a batch, an evaluation or an optimization at times of a calendar, once over all servers." }
        },
    )
}

fn table(schedules: &[ScheduleWithTimes], newest: &HashMap<Uuid, FiringRow>) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Schedule" } th { "State" } th { "Starts" } th { "Next" } th { "Last" } th { "Overlap" } th { "Catch-up" } } }
            tbody { @for schedule in schedules { (line(schedule, newest.get(&schedule.row.id))) } }
        }
    }
}

fn line(schedule: &ScheduleWithTimes, last: Option<&FiringRow>) -> Markup {
    let settings = &schedule.row.settings;
    html! {
        tr {
            td.name {
                a href={ "/schedules/" (schedule.row.id) } { (settings.name) }
                div.small.muted { code { (settings.cron) } " " (settings.time_zone) }
            }
            td data-label="State" { (state(&schedule.row)) }
            td data-label="Starts" {
                span {
                    a.inline href={ "/graphs/" (encoded(&settings.graph_name)) } { (settings.graph_name) } " "
                    span.small.muted { (settings.target) }
                }
            }
            td data-label="Next" { @match schedule.next.first() { Some(at) => span { (next_time(*at)) }, None => "–" } }
            td data-label="Last" {
                @match last {
                    Some(firing) => span { (firing_status(&firing.status)) " " (work(firing)) " " span.small.muted { (ended(firing)) } },
                    None => "–",
                }
            }
            td data-label="Overlap" { (settings.overlap) }
            td data-label="Catch-up" { (settings.catch_up) }
        }
    }
}
