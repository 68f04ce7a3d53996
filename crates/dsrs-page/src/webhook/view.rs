//! `/webhooks/{id}`: its settings and the log of its messages.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};

use crate::evaluation::id_of;
use crate::parts::head::{head, tabs};
use crate::parts::life::LifeButtons;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use crate::webhook::messages::messages;
use crate::webhook::{events, state};
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::webhook::WebhookRow;

/// The filters of messages: the word in addresses, and the name.
const SHOWN: [(&str, &str); 4] =
    [("", "All"), ("failed", "Failed"), ("pending", "Pending"), ("succeeded", "Succeeded")];

/// `GET /webhooks/{id}`.
pub(crate) async fn webhook(
    visitor: Visitor,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let shown = query.text("status").unwrap_or_default();
    let (word, _) = SHOWN.into_iter().find(|(word, _)| *word == shown).unwrap_or(SHOWN[0]);
    let page = PageRequest::of(format!("deliveries of {id} {word}"), query)?;
    let row = visitor.app.webhook_get(&visitor.scope, id).await?;
    let status = Some(word).filter(|word| !word.is_empty());
    let deliveries = visitor.app.delivery_list(&visitor.scope, id, status, page.newest()?).await?;
    let (is_first, next) = (page.after.is_none(), page.next_of(&deliveries));
    let address = |word: &str| match word {
        "" => format!("/webhooks/{id}"),
        _ => format!("/webhooks/{id}?status={word}"),
    };
    let body = html! {
        (title(&row))
        (facts(&row))
        section.fields #messages aria-label="Messages" {
            (tabs("Status", &SHOWN.map(|(own, name)| (format!("{}#messages", address(own)), name, own == word))))
            @if deliveries.items.is_empty() { p.muted { "There are no such messages." } }
            @else { (messages(&deliveries.items)) }
            (pager(&address(word), is_first, next.as_deref()))
        }
        (SameRequest::get(&format!("/v1/webhooks/{id}/deliveries")).show())
    };
    let view = View::new(row.settings.name.as_str(), PageSection::Webhooks)
        .styles(&["quality.css", "run.css"]);
    Ok(visitor.show(&view, body))
}

fn title(row: &WebhookRow) -> Markup {
    let path = format!("/webhooks/{}", row.id);
    let buttons = LifeButtons {
        path: &path,
        is_enabled: row.settings.enabled,
        delete: "Delete",
        question: "Delete this webhook? Messages that wait are not sent.",
    };
    let actions = html! {
        form action={ (path) "/test" } method="post" { button.primary type="submit" { "Send a test" } }
        a.button href={ (path) "/edit" } { "Change" }
        (buttons.show())
    };
    let name =
        html! { span.cut title=(row.settings.name) { (row.settings.name) } " " (state(row)) };
    head(&[("/webhooks".to_owned(), "Webhooks")], &name, &actions)
}

fn facts(row: &WebhookRow) -> Markup {
    let settings = &row.settings;
    html! {
        section.panel {
            header { h2 { "Settings" } }
            div.body {
                dl.facts {
                    @if !settings.description.is_empty() { dt { "About" } dd { (settings.description) } }
                    dt { "URL" } dd { code { (settings.url) } }
                    dt { "Events" } dd { (events(row)) }
                    @if let (Some(metric), Some(below)) = (&settings.score_metric, settings.score_below) {
                        dt { "Score" } dd { code { (metric) } " below " (below) }
                    }
                    @match row.disabled_because.as_deref() {
                        Some("gone") => { dt { "Disabled" } dd { "The receiver answered 410 Gone." } }
                        Some(_) => { dt { "Disabled" } dd { "Every attempt failed for too long." } }
                        None => {}
                    }
                    @if let Some(since) = row.failing_since { dt { "Failing since" } dd { (ago(since)) } }
                    dt { "Changed" } dd { (ago(row.updated_at)) }
                    dt { "Created by" } dd { (row.created_by) }
                }
            }
        }
    }
}
