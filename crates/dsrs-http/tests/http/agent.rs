//! A posted `react` graph with tools of an MCP server and over HTTP, checked by its trace.

use std::sync::Arc;

use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{mcp_example, sections, test_database};

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
    let example = mcp_example().await.display().to_string();
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

/// A tool that sends the secret `KEY` to this URL.
fn sending(url: &str) -> Value {
    json!([{"http": {
        "name": "ask", "description": "Asks.", "method": "GET", "url": url,
        "headers": {"Authorization": {"secret": "KEY", "prefix": "Bearer "}}
    }}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_sends_a_secret_only_to_a_fixed_host_of_its_setting() {
    let settings = [
        ("DSRS_TOOLS_ALLOW", "*"),
        ("DSRS_SECRETS__KEY", "hush-7"),
        ("DSRS_SECRETS__KEY__HOSTS", "api.example.com"),
    ];
    let api = Api::with_settings(&settings).await;
    for (url, reason) in [
        ("https://evil.example.com/", "not in the server's `secrets.KEY.hosts`"),
        ("https://api.example.com.evil.example/", "not in the server's `secrets.KEY.hosts`"),
        ("https://{host}/", "the host of a URL is fixed"),
        ("https://api.{host}/", "the host of a URL is fixed"),
        ("https://api.example.com{host}/", "the host of a URL is fixed"),
        ("https://api.example.com:{port}/", "the host of a URL is fixed"),
        ("https://api.example.com\\@evil.example/", "cannot contain a user or password"),
        ("https://api.example.com@evil.example/", "cannot contain a user or password"),
    ] {
        let refused = api.post("/v1/graphs", agent(sending(url))).await.expect(422);
        let errors = refused.json()["errors"].clone();
        assert!(errors.to_string().contains(reason), "{url}: {errors:#}");
        let place = errors[0]["pointer"].as_str().unwrap();
        assert!(place.starts_with("/nodes/agent/config/tools/0/http"), "{place}");
        assert!(!refused.text.contains("hush"), "{}", refused.text);
    }
    api.post("/v1/graphs", agent(sending("https://api.example.com/{path}"))).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_definition_loads_when_its_secret_may_go_nowhere() {
    let (bound, database) = (("DSRS_SECRETS__KEY__HOSTS", "127.0.0.1"), test_database().await);
    let settings = [("DSRS_TOOLS_ALLOW", "127.0.0.1"), ("DSRS_SECRETS__KEY", "hush-7"), bound];
    let api = Api::start(&database, None, &settings).await;
    api.post("/v1/graphs", agent(sending("http://127.0.0.1:9/"))).await.expect(201);
    api.stop().await;
    let lm = ScriptedLm::answering([
        step("ask", "{}"),
        step("finish", "{}"),
        ScriptedAnswer::from(sections([("reasoning", "It fails."), ("answer", "unknown")])),
    ]);
    let api = Api::start(&database, Some(Arc::new(lm)), &settings[..2]).await;
    let body = json!({"inputs": {"question": "What is it?"}, "trace": true});
    let run = api.post("/v1/graphs/agent/execute", body).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap();
    let asked = spans.iter().find(|span| span["kind"] == "tool").unwrap();
    assert!(asked["error"].to_string().contains("`secrets.KEY.hosts` lists no host"), "{asked}");
}
