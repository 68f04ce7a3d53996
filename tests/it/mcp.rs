//! Graphs as tools of an MCP server: `/mcp`, as raw messages and through the client of the official SDK, and over
//! standard input and output.

use std::process::Stdio;
use std::sync::Arc;

use dsrs::lm::{OpenAi, OpenAiConfig, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::Api;
use crate::cli::Shell;
use dsrs_test::{
    Answer, Does, FakeLm, Gate, holds, one_node, sections, support_reply, test_database, within,
};

const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

fn tool(mut graph: Value, mcp: Value) -> Value {
    graph["expose"] = json!({"mcp": mcp});
    graph
}

fn message(id: u32, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn call(id: u32, name: &str, arguments: Value) -> String {
    message(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

async fn send(api: &Api, headers: &[(&str, &str)], body: String) -> Answer {
    let headers: Vec<_> = [BOTH].iter().chain(headers).copied().collect();
    api.send(Method::POST, "/mcp", &headers, Some(body)).await
}

async fn send_as(api: &Api, accept: &str, body: String) -> Answer {
    api.send(Method::POST, "/mcp", &[("accept", accept)], Some(body)).await
}

/// The messages of an answer, in either form.
fn messages(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type").starts_with("application/json") {
        return vec![answer.json()];
    }
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

async fn result(api: &Api, body: String) -> Value {
    let answer = send(api, &[], body).await.expect(200);
    let mut last = messages(&answer).pop().unwrap();
    assert!(last.get("error").is_none(), "{last}");
    last["result"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exposed_graph_is_a_tool_with_the_schemas_of_its_inputs_and_outputs() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("hidden", "question -> answer")).await.expect(201);
    let named = json!({"name": "reply_to_ticket", "description": "Answers a customer"});
    api.post("/v1/graphs", tool(support_reply(), named)).await.expect(201);
    let listed = result(&api, message(1, "tools/list", json!({}))).await;
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1, "{listed}");
    let found = &listed["tools"][0];
    assert_eq!(found["name"], "reply_to_ticket");
    assert_eq!(found["description"], "Answers a customer");
    assert_eq!(found["inputSchema"]["required"], json!(["ticket"]));
    assert_eq!(found["outputSchema"]["type"], "object");
    let ticket = json!({"ticket": "Where is it?"});
    let called = result(&api, call(2, "reply_to_ticket", ticket.clone())).await;
    assert_eq!(called["structuredContent"], json!({"answer": "Dear customer", "mood": "calm"}));
    let text = called["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), called["structuredContent"]);
    let valid = jsonschema::validator_for(&found["outputSchema"]).unwrap();
    assert!(valid.is_valid(&called["structuredContent"]));
    let run = api.ended(called["_meta"]["run_id"].as_str().unwrap()).await;
    assert_eq!((&run["inputs"], &run["status"]), (&ticket, &json!("succeeded")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_official_sdk_lists_calls_and_reads() {
    let api = Api::new().await;
    api.post("/v1/graphs", tool(support_reply(), json!(true))).await.expect(201);
    let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", api.url));
    let client = ().serve(StreamableHttpClientTransport::from_config(config)).await.unwrap();
    assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "dsrs-server");
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["support-reply"]);
    let arguments = json!({"ticket": "Where is it?"}).as_object().cloned().unwrap();
    let called = CallToolRequestParams::new("support-reply").with_arguments(arguments);
    let called = serde_json::to_value(client.call_tool(called).await.unwrap()).unwrap();
    assert_eq!(called["structuredContent"]["answer"], "Dear customer", "{called}");
    let resources = client.list_all_resources().await.unwrap();
    assert_eq!(resources[0].uri, "dsrs://graphs/support-reply/state");
    let templates = client.list_all_resource_templates().await.unwrap();
    assert_eq!(templates[1].uri_template, "dsrs://runs/{id}");
    let run = format!("dsrs://runs/{}", called["_meta"]["run_id"].as_str().unwrap());
    for (uri, member) in [(resources[0].uri.clone(), "predictors"), (run, "outputs")] {
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let read = serde_json::to_value(read).unwrap();
        let text = read["contents"][0]["text"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(text).unwrap()[member].is_object(), "{text}");
    }
    let missing = ReadResourceRequestParams::new("dsrs://runs/none");
    assert!(client.read_resource(missing).await.is_err());
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_precedes_the_result() {
    let api = Api::new().await;
    api.post("/v1/graphs", tool(support_reply(), json!(true))).await.expect(201);
    let params = json!({"name": "support-reply", "arguments": {"ticket": "?"},
        "_meta": {"progressToken": "p"}});
    let answer = send(&api, &[], message(7, "tools/call", params)).await.expect(200);
    let found = messages(&answer);
    let progress: Vec<_> = found[..found.len() - 1].iter().map(|m| m["params"].clone()).collect();
    let of = |progress: f64, message: &str| json!({"progressToken": "p", "progress": progress, "total": 2.0, "message": message});
    let expected = [of(0.0, "started"), of(1.0, "triage completed"), of(2.0, "reply completed")];
    assert_eq!(progress, expected);
    assert_eq!(found.last().unwrap()["id"], 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_or_failed_call_is_an_error_of_the_tool_with_its_places() {
    let api = Api::new().await;
    api.post("/v1/graphs", tool(support_reply(), json!(true))).await.expect(201);
    let mut count = tool(one_node("count", "question -> number: int"), json!(true));
    count["nodes"]["ask"]["signature"] = json!("question -> answer: int");
    api.post("/v1/graphs", count).await.expect(201);
    let refused = result(&api, call(1, "support-reply", json!({"tikcet": "?"}))).await;
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("invalid_input: ") && text.contains("/arguments/ticket: "), "{text}");
    assert!(!text.contains("/inputs/"), "a client of MCP has no such place: {text}");
    assert_eq!(refused["_meta"]["problem"]["code"], "invalid_input");
    let failed = result(&api, call(2, "count", json!({"question": "?"}))).await;
    assert_eq!((&failed["isError"], failed.get("structuredContent")), (&json!(true), None));
    let run = api.ended(failed["_meta"]["run_id"].as_str().unwrap()).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("parse_error")));
    // A tool that is not there, or no longer there, is an error of the protocol.
    api.delete("/v1/graphs/count").await.expect(204);
    for name in ["nothing", "count"] {
        let answer = send(&api, &[], call(3, name, json!({}))).await.expect(200);
        let error = messages(&answer).pop().unwrap()["error"].take();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
    }
}

async fn hanging() -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::hang()));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", tool(one_node("q", "question -> answer"), json!(true)))
        .await
        .expect(201);
    (api, lm)
}

/// Waits for an LM request.
async fn asked(lm: &ScriptedLm) {
    holds("an LM request", || !lm.requests().is_empty()).await;
}

async fn until_cancelled(api: &Api) -> Value {
    let found = api.until("/v1/runs?status=cancelled", |answer| {
        answer.json()["items"].as_array().is_some_and(|items| !items.is_empty())
    });
    found.await.json()["items"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_well_if_its_graph_is_deleted_meanwhile() {
    let gate = Gate::new();
    let holds = Does::Hold(gate.clone(), sections([("answer", "late")]));
    let fake = FakeLm::doing([holds]).await;
    let lm = Arc::new(OpenAi::new(OpenAiConfig::new(&*fake.url, "m")).unwrap());
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    api.post("/v1/graphs", tool(one_node("q", "question -> answer"), json!(true)))
        .await
        .expect(201);
    let deleting = async {
        fake.arrived(1).await;
        api.delete("/v1/graphs/q").await.expect(204);
        gate.open();
    };
    let (called, ()) = tokio::join!(result(&api, call(1, "q", json!({"question": "?"}))), deleting);
    assert_eq!(called["structuredContent"], json!({"answer": "late"}));
    let listed = result(&api, message(2, "tools/list", json!({}))).await;
    assert_eq!(listed["tools"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_cancels_its_run() {
    for accept in ["application/json", "application/json, text/event-stream"] {
        let (api, lm) = hanging().await;
        tokio::select! {
            _ = send_as(&api, accept, call(1, "q", json!({"question": "?"}))) => {
                panic!("the LM never answers")
            }
            () = asked(&lm) => {}
        }
        assert_eq!(until_cancelled(&api).await["error"]["code"], "run_cancelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_cancels_the_call_of_its_own_session_only() {
    let (api, lm) = hanging().await;
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let hello = send(&api, &[], message(0, "initialize", hello)).await.expect(200);
    let session = hello.header("mcp-session-id").to_owned();
    let own = [("mcp-session-id", session.as_str())];
    let other = uuid::Uuid::now_v7().to_string();
    let other = [("mcp-session-id", other.as_str())];
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}});
    let cancelling = async {
        asked(&lm).await;
        for headers in [&other, &own] {
            assert_eq!(api.get("/v1/runs?status=cancelled").await.json()["items"], json!([]));
            send(&api, headers, cancel.to_string()).await.expect(202);
        }
    };
    let calling = send(&api, &own, call(5, "q", json!({"question": "?"})));
    let (answer, ()) = tokio::join!(calling, cancelling);
    let result = messages(&answer).pop().unwrap()["result"].take();
    assert_eq!(
        (&result["isError"], &result["_meta"]["problem"]["code"]),
        (&json!(true), &json!("run_cancelled"))
    );
    until_cancelled(&api).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_of_the_protocol_is_refused() {
    let api = Api::new().await;
    let listing = message(1, "tools/list", json!({}));
    // Streams of the server's own, and sessions to end, do not exist.
    for method in [Method::GET, Method::DELETE] {
        let answer = api.send(method, "/mcp", &[BOTH], None).await.expect(405);
        assert_eq!(
            (answer.code().as_str(), answer.header("allow")),
            ("method_not_allowed", "POST")
        );
    }
    let refused = send_as(&api, "image/png", listing.clone()).await.expect(406);
    assert_eq!(refused.code(), "not_acceptable");
    for (accept, found) in [
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("*/*", "application/json"),
    ] {
        let answer = send_as(&api, accept, listing.clone()).await.expect(200);
        assert!(answer.header("content-type").starts_with(found), "{accept}: {}", answer.text);
        assert_eq!(messages(&answer).pop().unwrap()["result"]["tools"], json!([]));
    }
    let batch = format!("[{listing},{listing}]");
    let refused = send(&api, &[], batch).await.expect(422);
    assert!(refused.json()["detail"].as_str().unwrap().contains("no batches"), "{}", refused.text);
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#;
    send(&api, &[], twice.to_owned()).await.expect(422);
    for cursor in ["-1", "18446744073709551615", "x"] {
        let params = json!({"cursor": cursor});
        let refused = send(&api, &[], message(1, "tools/list", params)).await;
        assert_eq!(messages(&refused).pop().unwrap()["error"]["code"], -32602, "{cursor}");
    }
    let foreign = json!({"hello": "world"}).to_string();
    assert_eq!(send(&api, &[], foreign).await.expect(422).code(), "invalid_request");
    for body in ["1", "{", ""] {
        assert!((400..423).contains(&send(&api, &[], body.to_owned()).await.status), "{body}");
    }
    for (origin, status) in [("https://evil.example", 403), ("null", 403), (api.url.as_str(), 200)]
    {
        let answer = send(&api, &[("origin", origin)], listing.clone()).await.expect(status);
        assert!(status == 200 || answer.code() == "forbidden_origin");
    }
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}}}}}"#);
    assert!((400..423).contains(&send(&api, &[], deep).await.status));
    let huge = message(1, "ping", json!({"a": "x".repeat(40 << 20)}));
    assert_eq!(send(&api, &[], huge).await.expect(413).code(), "too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_params_are_named() {
    let api = Api::new().await;
    let hello = json!({"protocolVersion": 5, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    for (method, params, part) in [
        ("tools/call", json!({}), "`name` is missing"),
        ("tools/call", json!({"name": 5}), "`name` is not a text"),
        ("tools/call", json!({"name": "a", "arguments": [1]}), "`arguments` is not an object"),
        ("tools/call", json!({"name": "a", "arguments": "x"}), "`arguments` is not an object"),
        ("resources/read", json!({"url": "dsrs://runs/1"}), "`uri` is missing"),
        ("initialize", hello, "`protocolVersion` is not a text"),
        ("initialize", json!({}), "`protocolVersion` is missing"),
    ] {
        let answer = send(&api, &[], message(1, method, params.clone())).await;
        let found = messages(&answer).pop();
        let error =
            found.unwrap_or_else(|| panic!("{method} {params}: {answer:?}"))["error"].take();
        assert_eq!(error["code"], -32602, "{method}: {}", answer.text);
        let sentence = error["message"].as_str().unwrap();
        assert!(sentence.starts_with(&format!("`params` of `{method}`: ")), "{error}");
        assert!(sentence.contains(part), "{error}");
    }
    let unknown = send(&api, &[], message(1, "tools/cal", json!({}))).await;
    let error = messages(&unknown).pop().unwrap()["error"].take();
    assert_eq!(error["code"], -32601);
    assert!(error["message"].as_str().unwrap().contains("no method `tools/cal`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_scopes_and_limits_hold_for_messages() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "root")]).await;
    let root = [("authorization", "Bearer root"), ("content-type", "application/json")];
    let create = async |path: &str, body: Value| {
        api.send(Method::POST, path, &root, Some(body.to_string())).await.expect(201).json()
    };
    create("/v1/graphs", tool(one_node("q", "question -> answer"), json!(true))).await;
    let key = async |name: &str, scopes: Value, limits: Value| {
        let key = json!({"name": name, "scopes": scopes, "limits": limits});
        format!("Bearer {}", create("/v1/keys", key).await["key"].as_str().unwrap())
    };
    let listing = message(1, "tools/list", json!({}));
    assert_eq!(send(&api, &[], listing.clone()).await.expect(401).code(), "unauthenticated");
    let reader = key("reader", json!(["read"]), json!({})).await;
    let refused = send(&api, &[("authorization", &reader)], listing.clone()).await.expect(403);
    assert_eq!(refused.code(), "forbidden");
    let runner = key("runner", json!(["execute"]), json!({"runs_per_minute": 1})).await;
    let runner = [("authorization", runner.as_str())];
    let ask = || call(2, "q", json!({"question": "?"}));
    for _ in 0..3 {
        let listed = send(&api, &runner, listing.clone()).await.expect(200).json();
        assert_eq!(listed["result"]["tools"][0]["name"], "q");
    }
    let answered = messages(&send(&api, &runner, ask()).await.expect(200)).pop().unwrap();
    assert_eq!(answered["result"]["isError"], false, "{answered}");
    let limited = messages(&send(&api, &runner, ask()).await.expect(200)).pop().unwrap();
    assert_eq!(limited["result"]["_meta"]["problem"]["code"], "rate_limited", "{limited}");
    // What a key may not read over `/v1` it may not read here.
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "dsrs://graphs/q/state"})),
    ] {
        let refused = send(&api, &runner, message(3, method, params)).await;
        let error = messages(&refused).pop().unwrap()["error"].take();
        assert_eq!(error["data"]["code"], "forbidden", "{error}");
        assert_eq!(error["data"]["request_id"], refused.header("x-request-id"), "{error}");
    }
    // A key of another workspace sees none of it.
    create("/v1/workspaces", json!({"name": "team-a"})).await;
    let stranger = json!({"name": "s", "scopes": ["execute", "read"], "workspace": "team-a"});
    let stranger = create("/v1/keys", stranger).await;
    let stranger = format!("Bearer {}", stranger["key"].as_str().unwrap());
    let stranger = [("authorization", stranger.as_str())];
    let listed = send(&api, &stranger, listing).await.expect(200).json();
    assert_eq!(listed["result"]["tools"], json!([]));
    let unknown = messages(&send(&api, &stranger, ask()).await).pop().unwrap();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_sessions_occupy_nothing() {
    let api = Api::new().await;
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let mut seen = std::collections::HashSet::new();
    for id in 0..2000 {
        let answer = send(&api, &[], message(id, "initialize", hello.clone())).await.expect(200);
        assert!(seen.insert(answer.header("mcp-session-id").to_owned()));
    }
    // A session is a name that the client chose to repeat: any is as good.
    let unknown = [("mcp-session-id", "forgotten")];
    send(&api, &unknown, message(1, "tools/list", json!({}))).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_bridges_standard_input_and_output() {
    let api = Api::new().await;
    api.post("/v1/graphs", tool(support_reply(), json!(true))).await.expect(201);
    let shell = Shell::at(&api);
    let mut child = shell.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let params = json!({"name": "support-reply", "arguments": {"ticket": "?"},
        "_meta": {"progressToken": 1}});
    let calls = [
        (message(0, "initialize", hello), "/result/serverInfo/name", json!("dsrs-server")),
        ("no JSON".to_owned(), "/error/code", json!(-32700)),
        (message(1, "tools/list", json!({})), "/result/tools/0/name", json!("support-reply")),
        (message(2, "tools/call", params), "/result/structuredContent/mood", json!("calm")),
        (message(3, "tools/cal", json!({})), "/error/code", json!(-32601)),
    ];
    for (line, pointer, expected) in calls {
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        loop {
            let next = within("an answer", lines.next_line()).await.unwrap().unwrap();
            let next: Value = serde_json::from_str(&next).unwrap();
            if next.get("method").is_none() {
                assert_eq!(next.pointer(pointer), Some(&expected), "{next}");
                break;
            }
        }
        stdin.write_all(format!("{initialized}\n").as_bytes()).await.unwrap();
    }
    drop(stdin);
    assert!(within("the end", child.wait()).await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_ends_when_nothing_reads_its_output() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    let mut child = shell.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let ping = format!("{}\n", message(1, "ping", json!({})));
    stdin.write_all(ping.as_bytes()).await.unwrap();
    assert!(within("the end", child.wait()).await.unwrap().success());
    drop(stdin);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_without_its_server_answers_with_errors() {
    let shell = Shell::with_env(&[("DSRS_URL", "http://127.0.0.1:9")]);
    let line = format!("{}\n", message(4, "ping", json!({})));
    let ran = shell.run_with(&["mcp"], &line).await.expect(0);
    assert_eq!(ran.json()["error"]["code"], -32603, "{}", ran.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_finishes_what_was_sent_before_its_input_ended() {
    let gate = Gate::new();
    let fake = FakeLm::doing([Does::Hold(gate.clone(), sections([("answer", "late")]))]).await;
    let lm = Arc::new(OpenAi::new(OpenAiConfig::new(&*fake.url, "m")).unwrap());
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    api.post("/v1/graphs", tool(one_node("q", "question -> answer"), json!(true)))
        .await
        .expect(201);
    let shell = Shell::at(&api);
    let lines =
        format!("{}\n{}", message(1, "ping", json!({})), call(2, "q", json!({"question": "?"})));
    let running = shell.run_with(&["mcp"], &lines);
    let opening = async {
        fake.arrived(1).await;
        gate.open();
    };
    let (ran, ()) = tokio::join!(running, opening);
    let last = ran.expect(0).stdout.lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["result"]["structuredContent"], json!({"answer": "late"}), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_answers_lines_that_it_cannot_read_and_continues() {
    let api = Api::new().await;
    let shell = Shell::at(&api);
    let mut child = shell.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = async move {
        stdin.write_all(b"\xff\xfe\n").await.unwrap();
        let part = vec![b'x'; 1 << 20];
        for _ in 0..65 {
            stdin.write_all(&part).await.unwrap();
        }
        let ping = format!("\n{}\n", message(3, "ping", json!({})));
        stdin.write_all(ping.as_bytes()).await.unwrap();
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), writing);
    let output = output.unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), 3, "{text}");
    for (error, part) in [(&found[0], "no UTF-8"), (&found[1], "more than 67108864 bytes")] {
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32700), &json!(null)));
        assert!(error["error"]["message"].as_str().unwrap().contains(part), "{error}");
    }
    assert_eq!((&found[2]["id"], &found[2]["result"]), (&json!(3), &json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_cancels_a_call_also_where_disconnecting_does_not() {
    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::hang()));
    let settings = [("DSRS_RUNS_CANCEL_ON_DISCONNECT", "false")];
    let api = Api::start(&test_database().await, Some(lm), &settings).await;
    api.post("/v1/graphs", tool(one_node("q", "question -> answer"), json!(true)))
        .await
        .expect(201);
    let shell = Shell::at(&api);
    let mut child = shell.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let params =
        json!({"name": "q", "arguments": {"question": "?"}, "_meta": {"progressToken": 1}});
    // The second is answered by the progress of a call that has started.
    for line in [message(0, "initialize", hello), message(5, "tools/call", params)] {
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        within("an answer", lines.next_line()).await.unwrap().unwrap();
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}});
    stdin.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
    assert_eq!(until_cancelled(&api).await["error"]["code"], "run_cancelled");
    drop(stdin);
    // A cancelled request has no answer.
    assert_eq!(within("the end", lines.next_line()).await.unwrap(), None);
    assert!(child.wait().await.unwrap().success());
}
