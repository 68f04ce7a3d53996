//! `/schedules/{id}`: its settings, its next times, its request, and the log of its firings.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};

use crate::evaluation::id_of;
use crate::evaluation::view::failure;
use crate::form::encoded;
use crate::parts::head::head;
use crate::parts::json::json;
use crate::parts::life::LifeButtons;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::schedule::{ended, firing_status, next_time, state, work};
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs_app::ScheduleWithTimes;
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::schedule_firing::FiringRow;

/// `GET /schedules/{id}`.
pub(crate) async fn schedule(
    visitor: Visitor,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let page = PageRequest::of(format!("firings of {id}"), query)?;
    let schedule = visitor.app.schedule_get(&visitor.scope, id).await?;
    let listed = visitor.app.firing_list(&visitor.scope, id, page.newest()?).await?;
    let (is_first, next) = (page.after.is_none(), page.next_of(&listed));
    let body = html! {
        (title(&visitor, &schedule))
        (panels(&schedule))
        section.fields #firings aria-label="Firings" {
            h2 { "Firings" }
            @if listed.items.is_empty() { p.muted { "It has not fired in the last 30 days." } }
            @else { (firings(&listed.items)) }
            (pager(&format!("/schedules/{id}"), is_first, next.as_deref()))
        }
        (SameRequest::get(&format!("/v1/schedules/{id}/firings")).show())
    };
    let name = schedule.row.settings.name.as_str();
    let view = View::new(name, PageSection::Schedules).styles(&["quality.css", "run.css"]);
    Ok(visitor.show(&view, body))
}

fn title(visitor: &Visitor, schedule: &ScheduleWithTimes) -> Markup {
    let path = format!("/schedules/{}", schedule.row.id);
    let settings = &schedule.row.settings;
    let buttons = LifeButtons {
        path: &path,
        is_enabled: settings.enabled,
        delete: "Delete",
        question: "Delete this schedule? Work that it has started continues.",
    };
    let actions = html! {
        @if visitor.may(KeyScope::Execute) {
            form action={ (path) "/fire" } method="post" { button.primary type="submit" { "Run now" } }
            a.button href={ (path) "/edit" } { "Change" }
            (buttons.show())
        }
    };
    let name =
        html! { span.cut title=(settings.name) { (settings.name) } " " (state(&schedule.row)) };
    head(&[("/schedules".to_owned(), "Schedules")], &name, &actions)
}

fn panels(schedule: &ScheduleWithTimes) -> Markup {
    let row = &schedule.row;
    let settings = &row.settings;
    html! {
        div.panels {
            section.panel {
                header { h2 { "Times" } }
                div.body {
                    dl.facts {
                        @if !settings.description.is_empty() { dt { "About" } dd { (settings.description) } }
                        dt { "Expression" } dd { code { (settings.cron) } " in " (settings.time_zone) }
                        dt { "Next" } dd {
                            @if schedule.next.is_empty() { "none" }
                            ul { @for at in &schedule.next { li { (next_time(*at)) } } }
                        }
                        dt { "Overlap" } dd { (settings.overlap) }
                        dt { "Catch-up" } dd { (settings.catch_up) }
                        @match row.disabled_because.as_deref() {
                            Some("key") => { dt { "Disabled" } dd { "The key of " b { (row.runs_as) } " was revoked or has expired. Who resumes the schedule starts its work from then on." } }
                            Some(_) => { dt { "Disabled" } dd { "No time within nine years fits." } }
                            None => {}
                        }
                        dt { "Runs as" } dd { (row.runs_as) }
                        dt { "Changed" } dd { (ago(row.updated_at)) }
                    }
                }
            }
            section.panel {
                header { h2 { "Starts" } }
                div.body {
                    p { b { (settings.target) } " of " a href={ "/graphs/" (encoded(&settings.graph_name)) } { (settings.graph_name) } " with" }
                    pre.json tabindex="0" aria-label="Request" { (json(&settings.request)) }
                }
            }
        }
    }
}

fn firings(rows: &[FiringRow]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Time" } th { "Status" } th { "Started" } th { "Left out" } th.number { "Attempts" } th { "Fired" } } }
            tbody { @for row in rows { (line(row)) } }
        }
    }
}

fn line(row: &FiringRow) -> Markup {
    html! {
        tr {
            td data-label="Time" {
                span { (row.scheduled_at.format("%Y-%m-%d %H:%M:%S UTC")) @if row.by_hand { " " span.badge { "by hand" } } }
            }
            td data-label="Status" { (firing_status(&row.status)) }
            td data-label="Started" {
                div { (work(row)) @if let Some(error) = &row.error { (failure(error)) } }
            }
            td data-label="Left out" {
                @match row.missed { 0 => span.muted { "–" }, 1 => "1 earlier time", many => { (many) " earlier times" } }
            }
            td.number data-label="Attempts" { (row.attempts) }
            td data-label="Fired" { (ended(row)) }
        }
    }
}
