//! A posted `react` graph over the tools of an MCP server and over HTTP, told by its trace.

use std::sync::Arc;

use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use super::mcp::EXAMPLE;
use crate::support::{Api, sections, test_database};

fn step(tool: &str, args: &str) -> ScriptedAnswer {
    let said = [("next_thought", "Go on."), ("next_tool_name", tool), ("next_tool_args", args)];
    ScriptedAnswer::from(sections(said))
}

fn agent(tools: Value) -> Value {
    json!({"name": "agent", "nodes": {"agent": {
        "strategy": "react", "signature": "question -> answer", "config": {"tools": tools}
    }}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_uses_an_mcp_server_and_continues_after_a_failure() {
    let example = tokio::task::spawn_blocking(|| EXAMPLE.display().to_string()).await.unwrap();
    let lm = ScriptedLm::answering([
        step("track", r#"{"number": "7"}"#),
        step("track", r#"{"number": "P-7"}"#),
        step("current_time", "{}"),
        step("finish", "{}"),
        ScriptedAnswer::from(sections([("reasoning", "It says so."), ("answer", "in Turku")])),
    ]);
    let settings = [("DSRS_MCP__OFFICE__COMMAND", example.as_str())];
    let api = Api::start(&test_database().await, Some(Arc::new(lm)), &settings).await;
    let refused = api.post("/v1/graphs", agent(json!([{"mcp": "ofice"}]))).await.expect(422);
    assert!(refused.text.contains("configured are office"), "{}", refused.text);
    let tools = json!([{"mcp": "office", "tools": ["track"]}, "current_time"]);
    api.post("/v1/graphs", agent(tools)).await.expect(201);
    let body = json!({"inputs": {"question": "Where is P-7?"}, "trace": true});
    let run = api.post("/v1/graphs/agent/execute", body).await.expect(200).json();
    assert_eq!(run["outputs"]["answer"], "in Turku");
    let spans = run["trace"]["spans"].as_array().unwrap();
    let tools: Vec<&Value> = spans.iter().filter(|span| span["kind"] == "tool").collect();
    assert_eq!(tools.len(), 3, "{run:#}");
    assert_eq!(tools[0]["status"], "failed");
    assert!(tools[0]["error"].to_string().contains("they begin with P-"), "{}", tools[0]);
    assert_eq!(tools[1]["outputs"]["result"], json!({"number": "P-7", "town": "Turku"}));
    let now = tools[2]["outputs"]["result"].as_str().unwrap();
    assert!(now.ends_with('Z') && now.len() == 20, "{now}");
}
