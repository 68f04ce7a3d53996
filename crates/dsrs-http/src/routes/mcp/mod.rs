//! `/mcp`: the exposed graphs of a workspace as tools of an MCP server, over streamable HTTP. Every message is a request
//! of its own, admitted like any other; there are no sessions that occupy anything.

#[cfg(not(feature = "mcp"))]
mod absent;
#[cfg(feature = "mcp")]
mod call_span;
#[cfg(feature = "mcp")]
mod calls;
#[cfg(feature = "mcp")]
mod graph_server;
#[cfg(feature = "mcp")]
mod handler;
#[cfg(feature = "mcp")]
mod message;
#[cfg(feature = "mcp")]
mod resources;
#[cfg(feature = "mcp")]
mod tool_call;
#[cfg(feature = "mcp")]
mod wrong_params;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;

use crate::protocol::body::PostedBody;
use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::same_site::OwnOrigins;
use crate::views::{McpMessage, RunEvents};
#[cfg(not(feature = "mcp"))]
use absent::{NoMcpCalls as McpCalls, answer_message};
use dsrs_app::App;
#[cfg(feature = "mcp")]
use {calls::McpCalls, message::answer_message};

/// What the route shares between requests.
#[derive(Clone)]
pub(crate) struct McpRoute {
    pub(crate) origins: Arc<OwnOrigins>,
    pub(crate) calls: Arc<McpCalls>,
}

/// A message of a client.
struct PostedMessage {
    caller: Caller,
    headers: HeaderMap,
    uri: Uri,
    body: PostedBody,
}

/// Send a message to the MCP server
///
/// The streamable HTTP transport of the Model Context Protocol: each graph with `expose.mcp` is a tool, and the states of
/// graphs and the runs are resources. A body is one JSON-RPC message. For a client that accepts events, the answer to
/// `tools/call` is a stream of progress notifications that ends with the result. A
/// client that disconnects, or sends `notifications/cancelled`, cancels the run. There are no streams of the server's own
/// (`GET`), and no sessions to end (`DELETE`). Reading resources needs the scope `read`, too.
#[utoipa::path(
    post, path = "/mcp", tag = "mcp",
    request_body(content = McpMessage, example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
    responses(
        (status = 200, description = "The answer, or progress and the answer", content(
            (McpMessage = "application/json", example = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})),
            (RunEvents = "text/event-stream"))),
        (status = 202, description = "The notification was accepted"),
        (status = 400, description = "A message that the protocol does not allow", body = McpMessage)),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["method_not_allowed", "forbidden_origin"])))
)]
pub(crate) async fn mcp_message(
    State(app): State<Arc<App>>,
    Extension(route): Extension<McpRoute>,
    caller: Caller,
    _: NoQuery,
    headers: HeaderMap,
    uri: Uri,
    body: PostedBody,
) -> Result<Response, ApiProblem> {
    route.origins.admit(&headers)?;
    answer_message(app, route, PostedMessage { caller, headers, uri, body }).await
}
