//! The form of a schedule: its name, its times, and the work that it starts. `members` reads it, `save` stores it.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use crate::dataset::upload::refusal;
use crate::dataset::view::graph_names;
use crate::evaluation::start::dataset_names;
use crate::parts::choice::{Names, marked_choice};
use crate::parts::form_aside::FormAside;
use crate::parts::head::head;
use crate::parts::line_field::{LineField, word_field};
use crate::parts::revision::revision_field;
use crate::parts::same_request::SameRequest;
use crate::parts::schema_form::SchemaForm;
use crate::parts::time::ahead;
use crate::schedule::members::{PAUSED, changed_body, new_body};
use crate::schedule::request::{OPENED, StartedWork};
use crate::schedule::work_fields::work_fields;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use dsrs::document::{described_words, longest, word_of};
use dsrs_api::schedule::{CatchUp, Overlap, ScheduleSettings, ScheduleTarget};
use dsrs_app::{times_of, zone_names};
use dsrs_http::ApiProblem;

/// Expressions that a field suggests, each with what it means.
const EXPRESSIONS: [(&str, &str); 7] = [
    ("@hourly", "at the start of each hour"),
    ("*/15 * * * *", "every 15 minutes"),
    ("@daily", "at midnight"),
    ("0 3 * * *", "at 03:00"),
    ("0 3 * * 1-5", "at 03:00, Monday to Friday"),
    ("@weekly", "on Sunday at midnight"),
    ("@monthly", "on the first of each month at midnight"),
];

/// The form of a new schedule, or of one that is stored, with the problem of its last request.
pub(super) async fn show(
    visitor: &Visitor,
    work: &StartedWork,
    id: Option<Uuid>,
    problem: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    let (graphs, datasets) = (graph_names(visitor).await?, dataset_names(visitor).await?);
    let fields = SchemaForm::new(&work.form, problem);
    let (path, preview) = match id {
        None => ("/schedules".to_owned(), "/schedules/new".to_owned()),
        Some(id) => (format!("/schedules/{id}"), format!("/schedules/{id}/edit")),
    };
    let form = html! {
        form.start action=(path) method="post" data-preview=(preview) {
            @if id.is_some() {
                input type="hidden" name=(OPENED) value=(work.form.text(OPENED));
                (revision_field(&work.form))
            }
            div.fields {
                (identity(&fields, id.is_none()))
                (times(&fields))
                (starts(&fields, work, &graphs))
                div.fields data-part="shape" #request { (work_fields(visitor, &fields, work, &datasets)) }
            }
            (aside(visitor, work, id, &preview))
        }
    };
    let (title, crumbs) = heading(work, id);
    let crumbs: Vec<(String, &str)> =
        crumbs.iter().map(|(address, name)| (address.clone(), name.as_str())).collect();
    let body = html! {
        (head(&crumbs, &html! { (title) }, &html! {}))
        @if let Some(problem) = problem { (refusal(problem)) }
        (form)
        (suggestions())
    };
    let view = View::new(title, PageSection::Schedules)
        .styles(&["quality.css", "run.css", "run_form.css"])
        .scripts(&["value_rows.js", "start_form.js"]);
    Ok(visitor.show(&view, body))
}

fn heading(work: &StartedWork, id: Option<Uuid>) -> (&'static str, Vec<(String, String)>) {
    let list = ("/schedules".to_owned(), "Schedules".to_owned());
    let Some(id) = id else { return ("New schedule", vec![list]) };
    let opened: Value = serde_json::from_str(work.form.text(OPENED)).unwrap_or_default();
    let name = opened["name"].as_str().unwrap_or("the schedule").to_owned();
    ("Change a schedule", vec![list, (format!("/schedules/{id}"), name)])
}

fn identity(fields: &SchemaForm<'_>, is_new: bool) -> Markup {
    let name = LineField {
        name: "/name",
        label: "Name",
        hint: "letters, digits, - _ and .",
        longest: longest::<ScheduleSettings>("name"),
        is_required: true,
        ..LineField::default()
    };
    let about = LineField {
        name: "/description",
        label: "Description",
        hint: "for people; may be empty",
        longest: longest::<ScheduleSettings>("description"),
        ..LineField::default()
    };
    html! {
        section.panel {
            header { h2 { "Schedule" } }
            div.body.fields {
                div.pair { (name.show(fields)) (about.show(fields)) }
                @if is_new {
                    label.inline { input type="checkbox" name=(PAUSED) value="true" checked[fields.form.given(PAUSED).is_some()]; "create it paused: it starts nothing until a person resumes it" }
                }
            }
        }
    }
}

