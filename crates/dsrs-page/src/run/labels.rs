//! The labels of a run, each a link to the runs that have it. Knows no table.

use maud::{Markup, html};

use dsrs_store::run_label::RunLabels;

pub(super) fn labels(labels: &RunLabels) -> Markup {
    html! {
        @for tag in labels.tags() { (link("tag", &tag, &tag)) }
        @if let Some(session) = &labels.session_id { (link("session_id", session, &format!("session {session}"))) }
        @if let Some(user) = &labels.user_id { (link("user_id", user, &format!("user {user}"))) }
        @if let Some(metadata) = &labels.metadata { code.small title="metadata" { (metadata) } }
    }
}

fn link(name: &str, value: &str, shown: &str) -> Markup {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair(name, value);
    html! { a.small href={ "/runs?" (query.finish()) } title=(name) { (shown) } " " }
}
