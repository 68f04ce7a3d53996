//! The span of a call of a tool by an MCP client, below that of the client and above that of the run. Knows neither
//! messages of the protocol nor what a tool does.

use std::sync::Arc;
use std::time::SystemTime;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::attributes::{gen_ai, inference, mcp, own};
use crate::{App, RequestId};
use dsrs_telemetry::{
    AttributeWriter, EncodedSpans, RemoteSpan, SpanPlace, SpanRole, SpanWriter, Telemetry,
};

const METHOD: &str = "tools/call";

/// A call of a tool, as its client names it.
pub struct McpCall {
    pub tool: String,
    /// The id of the message.
    pub message: String,
    /// The version of the protocol.
    pub revision: Option<String>,
    pub session: Option<Uuid>,
    /// As JSON, if contents are collected.
    pub arguments: Option<String>,
}

/// How a call ended.
pub enum McpCallEnd {
    /// With a result; as JSON, if contents are collected.
    Succeeded(Option<String>),
    /// With a result that says why the tool failed.
    Failed,
    /// With an error of the protocol, because there is no such tool or the server failed.
    Refused { code: i32, reason: String },
    /// The client left, or the server stopped.
    Cancelled,
}

/// The span of a call. Sent when it is dropped, also if the client leaves before.
pub struct McpCallSpan {
    telemetry: Arc<Telemetry>,
    /// The request, with the place of the call.
    request: RequestId,
    /// The span that sent the request, if the call is below another one.
    link: Option<RemoteSpan>,
    start: SystemTime,
    call: McpCall,
    end: McpCallEnd,
}

impl App {
    /// The span of a call that begins, and the request of the run that it starts. `parent`: the span that the message
    /// names; without one, it is that of the request. `None` if spans are sent nowhere.
    pub fn span_of_call(
        &self,
        request: &RequestId,
        parent: Option<RemoteSpan>,
        call: McpCall,
    ) -> Option<(RequestId, McpCallSpan)> {
        let telemetry = self.telemetry.clone()?;
        let sender =
            parent.as_ref().and(request.parent()).filter(|span| Some(*span) != parent.as_ref());
        let link = sender.cloned();
        let request = request.of_message(parent);
        let (start, end) = (SystemTime::now(), McpCallEnd::Cancelled);
        let span = McpCallSpan { telemetry, request: request.clone(), link, start, call, end };
        Some((request, span))
    }
}

impl McpCallSpan {
    pub fn end(mut self, end: McpCallEnd) {
        self.end = end;
    }

    fn add(&self, span: &RemoteSpan, spans: &mut EncodedSpans) {
        let parent = self.request.parent();
        let place = SpanPlace {
            trace_id: span.trace_id,
            span_id: span.span_id,
            state: span.state.as_deref(),
            parent: parent.map(|parent| parent.span_id),
            has_remote_parent: parent.is_some(),
            start: self.start,
            end: SystemTime::now().max(self.start),
        };
        spans.add(&place, |out| self.describe(out));
    }

    fn describe(&self, out: &mut SpanWriter<'_>) {
        out.role(SpanRole::Server);
        match self.end {
            // Any text may be the name of a tool that does not exist; names of spans are few.
            McpCallEnd::Refused { .. } => out.name(&[METHOD]),
            _ => out.name(&[METHOD, " ", &self.call.tool]),
        }
        if let Some(link) = &self.link {
            out.link(link);
        }
        self.attributes(&mut out.attributes());
        self.describe_end(out);
    }

    fn attributes(&self, to: &mut AttributeWriter<'_>) {
        to.text(gen_ai::OPERATION, "execute_tool");
        to.text(gen_ai::TOOL_NAME, &self.call.tool);
        to.text(inference::KIND, "TOOL");
        to.text(inference::TOOL, &self.call.tool);
        to.text(mcp::METHOD, METHOD);
        to.text(mcp::REQUEST, &self.call.message);
        to.text(mcp::TRANSPORT, "tcp");
        to.text(mcp::PROTOCOL, "http");
        to.text(own::REQUEST, &self.request);
        if let Some(revision) = &self.call.revision {
            to.text(mcp::REVISION, revision);
        }
        if let Some(session) = self.call.session {
            let mut room = [0; Hyphenated::LENGTH];
            to.text(mcp::SESSION, session.as_hyphenated().encode_lower(&mut room));
        }
        if let Some(arguments) = &self.call.arguments {
            to.text(gen_ai::TOOL_ARGUMENTS, arguments);
        }
    }

    fn describe_end(&self, out: &mut SpanWriter<'_>) {
        let to = &mut out.attributes();
        let (kind, words) = match &self.end {
            McpCallEnd::Succeeded(result) => {
                if let Some(result) = result {
                    to.text(gen_ai::TOOL_RESULT, result);
                }
                return;
            }
            McpCallEnd::Failed => ("tool_error".to_owned(), ""),
            McpCallEnd::Refused { code, reason } => {
                to.text(mcp::STATUS, &code.to_string());
                (code.to_string(), reason.as_str())
            }
            McpCallEnd::Cancelled => ("cancelled".to_owned(), ""),
        };
        to.text(gen_ai::ERROR_TYPE, &kind);
        out.fail(if self.telemetry.has_contents() { words } else { "" });
    }
}

impl Drop for McpCallSpan {
    fn drop(&mut self) {
        // A call that started no run has a trace of its own.
        let span = self.request.span_in(|| Uuid::now_v7().into_bytes());
        if let Some(span) = span.filter(|span| span.sampled) {
            self.telemetry.send(1, |spans| self.add(span, spans));
        }
    }
}