fn times(fields: &SchemaForm<'_>) -> Markup {
    let cron = LineField {
        name: "/cron",
        label: "Expression",
        hint: "minute, hour, day of the month, month, day of the week",
        placeholder: "0 3 * * 1-5",
        suggestions: Some("expressions"),
        longest: longest::<ScheduleSettings>("cron"),
        is_required: true,
        ..LineField::default()
    };
    let zone = LineField {
        name: "/time_zone",
        label: "Time zone",
        hint: "a name of the IANA database, with the rules that the server contains",
        placeholder: "UTC",
        suggestions: Some("zones"),
        longest: longest::<ScheduleSettings>("time_zone"),
        ..LineField::default()
    };
    html! {
        section.panel {
            header { h2 { "When" } }
            div.body.fields {
                div.pair { (cron.show(fields)) (zone.show(fields)) }
                div.pair {
                    (word_field(fields, "/overlap", "While earlier work is in progress", &described_words::<Overlap>()))
                    (word_field(fields, "/catch_up", "Times at which no server was running", &described_words::<CatchUp>()))
                }
            }
        }
    }
}

fn starts(fields: &SchemaForm<'_>, work: &StartedWork, graphs: &Names) -> Markup {
    let graph = fields.form.text("/graph");
    let (kind, mark) = (fields.mark("/target"), fields.mark("/graph"));
    html! {
        section.panel {
            header { h2 { "Starts" } }
            div.body.fields {
                div.pair {
                    label { "Kind of work"
                        select name="/target" data-reshapes aria-invalid=[kind.invalid] autofocus[kind.is_first] {
                            @for (target, label) in described_words::<ScheduleTarget>() {
                                option value=(target) selected[target == word_of(&work.target)] { (label.trim_end_matches('.')) }
                            }
                        }
                        (fields.problems("/target"))
                    }
                    label data-reshapes { "Graph"
                        (marked_choice("/graph", graph, graphs, "choose a graph", mark))
                        (fields.problems("/graph"))
                    }
                }
            }
        }
    }
}

/// The next times, the buttons and the request beside the form.
fn aside(visitor: &Visitor, work: &StartedWork, id: Option<Uuid>, preview: &str) -> Markup {
    let (body, method, path) = match id {
        None => (new_body(work), "POST", "/v1/schedules".to_owned()),
        Some(id) => (changed_body(work), "PATCH", format!("/v1/schedules/{id}")),
    };
    let is_unchanged = id.is_some() && body.is_empty();
    let result = html! {
        (next_times(work))
        @if is_unchanged { p.muted { "Nothing is changed yet." } }
        p.small.muted { "From the moment that you save it, it runs as " b { (visitor.scope.actor) } "." }
    };
    let body = Value::Object(body);
    let same = SameRequest { method, path: &path, body: Some(&body) }.show();
    let aside = FormAside {
        id: "times",
        title: "Next times",
        result: &result,
        action: if id.is_some() { "Save" } else { "Create schedule" },
        update: "Update",
        preview,
        same: &same,
    };
    aside.show()
}

fn next_times(work: &StartedWork) -> Markup {
    let (cron, zone) = (work.form.text("/cron").trim(), work.form.text("/time_zone").trim());
    let zone = if zone.is_empty() { "UTC" } else { zone };
    if cron.is_empty() {
        return html! { p.muted { "Write an expression: its next times follow." } };
    }
    match times_of(cron, zone) {
        Ok(times) => html! {
            ol.times { @for time in times { li { span.mono { (time.local) } " " span.small.muted { (ahead(time.at)) } } } }
        },
        Err(problems) => {
            html! { @for problem in problems.iter() { p.refusal { (problem.detail) } } }
        }
    }
}

fn suggestions() -> Markup {
    html! {
        datalist #expressions { @for (expression, meaning) in EXPRESSIONS { option value=(expression) { (meaning) } } }
        datalist #zones { @for name in zone_names() { option value=(name) {} } }
    }
}
