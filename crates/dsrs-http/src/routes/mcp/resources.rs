//! What a client reads of an MCP server: the states of graphs, and runs. The same documents as `/v1` answers, for keys
//! with the scope `read`.

use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde::Serialize;

use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::routes::mcp::graph_server::GraphServer;
use crate::views::{RunView, StateView};
use dsrs_store::graph::GraphRef;
use dsrs_store::key_scope::KeyScope;

const JSON: &str = "application/json";

/// The states of the graphs that are tools.
pub(super) async fn list(
    server: &GraphServer,
    from: usize,
    most: usize,
) -> Result<ListResourcesResult, ApiProblem> {
    server.caller.identity.require(KeyScope::Read)?;
    let exposed = server.app.exposed_graphs(&server.caller.scope()).await?;
    let states = exposed.tools().skip(from).take(most).map(|graph| {
        let name = graph.name();
        Resource::new(format!("dsrs://graphs/{name}/state"), format!("{name}/state"))
            .with_description(format!("The active instructions and demos of the graph {name}"))
            .with_mime_type(JSON)
    });
    let mut page = ListResourcesResult::with_all_items(states.collect());
    let more = exposed.tools().count() > from + most;
    page.next_cursor = more.then(|| (from + most).to_string());
    Ok(page)
}

/// The forms of all resources.
pub(super) fn templates(server: &GraphServer) -> Result<ListResourceTemplatesResult, ApiProblem> {
    server.caller.identity.require(KeyScope::Read)?;
    let state = ResourceTemplate::new("dsrs://graphs/{graph}/state", "state")
        .with_description("The active instructions and demos of a graph, by its name or id")
        .with_mime_type(JSON);
    let run = ResourceTemplate::new("dsrs://runs/{id}", "run")
        .with_description("A run with its inputs, outputs and trace; results of tools name its id")
        .with_mime_type(JSON);
    Ok(ListResourceTemplatesResult::with_all_items(vec![state, run]))
}

/// One resource.
pub(super) async fn read(
    server: &GraphServer,
    uri: &str,
) -> Result<ReadResourceResult, ApiProblem> {
    server.caller.identity.require(KeyScope::Read)?;
    let scope = server.caller.scope();
    let steps = uri.strip_prefix("dsrs://").unwrap_or_default();
    let text = match steps.split('/').collect::<Vec<_>>().as_slice() {
        ["graphs", graph, "state"] => {
            let state = server.app.state_get(&scope, &GraphRef::parse(graph)).await?;
            json_text(&StateView::from(&state))
        }
        ["runs", id] => {
            let run = server.app.run_get(&scope, path::id(id)?).await?;
            json_text(&RunView::from(&run))
        }
        _ => {
            let shown: String = uri.chars().take(200).collect();
            let detail = format!(
                "there is no resource `{shown}`; there are `dsrs://graphs/{{graph}}/state` and `dsrs://runs/{{id}}`"
            );
            return Err(ApiProblem::not_found(detail));
        }
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn json_text(view: &impl Serialize) -> String {
    serde_json::to_string(view).unwrap_or_default()
}
