//! Tools of a node: the entries of its config become tools, which are found by name, checked, called
//! and told about. Knows predictors and nothing of how an HTTP request is sent or where an MCP
//! server runs.

mod builtin;
mod calculator;
mod config;
mod graph;
mod http;
mod missing;
mod python;
mod url;

pub use builtin::{BuiltinTool, MadeTool, builtin_tools};
pub use http::{HeaderText, HttpCall, HttpMethod, HttpTool};
pub use url::UrlTemplate;

pub(super) use config::{TOOLS_SCHEMA, read_tools};

/// The member of a config that names tools.
pub(super) const TOOLS: &str = "tools";
