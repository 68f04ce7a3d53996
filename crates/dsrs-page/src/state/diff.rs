//! `/graphs/{graph}/state/diff`: what is different between two versions of the state.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::form::encoded;
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::empty::empty;
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::state_changes::state_changes;
use crate::shell::{PageSection, View};
use crate::state::heading::{crumbs_to_state, json_of, sides};
use crate::visitor::Visitor;
use dsrs_http::{ApiProblem, Query};
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::state::StateRow;

/// `GET /graphs/{graph}/state/diff`. Without `from`, the parent of `to`; without `to`, the active state.
pub(crate) async fn diff(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let (from, to) = (query.number("from"), query.number("to"));
    query.close()?;
    let Visitor { app, scope, .. } = &visitor;
    let row = app.graph_get(scope, &GraphRef::parse(&graph), None).await?;
    let to = to.unwrap_or(row.state.version);
    let comparison = app.state_diff(scope, &GraphRef::Id(row.id), from, to).await?;
    let changes: Value = json_of(&comparison.diff.to_payload().to_json());
    let (from, to) = (&comparison.from, &comparison.to);
    let request = format!(
        "/v1/graphs/{}/state/versions/{}/diff?against={}",
        encoded(&row.name),
        to.version,
        from.version
    );
    let title = html! { "State " (from.version) " → " (to.version) };
    let body = html! {
        (head(&crumbs_to_state(&row), &title, &actions(&visitor, &row, from, to)))
        (graph_tabs(&visitor, &row.name, GraphTab::State))
        (sides(&row, from, to))
        @if from.graph_version != to.graph_version {
            p.warning { "They belong to different versions of the graph: " (from.graph_version) " and " (to.graph_version)
                ". A predictor that only one of them has is compared with the defaults." }
        }
        @if comparison.diff.is_empty() {
            (empty("No difference", &html! { p.muted { "Both versions are the same state." } }))
        } @else { (state_changes(&changes)) }
        (SameRequest::get(&request).show())
    };
    let view =
        View::new(format!("State of {}", row.name), PageSection::Graphs).styles(&["state.css"]);
    Ok(visitor.show(&view, body))
}

fn actions(visitor: &Visitor, row: &GraphRow, from: &StateRow, to: &StateRow) -> Markup {
    let path = format!("/graphs/{}/state", encoded(&row.name));
    html! {
        form.compare action={ (path) "/diff" } method="get" {
            label.inline { "From " input type="number" name="from" min="1" value=(from.version) required; }
            label.inline { "to " input type="number" name="to" min="1" value=(to.version) required; }
            button type="submit" { "Show" }
        }
        a.button href={ (path) "/diff?from=" (to.version) "&to=" (from.version) } { "Swap" }
        @if visitor.may(KeyScope::Write) && to.version != row.state.version {
            a.button.primary href={ (path) "/activate?version=" (to.version) } { "Activate " (to.version) " …" }
        }
    }
}
