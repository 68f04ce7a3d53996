//! The spans of runs for OpenTelemetry. The place of a run in a trace is known when it starts, so that requests to
//! models and tools can name it; the spans are encoded when the run has ended. Knows no SQL.

mod attributes;
mod contents;
mod endpoints;
mod mcp_call;
mod messages;
mod place;
mod request_params;
mod request_span;
mod run;
mod span;

pub(crate) use endpoints::ModelEndpoints;
pub use mcp_call::{McpCall, McpCallEnd, McpCallSpan};
pub(crate) use place::RunTrace;
pub use request_span::AnsweredSpan;
pub(crate) use run::{ScoreEvent, TracedRun};
