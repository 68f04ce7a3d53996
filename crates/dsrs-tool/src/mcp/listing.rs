//! The list of a server's tools, page by page. A server whose pages never end does not hold up the others.

use std::collections::HashSet;

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};

/// The most tools of a server.
const MOST: usize = 10_000;

/// All tools, each name once. A cursor that repeats ends the list.
pub(super) async fn all_tools(
    peer: &Peer<RoleClient>,
    server: &str,
) -> Result<Vec<Tool>, ServiceError> {
    let (mut tools, mut names) = (Vec::new(), HashSet::new());
    let (mut cursor, mut seen) = (None, HashSet::new());
    loop {
        let place = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(place)).await?;
        tools.extend(page.tools.into_iter().filter(|tool| names.insert(tool.name.clone())));
        let Some(next) = page.next_cursor else { return Ok(tools) };
        if !seen.insert(next.clone()) {
            tracing::warn!(server, "MCP server repeats a cursor: the list of its tools ends there");
            return Ok(tools);
        }
        if tools.len() > MOST {
            tracing::warn!(server, most = MOST, "MCP server has more tools than are read");
            return Ok(tools);
        }
        cursor = Some(next);
    }
}
