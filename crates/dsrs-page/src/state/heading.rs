//! What the views of a state have at their top: the way to them, the versions that they show, and who made them.

use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use crate::form::encoded;
use crate::parts::figure::score;
use crate::parts::time::ago;
use dsrs_store::graph::GraphRow;
use dsrs_store::state::StateRow;

/// The way to the views of a graph's state.
pub(super) fn crumbs(row: &GraphRow) -> [(String, &str); 2] {
    let graph = (format!("/graphs/{}", encoded(&row.name)), row.name.as_str());
    [("/".to_owned(), "Graphs"), graph]
}

/// The way to the views below the state.
pub(super) fn crumbs_to_state(row: &GraphRow) -> [(String, &str); 3] {
    let [all, graph] = crumbs(row);
    [all, graph, (format!("/graphs/{}/state", encoded(&row.name)), "State")]
}

/// Both versions beside each other.
pub(super) fn sides(row: &GraphRow, from: &StateRow, to: &StateRow) -> Markup {
    html! { div.sides { (side(row, "From", from)) (side(row, "To", to)) } }
}

fn side(row: &GraphRow, label: &str, state: &StateRow) -> Markup {
    html! {
        section.side {
            p { span.small.muted { (label) } " " a href={ "/graphs/" (encoded(&row.name)) "/state?version=" (state.version) } { b { "State " (state.version) } }
                @if let Some(found) = state.score { " · score " b { (score(found)) } } @else { span.muted { " · not measured" } } }
            p.small.muted { (author(&state.created_by, state.optimization)) " · " (ago(state.created_at)) " · graph version " (state.graph_version) }
        }
    }
}

/// The author: a client, or an optimization.
pub(super) fn author(name: &str, optimization: Option<Uuid>) -> Markup {
    html! {
        @match optimization {
            Some(id) => a href={ "/optimizations/" (id) } { "optimization " (id.to_string().get(..8).unwrap_or_default()) },
            None => (name),
        }
    }
}

/// A JSON text of the engine as a value.
pub(super) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
