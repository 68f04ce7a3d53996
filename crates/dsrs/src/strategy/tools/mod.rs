//! Tools of a node, from the entries of its config. Knows predictors, and does not know how an HTTP
//! request is sent or where an MCP server runs.

mod builtin;
mod calculator;
mod caller;
mod config;
mod described;
mod graph;
mod http;
mod missing;
mod python;
mod renamed;
mod search;
mod url;

pub use builtin::{BuiltinTool, BuiltinToolResult, builtin_tools};
pub use http::{HeaderText, HttpCall, HttpMethod, HttpTool};
pub use url::UrlTemplate;

pub(super) use caller::refuse_caller_tools;
pub(super) use config::{read_tool, read_tools, tool_schema, tools_schema};
pub(super) use described::described_arguments;
pub(super) use missing::missing;

/// The member of a config with the tools.
pub(super) const TOOLS: &str = "tools";
