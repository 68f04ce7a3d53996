//! `/webhooks`: all webhooks of the workspace.

use axum::response::Response;
use maud::{Markup, html};

use crate::parts::empty::empty;
use crate::parts::head::head;
use crate::parts::pager::pager;
use crate::parts::same_request::SameRequest;
use crate::parts::time::ago;
use crate::shell::{PageSection, View};
use crate::visitor::Visitor;
use crate::webhook::{events, state};
use dsrs_http::{ApiProblem, PageRequest, Query};
use dsrs_store::webhook::WebhookRow;

/// `GET /webhooks`.
pub(crate) async fn webhooks(visitor: Visitor, query: Query) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("webhooks", query)?;
    let found = visitor.app.webhook_list(&visitor.scope, page.newest()?).await?;
    let (is_first, next) = (page.after.is_none(), page.next_of(&found));
    let actions = html! { a.button.primary href="/webhooks/new" { "New webhook" } };
    let body = html! {
        (head(&[], &html! { "Webhooks" }, &actions))
        @if found.items.is_empty() && is_first { (nothing()) }
        @else {
            (table(&found.items))
            (pager("/webhooks", is_first, next.as_deref()))
        }
        (SameRequest::get("/v1/webhooks").show())
    };
    let view = View::new("Webhooks", PageSection::Webhooks).styles(&["quality.css"]);
    Ok(visitor.show(&view, body))
}

fn nothing() -> Markup {
    empty(
        "No webhooks yet",
        &html! {
            p.muted { "A webhook receives a signed message about each run, evaluation or optimization that has ended." }
        },
    )
}

fn table(rows: &[WebhookRow]) -> Markup {
    html! {
        table.stack {
            thead { tr { th { "Webhook" } th { "State" } th { "Events" } th { "Changed" } th { "By" } } }
            tbody { @for row in rows { (line(row)) } }
        }
    }
}

fn line(row: &WebhookRow) -> Markup {
    html! {
        tr {
            td.name {
                a href={ "/webhooks/" (row.id) } { (row.settings.name) }
                div.small.muted.cut title=(row.settings.url) { (row.settings.url) }
            }
            td data-label="State" { (state(row)) }
            td data-label="Events" { (events(row)) }
            td data-label="Changed" { (ago(row.updated_at)) }
            td.muted data-label="By" { (row.created_by) }
        }
    }
}
