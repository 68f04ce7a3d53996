//! `/graphs/{graph}/state/activate`: promotion and rollback. Says first what changes for callers, then does it if the
//! state that the person saw is still active.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::form::{Form, encoded, see};
use crate::graph::tabs::{GraphTab, graph_tabs};
use crate::parts::head::head;
use crate::parts::same_request::SameRequest;
use crate::parts::state_changes::{outline_of, state_changes};
use crate::shell::{PageSection, View};
use crate::state::heading::{crumbs_to_state, json_of, sides};
use crate::visitor::Visitor;
use dsrs_app::{AppError, Precondition, StateComparison};
use dsrs_http::{ApiProblem, Query};
use dsrs_store::graph::{GraphRef, GraphRow};
use dsrs_store::key_scope::KeyScope;

/// A state version that a person considers to activate.
struct Proposal {
    /// The graph, at its newest version.
    row: GraphRow,
    /// From the state that is active for the same graph version.
    comparison: StateComparison,
}

impl Proposal {
    async fn load(visitor: &Visitor, graph: &GraphRef, version: i32) -> Result<Self, ApiProblem> {
        let Visitor { app, scope, .. } = visitor;
        let row = app.graph_get(scope, graph, None).await?;
        let graph = GraphRef::Id(row.id);
        let own = app.state_version(scope, &graph, version).await?.row.graph_version;
        let active = app.graph_get(scope, &graph, Some(own)).await?.state.version;
        let comparison = app.state_diff(scope, &graph, Some(active), version).await?;
        Ok(Self { row, comparison })
    }

    fn active(&self) -> i32 {
        self.comparison.from.version
    }

    fn version(&self) -> i32 {
        self.comparison.to.version
    }

    fn path(&self) -> String {
        format!("/graphs/{}/state", encoded(&self.row.name))
    }

    fn is_rollback(&self) -> bool {
        self.version() < self.active()
    }

    /// Whether callers without a version get the state.
    fn is_newest(&self) -> bool {
        self.comparison.to.graph_version == self.row.newest_version
    }
}

/// `GET /graphs/{graph}/state/activate`: what would change.
pub(crate) async fn confirm(
    visitor: Visitor,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let version = query.required("version", "a state version", |text| text.parse().ok());
    query.close()?;
    let version = version.unwrap_or_default();
    let proposal = Proposal::load(&visitor, &GraphRef::parse(&graph), version).await?;
    Ok(show(&visitor, &proposal, None))
}

/// `POST /graphs/{graph}/state/activate`: only if the state that the person saw is still active.
pub(crate) async fn activate(
    visitor: Visitor,
    Path(graph): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let number = |name: &str| {
        let missing = || ApiProblem::parameter(format!("`{name}` must be a state version"));
        form.text(name).parse::<i32>().map_err(|_| missing())
    };
    let (version, seen) = (number("version")?, number("seen")?);
    let Visitor { app, scope, .. } = &visitor;
    let id = app.graph_id(scope, &GraphRef::parse(&graph)).await?;
    let graph = GraphRef::Id(id);
    let expected = Precondition::OneOf(vec![(id, seen)]);
    match Box::pin(app.state_activate(scope, &graph, version, &expected)).await {
        Ok(_) => {
            let row = app.graph_get(scope, &graph, None).await?;
            Ok(see(&format!("/graphs/{}/state?version={version}", encoded(&row.name))))
        }
        Err(AppError::Stale) => {
            let proposal = Proposal::load(&visitor, &graph, version).await?;
            let mut answer = show(&visitor, &proposal, Some(seen));
            *answer.status_mut() = StatusCode::PRECONDITION_FAILED;
            Ok(answer)
        }
        Err(error) => Err(error.into()),
    }
}

fn show(visitor: &Visitor, proposal: &Proposal, seen: Option<i32>) -> Response {
    let changes: Value = json_of(&proposal.comparison.diff.to_payload().to_json());
    let (version, path) = (proposal.version(), proposal.path());
    let request = format!("/v1{path}/versions/{version}/activate");
    let request = SameRequest { method: "POST", path: &request, body: None };
    let title = match proposal.is_rollback() {
        true => html! { "Roll back to state " (version) },
        false => html! { "Activate state " (version) },
    };
    let body = html! {
        (head(&crumbs_to_state(&proposal.row), &title, &html! {}))
        (graph_tabs(visitor, &proposal.row.name, GraphTab::State))
        @if let Some(seen) = seen {
            p.refusal role="alert" { b { "Somebody was faster." } " State " (seen) " was active when you opened this view; now it is state "
                (proposal.active()) ". Nothing was changed. Below is what changes from there." }
        }
        (sides(&proposal.row, &proposal.comparison.from, &proposal.comparison.to))
        (effect(visitor, proposal, &changes))
        @if !proposal.comparison.diff.is_empty() { h2 { "In detail" } (state_changes(&changes)) }
        (request.show())
    };
    let view = View::new(format!("State of {}", proposal.row.name), PageSection::Graphs)
        .styles(&["state.css"]);
    visitor.show(&view, body)
}

/// What callers get, and the button that does it.
fn effect(visitor: &Visitor, proposal: &Proposal, changes: &Value) -> Markup {
    let (active, version) = (proposal.active(), proposal.version());
    html! {
        section.panel {
            header { h2 { "What changes for callers" } }
            div.body {
                @if active == version { p { "State " (version) " is active already: nothing changes." } }
                @else {
                    ul.effects {
                        li { (callers(proposal)) " get state " b { (version) } " instead of " b { (active) } " from their next run on." }
                        @if changes.as_object().is_none_or(serde_json::Map::is_empty) { li { "Every prompt stays the same." } }
                        @for (path, change) in changes.as_object().into_iter().flatten() {
                            li { code { (path) } ": " (outline_of(change)) }
                        }
                        li { "Runs in progress finish with the state that they started with." }
                        li { "Other versions of the graph have active states of their own and do not change." }
                    }
                    (button(visitor, proposal))
                }
            }
        }
    }
}

fn callers(proposal: &Proposal) -> Markup {
    let own = proposal.comparison.to.graph_version;
    html! {
        @if proposal.is_newest() { "Callers of " b { (proposal.row.name) } " that name no version, or version " (own) "," }
        @else { "Only callers that name version " (own) " of " b { (proposal.row.name) } " (the newest is " (proposal.row.newest_version) ")" }
    }
}

fn button(visitor: &Visitor, proposal: &Proposal) -> Markup {
    let path = proposal.path();
    html! {
        @if visitor.may(KeyScope::Write) {
            form.actions action={ (path) "/activate" } method="post" {
                input type="hidden" name="version" value=(proposal.version());
                input type="hidden" name="seen" value=(proposal.active());
                button.primary type="submit" { @if proposal.is_rollback() { "Roll back to state " (proposal.version()) } @else { "Activate state " (proposal.version()) } }
                a.button href={ (path) "?version=" (proposal.version()) } { "Cancel" }
            }
        }
    }
}
