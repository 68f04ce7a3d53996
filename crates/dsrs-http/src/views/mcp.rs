//! Graphs as tools of an MCP server: their names, descriptions and schemas. Knows no transport.

use dsrs::graph::Program;
use dsrs::signature::signature_to_schemas;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A JSON-RPC message of the Model Context Protocol.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct McpMessage {
    /// `2.0`.
    pub jsonrpc: String,
    /// The id of a request; a notification has none.
    pub id: Option<Value>,
    /// `initialize`, `tools/list`, `tools/call`, `resources/list`, `resources/templates/list`, `resources/read`, `ping`.
    pub method: Option<String>,
    /// The parameters of the method, an object. A request with another value is answered with the JSON-RPC error -32602.
    pub params: Option<Value>,
    /// The result, in an answer.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Map<String, Value>>,
    /// The error, in an answer.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Map<String, Value>>,
}

/// A graph as a tool, in the form of `tools/list`.
pub(crate) fn graph_tool(name: &str, description: Option<&str>, program: &Program) -> Value {
    let notation = signature_to_schemas(&program.signature());
    let mut notation: Value = serde_json::from_str(&notation.to_json()).unwrap_or_default();
    json!({
        "name": name,
        "description": description,
        "inputSchema": notation["input_schema"].take(),
        "outputSchema": notation["output_schema"].take(),
        // A run of a graph changes nothing on this server; its tools may reach other systems.
        "annotations": {"destructiveHint": false, "openWorldHint": true}
    })
}
