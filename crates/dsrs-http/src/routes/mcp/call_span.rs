//! The span of a call of a tool: what its message says of it, and how its result ends it. Knows no run.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};

use crate::routes::mcp::graph_server::GraphServer;
use dsrs_app::{McpCall, McpCallEnd, McpCallSpan};
use dsrs_telemetry::RemoteSpan;

/// The longest name of a tool that a span has; no tool has a longer one.
const LONGEST_NAME: usize = 64;

/// The span of a call that begins, and the server for the run that it starts.
pub(super) fn begin(
    server: &GraphServer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> (GraphServer, Option<McpCallSpan>) {
    let mut server = server.clone();
    let (app, whole) = (&server.app, &server.caller.request_id);
    let Some(telemetry) = &app.telemetry else { return (server, None) };
    let arguments = request.arguments.as_ref().filter(|_| telemetry.has_contents());
    let revision = context.protocol_version();
    // Newer revisions have no sessions.
    let has_session = revision.as_ref().is_none_or(ProtocolVersion::has_initialize);
    let call = McpCall {
        tool: request.name.chars().take(LONGEST_NAME).collect(),
        message: context.id.to_string(),
        revision: revision.map(|revision| revision.to_string()),
        session: server.session.filter(|_| has_session),
        arguments: arguments.and_then(|arguments| serde_json::to_string(arguments).ok()),
    };
    let Some((part, span)) = app.span_of_call(whole, named_span(context), call) else {
        return (server, None);
    };
    server.caller.request_id = part;
    (server, Some(span))
}

/// The span that a message names in `_meta`.
fn named_span(context: &RequestContext<RoleServer>) -> Option<RemoteSpan> {
    let text = |name: &str| context.meta.0.0.get(name)?.as_str();
    RemoteSpan::read(text("traceparent")?, text("tracestate"))
}

/// Ends the span with the result.
pub(super) fn end(
    server: &GraphServer,
    span: Option<McpCallSpan>,
    result: &Result<CallToolResult, ErrorData>,
) {
    let Some(span) = span else { return };
    let telemetry = server.app.telemetry.as_ref();
    let has_contents = telemetry.is_some_and(|telemetry| telemetry.has_contents());
    span.end(match result {
        Ok(result) if result.is_error == Some(true) => McpCallEnd::Failed,
        Ok(result) => {
            let outputs = result.structured_content.as_ref().filter(|_| has_contents);
            McpCallEnd::Succeeded(outputs.map(ToString::to_string))
        }
        Err(error) => McpCallEnd::Refused { code: error.code.0, reason: error.message.to_string() },
    });
}
