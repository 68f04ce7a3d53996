//! The MCP server of one message: the caller, what it may run, and how it computes. Knows no method of the protocol.

use std::future::Future;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ListToolsResult, Tool};
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use crate::routes::mcp::calls::McpCalls;
use crate::views::graph_tool;
use dsrs_app::App;
use dsrs_store::graph::GraphRef;
use dsrs_store::run_label::RunLabels;

/// The server, for one message of one caller.
#[derive(Clone)]
pub(super) struct GraphServer {
    pub(super) app: Arc<App>,
    pub(super) caller: Caller,
    /// The session that the client names.
    pub(super) session: Option<Uuid>,
    /// The labels of a run that a call starts.
    pub(super) labels: RunLabels,
    pub(super) calls: Arc<McpCalls>,
    /// Whether the client accepts notifications of progress.
    pub(super) has_progress: bool,
}

impl GraphServer {
    /// Works on the threads for computations, until the client leaves.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl Future<Output = Result<T, ErrorData>> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let cancelled = CancellationToken::new();
        let time = self.app.limits.run_timeout;
        let working = self.app.compute().spawn_within("an MCP request", time, &cancelled, work);
        let _cancelled = cancelled.drop_guard();
        let working = AbortOnDropHandle::new(working);
        tokio::select! {
            done = working => done.ok().flatten().unwrap_or_else(|| {
                Err(ErrorData::internal_error("an internal error occurred; the log has details", None))
            }),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the client has left", None)),
        }
    }

    /// One page of the tools. A graph that no longer loads is none.
    pub(super) async fn tools(
        &self,
        from: usize,
        most: usize,
    ) -> Result<ListToolsResult, ApiProblem> {
        let scope = self.caller.scope();
        let exposed = self.app.exposed_graphs(&scope).await?;
        let mut tools = Vec::new();
        for graph in exposed.tools().skip(from).take(most) {
            let Some(name) = graph.tool() else { continue };
            let Ok(row) = self.app.graph_get(&scope, &GraphRef::Id(graph.id), None).await else {
                continue;
            };
            let Ok(program) = self.app.program_of(&scope, &row).await else { continue };
            let description = graph.tool_description().or(row.description.as_deref());
            let shown: Option<Tool> =
                serde_json::from_value(graph_tool(name, description, &program)).ok();
            tools.extend(shown);
        }
        let more = exposed.tools().count() > from + most;
        let mut page = ListToolsResult::with_all_items(tools);
        page.next_cursor = more.then(|| (from + most).to_string());
        Ok(page)
    }

    /// A problem as an error of the protocol.
    pub(super) fn refusal(&self, problem: &ApiProblem) -> ErrorData {
        let data = serde_json::from_str(&problem.to_json(&self.caller.request_id)).ok();
        let detail = problem.detail().to_owned();
        match problem.code() {
            ProblemCode::NotFound => ErrorData::resource_not_found(detail, data),
            _ if problem.status().is_server_error() => ErrorData::internal_error(detail, data),
            _ => ErrorData::invalid_request(detail, data),
        }
    }
}
