//! The span of a call of a tool at `/mcp`: below the span that its message names, above that of its run, for answers of
//! every kind and over both transports.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Method;
use serde_json::{Value, json};

use super::{PARENT, answer, check_names, only, server};
use crate::cli::Shell;
use dsrs_test::{Collector, Does, FakeLm, Gate, Remote, SeenSpan, Server, one_node, within};

const JSON: &str = "application/json";
const BOTH: &str = "application/json, text/event-stream";

/// A span that a client names in `_meta`.
const NAMED: &str = "00-1bf7651916cd43dd8448eb211c80319c-c8ad6b7169203331-01";

/// A server with the tool `qa` whose spans arrive at the collector.
async fn tool(lm: &FakeLm, variables: &[(&str, &str)]) -> (Collector, Server, Remote) {
    let collector = Collector::http().await;
    let mut all = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    all.extend_from_slice(variables);
    let server = server(lm, &all).await.start();
    let api = Remote::new(&server.url);
    let mut graph = one_node("qa", "question -> answer");
    graph["expose"] = json!({"mcp": true});
    api.post("/v1/graphs", graph).await.expect(201);
    (collector, server, api)
}

fn call(name: &str, meta: &Value) -> String {
    let arguments = json!({"question": "secret-question"});
    let params = json!({"name": name, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()
}

async fn send(api: &Remote, headers: &[(&str, &str)], body: String) {
    api.send(Method::POST, "/mcp", headers, Some(body)).await.expect(200);
}

/// The span of the call, with that of its run below.
fn called<'s>(spans: &'s [SeenSpan], name: &str) -> &'s SeenSpan {
    check_names(spans);
    let (called, run) = (only(spans, "tools/call"), only(spans, "invoke_workflow "));
    assert_eq!((called.name.as_str(), called.kind), (name, SpanKind::Server));
    assert_eq!((&run.parent, &run.trace), (&called.id, &called.trace));
    called
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_span_above_its_run_in_either_form_of_answer() {
    for accept in [JSON, BOTH] {
        let lm = FakeLm::doing([answer()]).await;
        let (collector, _server, api) = tool(&lm, &[]).await;
        let headers = [
            ("accept", accept),
            ("traceparent", PARENT),
            ("mcp-session-id", "0197f1a0-0000-7000-8000-000000000000"),
            ("mcp-protocol-version", "2025-06-18"),
            ("x-request-id", "r-1"),
        ];
        send(&api, &headers, call("qa", &json!({}))).await;
        let spans = collector.arrived(5).await;
        let called = called(&spans, "tools/call qa");
        // Without a span in the message, that of the request is above.
        assert_eq!(
            (called.trace.as_str(), called.parent.as_str()),
            (&PARENT[3..35], &PARENT[36..52])
        );
        assert_eq!((called.links.len(), called.failed), (0, false), "{accept}");
        let mut attributes = called.attributes.clone();
        attributes.remove("mcp.protocol.version");
        let expected = json!({
            "mcp.method.name": "tools/call", "mcp.session.id": headers[2].1,
            "jsonrpc.request.id": "7", "network.transport": "tcp", "network.protocol.name": "http",
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "qa",
            "openinference.span.kind": "TOOL", "tool.name": "qa", "dsrs.request.id": "r-1",
        });
        assert_eq!(json!(attributes), expected, "{accept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_span_of_a_message_is_above_and_that_of_the_request_is_linked() {
    for accept in [JSON, BOTH] {
        let lm = FakeLm::doing([answer()]).await;
        let (collector, _server, api) = tool(&lm, &[]).await;
        let headers = [("accept", accept), ("traceparent", PARENT), ("tracestate", "request=1")];
        let meta = json!({"traceparent": NAMED, "tracestate": "message=1", "baggage": "a=b"});
        send(&api, &headers, call("qa", &meta)).await;
        let spans = collector.arrived(5).await;
        let called = called(&spans, "tools/call qa");
        assert_eq!(
            (called.trace.as_str(), called.parent.as_str()),
            (&NAMED[3..35], &NAMED[36..52])
        );
        assert!(spans.iter().all(|span| span.trace == called.trace && span.state == "message=1"));
        let request = (PARENT[3..35].to_owned(), PARENT[36..52].to_owned());
        assert_eq!(called.links, [request], "{accept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_revision_is_named_and_an_invalid_span_is_none() {
    let lm = FakeLm::doing([answer()]).await;
    let (collector, _server, api) = tool(&lm, &[]).await;
    let revision = "2026-07-28";
    let headers = [
        ("accept", BOTH),
        ("mcp-protocol-version", revision),
        ("mcp-method", "tools/call"),
        ("mcp-name", "qa"),
        // No part of this revision.
        ("mcp-session-id", "0197f1a0-0000-7000-8000-000000000000"),
    ];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": "00-0-0-01",
    });
    send(&api, &headers, call("qa", &meta)).await;
    let spans = collector.arrived(5).await;
    let called = called(&spans, "tools/call qa");
    assert_eq!((called.parent.as_str(), called.get("mcp.protocol.version")), ("", json!(revision)));
    assert_eq!(called.get("mcp.session.id"), Value::Null);
    // A trace without a caller has the id of the run.
    let run = only(&spans, "invoke_workflow ").get("dsrs.run.id");
    assert_eq!(run.as_str().unwrap().replace('-', ""), called.trace);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_span_of_a_message_passes_through_the_bridge_of_standard_input() {
    let lm = FakeLm::doing([answer()]).await;
    let (collector, server, _api) = tool(&lm, &[]).await;
    let shell = Shell::with_env(&[("DSRS_URL", &server.url)]);
    let line = format!("{}\n", call("qa", &json!({"traceparent": NAMED})));
    let ran = shell.run_with(&["mcp"], &line).await.expect(0);
    assert!(ran.stdout.contains("Paris"), "{}", ran.stdout);
    let spans = collector.arrived(5).await;
    let called = called(&spans, "tools/call qa");
    assert_eq!((called.trace.as_str(), called.parent.as_str()), (&NAMED[3..35], &NAMED[36..52]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_has_the_kind_of_its_error() {
    for accept in [JSON, BOTH] {
        let refused = Does::Answer(401, vec![], "{}".to_owned());
        let lm = FakeLm::doing([refused]).await;
        let (collector, _server, api) = tool(&lm, &[]).await;
        send(&api, &[("accept", accept)], call("qa", &json!({}))).await;
        let spans = collector.arrived(5).await;
        let failed = called(&spans, "tools/call qa");
        assert_eq!((failed.failed, failed.get("error.type")), (true, json!("tool_error")));
        assert_eq!(failed.get("rpc.status_code"), Value::Null);
        // There is no such tool, and no run.
        send(&api, &[("accept", accept)], call("none", &json!({"traceparent": NAMED}))).await;
        let spans = collector.arrived(6).await;
        check_names(&spans);
        let unknown = spans.iter().find(|span| span.name == "tools/call").unwrap();
        assert_eq!(unknown.parent, NAMED[36..52]);
        assert_eq!((unknown.failed, unknown.message.as_str()), (true, ""));
        for name in ["error.type", "rpc.status_code"] {
            assert_eq!(unknown.get(name), "-32602");
        }
        assert_eq!(unknown.get("gen_ai.tool.name"), "none");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_client_leaves_has_a_span() {
    for accept in [JSON, BOTH] {
        let lm = FakeLm::doing([Does::StallUntil(Gate::new())]).await;
        let (collector, _server, api) = tool(&lm, &[]).await;
        let calling = {
            let api = api.clone();
            tokio::spawn(
                async move { send(&api, &[("accept", accept)], call("qa", &json!({}))).await },
            )
        };
        lm.arrived(1).await;
        calling.abort();
        let spans = within("the spans", collector.arrived(5)).await;
        let called = called(&spans, "tools/call qa");
        assert_eq!((called.failed, called.get("error.type")), (true, json!("cancelled")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_arguments_and_outputs_once_they_are_switched_on() {
    let lm = FakeLm::doing([answer()]).await;
    let contents = [("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")];
    let (collector, _server, api) = tool(&lm, &contents).await;
    send(&api, &[("accept", BOTH)], call("qa", &json!({}))).await;
    let spans = collector.arrived(5).await;
    let called = called(&spans, "tools/call qa");
    for (name, expected) in [
        ("gen_ai.tool.call.arguments", json!({"question": "secret-question"})),
        ("gen_ai.tool.call.result", json!({"answer": "Paris, secret-answer"})),
    ] {
        let found: Value = serde_json::from_str(called.get(name).as_str().unwrap()).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}
