//! `/mcp` of a server that was built without the feature `mcp`: every message is refused.

use std::sync::Arc;

use axum::response::Response;

use super::{McpRoute, PostedMessage};
use crate::protocol::problem::ApiProblem;
use dsrs_app::App;

/// Calls in progress, of which this server has none.
#[derive(Default)]
pub(crate) struct NoMcpCalls;

/// Refuses a message.
pub(super) async fn answer_message(
    _: Arc<App>,
    _: McpRoute,
    _: PostedMessage,
) -> Result<Response, ApiProblem> {
    Err(ApiProblem::not_found("this server was built without the feature `mcp`"))
}
