//! What a person decides about an optimization: cancel it, or activate its result. Says first what would change.

use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use crate::evaluation::id_of;
use crate::form::{Form, encoded, see};
use crate::visitor::Visitor;
use dsrs_app::{Optimizations, Precondition};
use dsrs_http::ApiProblem;
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;
use dsrs_store::optimization::OptimizationRow;

/// `POST /optimizations/{id}/cancel`.
pub(crate) async fn cancel(
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    visitor.app.job_cancel::<Optimizations>(&visitor.scope, id).await?;
    Ok(see(&format!("/optimizations/{id}")))
}

/// `POST /optimizations/{id}/activate`: only if the state that the person saw is still active.
pub(crate) async fn activate(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiProblem> {
    let id = id_of(&id)?;
    let missing = || ApiProblem::parameter("`graph` and `seen` say which state is active");
    let graph = Uuid::try_parse(form.text("graph")).map_err(|_| missing())?;
    let seen: i32 = form.text("seen").parse().map_err(|_| missing())?;
    let expected = Precondition::OneOf(vec![(graph, seen)]);
    Box::pin(visitor.app.optimization_activate(&visitor.scope, id, Some(&expected))).await?;
    Ok(see(&format!("/optimizations/{id}")))
}

/// What activating the result changes, and the button that does it.
pub(super) async fn activation(
    visitor: &Visitor,
    row: &OptimizationRow,
    result: &Value,
) -> Result<Markup, ApiProblem> {
    let (Some(best), true) = (row.best, row.status.has_ended()) else { return Ok(html! {}) };
    let known = visitor.app.graph_get(&visitor.scope, &GraphRef::Id(row.graph_id), None).await;
    let Ok(head) = known else {
        return Ok(
            html! { p.muted { "The graph was deleted: there is nothing to activate the result for." } },
        );
    };
    let (version, active) = (head.version, head.state.version);
    let changes_graph = result["best"]["changes_graph"] == true;
    let is_active = match row.found_state {
        Some(state) => (version, active) == (row.graph_version, state),
        None => version > row.graph_version && head.state.optimization == Some(row.id),
    };
    let graph = html! { a href={ "/graphs/" (encoded(&head.name)) } { (head.name) } };
    Ok(html! {
        section.panel #activate {
            header { h2 { "Activate the result" } }
            div.body {
                @if is_active { p { "Active: callers of " (graph) " run candidate " (best) " now." } }
                @else if version != row.graph_version {
                    p.warning { "Version " (version) " of " (graph) " is active by now, and this result is for version " (row.graph_version)
                        ". It cannot be activated: optimize the newer version." }
                } @else {
                    @match row.found_state {
                        Some(state) => p { "Callers of " (graph) " that name no version get state " b { (state) } " instead of "
                            b { (active) } " from their next run on: the instructions and demos shown here. Runs in progress keep theirs. "
                            "To roll back, activate state " (active) "." },
                        None => p { "The result changes the graph: it becomes version " b { (version + 1) } " of " (graph)
                            ", and callers that name no version run it from their next run on. Version " (version) " stays readable." },
                    }
                    @if changes_graph && row.found_state.is_some() { p.warning { "The result also changes the graph." } }
                    @if active != row.state_version {
                        p.warning { "State " (active) " is active by now; this result was measured against state " (row.state_version) "." }
                    }
                    @if visitor.may(KeyScope::Write) {
                        form action={ "/optimizations/" (row.id) "/activate" } method="post" {
                            input type="hidden" name="graph" value=(row.graph_id);
                            input type="hidden" name="seen" value=(active);
                            button.primary type="submit" { "Activate candidate " (best) }
                        }
                    }
                }
            }
        }
    })
}
