//! Spans for OpenTelemetry, as a collector of our own receives them: structure, names, places in traces, contents, and
//! that no collector disturbs a run.

#[cfg(feature = "mcp")]
mod mcp;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use dsrs_telemetry::{GENAI_SCHEMA, GENERAL_SCHEMA};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Method;
use serde_json::{Value, json};

use dsrs_test::{
    AUTHORITY, Collector, CollectorAnswer, Does, FakeLm, Remote, SeenSpan, ServerSetup, behind_tls,
    mcp_example, one_node, sections, test_database,
};

const CONVENTIONS: &str = include_str!("conventions.txt");
const PAGE: &str = include_str!("../../../docs/operations/tracing.md");

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn answer() -> Does {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 40},
    });
    let said = sections([("answer", "Paris, secret-answer")]);
    let message = json!({"role": "assistant", "content": said, "reasoning_content": "I know it."});
    let choice = json!({"message": message, "finish_reason": "stop"});
    let answer = json!({
        "id": "chatcmpl-7", "model": "small-2026", "usage": usage, "choices": [choice],
    });
    Does::Answer(200, vec![], answer.to_string())
}

/// A server that sends spans to this address.
async fn server(lm: &FakeLm, variables: &[(&str, &str)]) -> ServerSetup {
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("DSRS_MODELS__FAST__MODEL", "small")
        .env("DSRS_MODELS__FAST__BASE_URL", &lm.url)
        .env("DSRS_MODELS__FAST__INPUT_PRICE", "1000000")
        .env("DSRS_MODELS__FAST__OUTPUT_PRICE", "0")
        .env("OTEL_BSP_SCHEDULE_DELAY", "50");
    variables.iter().fold(setup, |setup, (name, text)| setup.env(name, text))
}

async fn execute(api: &Remote, headers: &[(&str, &str)]) -> Value {
    let body = json!({"inputs": {"question": "secret-question"}}).to_string();
    let path = "/v1/graphs/qa/execute";
    api.send(Method::POST, path, headers, Some(body)).await.expect(200).json()
}

/// The dataset `cities`, whose examples the model answers as expected.
async fn store_cities(api: &Remote, count: usize) {
    let example = |n: usize| {
        let expected = json!({"answer": "Paris, secret-answer"});
        json!({"id": n.to_string(), "inputs": {"question": n.to_string()}, "expected": expected})
    };
    let examples: Vec<Value> = (1..=count).map(example).collect();
    api.post("/v1/datasets", json!({"name": "cities", "examples": examples})).await.expect(201);
}

fn only<'s>(spans: &'s [SeenSpan], start: &str) -> &'s SeenSpan {
    let mut found = spans.iter().filter(|span| span.name.starts_with(start));
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let first = found.next().unwrap_or_else(|| panic!("no span {start} in {names:?}"));
    assert!(found.next().is_none(), "several spans {start} in {names:?}");
    first
}

/// Every name of an attribute is one of the conventions, of OpenInference, or our own and explained.
fn check_names(spans: &[SeenSpan]) {
    let known: BTreeSet<&str> = CONVENTIONS.lines().filter(|line| !line.starts_with('#')).collect();
    let foreign = [
        "openinference.",
        "llm.",
        "input.",
        "output.",
        "embedding.",
        "tool.",
        "graph.node.",
        "tag.",
        "metadata",
    ];
    for span in spans {
        let events = span.events.iter().flat_map(|(_, attributes)| attributes.keys());
        for name in span.attributes.keys().chain(events).chain(span.resource.keys()) {
            let own =
                name.starts_with("dsrs.") || foreign.iter().any(|start| name.starts_with(start));
            assert!(own || known.contains(name.as_str()), "{name} of {} is unknown", span.name);
            assert!(PAGE.contains(&format!("`{name}`")), "docs/operations/tracing.md lacks {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_a_tree_of_spans_below_the_span_of_its_caller() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(
        &lm,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b"),
            ("OTEL_SERVICE_NAME", "support"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.namespace=shop"),
        ],
    )
    .await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let run = execute(&api, &[("traceparent", PARENT), ("tracestate", "vendor=1")]).await;
    let spans = collector.arrived(5).await;
    assert_eq!(spans.len(), 5, "{spans:#?}");
    check_names(&spans);

    let [request, root, node, predictor, chat] =
        ["POST ", "invoke_workflow ", "node ", "predict ", "chat "].map(|name| only(&spans, name));
    assert!(spans.iter().all(|span| span.trace == PARENT[3..35] && span.state == "vendor=1"));
    assert_eq!(request.parent, PARENT[36..52]);
    for (span, parent) in [(root, request), (node, root), (predictor, node), (chat, predictor)] {
        assert_eq!(span.parent, parent.id, "{} below {}", span.name, parent.name);
        assert!(span.nanos.0 + 5_000_000 >= parent.nanos.0, "{}", span.name);
    }
    assert_eq!(request.name, "POST /v1/graphs/{graph}/execute");
    assert_eq!((root.name.as_str(), chat.name.as_str()), ("invoke_workflow qa", "chat small"));
    assert_eq!(
        (request.kind, root.kind, chat.kind),
        (SpanKind::Server, SpanKind::Internal, SpanKind::Client)
    );
    assert_eq!(root.get("dsrs.run.id"), run["id"]);
    let asked = &lm.asked()[0].headers;
    assert_eq!(asked["traceparent"], format!("00-{}-{}-01", chat.trace, chat.id));
    assert_eq!(asked["tracestate"], "vendor=1");

    let port: u16 = lm.url.trim_end_matches("/v1").rsplit(':').next().unwrap().parse().unwrap();
    let expected = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small", "gen_ai.response.model": "small-2026",
        "gen_ai.response.id": "chatcmpl-7", "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 60, "gen_ai.usage.reasoning.output_tokens": 40,
        "server.address": "127.0.0.1", "server.port": port,
        "dsrs.cost": 100.0, "dsrs.node": "ask", "dsrs.predictor": "ask", "dsrs.attempt": 1,
        "dsrs.model.alias": "fast", "graph.node.id": "ask",
        "openinference.span.kind": "LLM", "llm.model_name": "small", "llm.provider": "openai",
        "llm.token_count.prompt": 100, "llm.token_count.completion": 50,
        "llm.token_count.total": 150, "llm.token_count.prompt_details.cache_read": 60,
        "llm.token_count.completion_details.reasoning": 40,
    });
    assert_eq!(json!(chat.attributes), expected);
    let expected = json!({
        "gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": "qa",
        "openinference.span.kind": "CHAIN", "dsrs.run.id": run["id"], "dsrs.run.kind": "execution",
        "dsrs.status": "succeeded", "dsrs.graph.name": "qa", "dsrs.graph.version": 1,
        "dsrs.state.version": 1, "dsrs.request.id": request.get("dsrs.request.id"),
        "dsrs.run.lm_calls": 1, "dsrs.run.cost": 100.0,
    });
    assert_eq!(json!(root.attributes), expected);
    assert_eq!(chat.resource["service.name"], "support");
    for schema in [GENERAL_SCHEMA, GENAI_SCHEMA] {
        assert!(chat.schemas.iter().any(|found| found == schema), "{:?}", chat.schemas);
        let version = schema.rsplit('/').next().unwrap();
        assert!(PAGE.contains(version), "docs/operations/tracing.md lacks {version}");
    }
    assert_eq!(chat.resource["service.namespace"], "shop");
    assert_eq!(chat.headers["x-tenant"], "a b");
    assert!(!format!("{spans:?}").contains("secret"), "no contents without consent: {spans:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_grpc_a_failed_run_has_the_kind_of_its_error_and_a_trace_with_the_id_of_the_run() {
    let refused = Does::Answer(401, vec![], json!({"error": {"message": "secret"}}).to_string());
    let (collector, lm) = (Collector::grpc().await, FakeLm::doing([refused]).await);
    let setup = server(
        &lm,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &collector.url),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key"),
        ],
    )
    .await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let body = json!({"inputs": {"question": "?"}});
    let failed = api.post("/v1/graphs/qa/execute", body).await;
    let run = failed.json()["run_id"].as_str().unwrap().to_owned();
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let (root, chat) = (only(&spans, "invoke_workflow "), only(&spans, "chat "));
    assert!(spans.iter().all(|span| span.trace == run.replace('-', "")), "{run} {spans:#?}");
    assert_eq!(only(&spans, "POST ").parent, "");
    assert!(root.failed && chat.failed);
    assert_eq!(root.get("error.type"), "lm_error");
    assert_eq!(chat.get("error.type"), "refused");
    for step in ["node ", "predict "] {
        assert_eq!(only(&spans, step).get("error.type"), "lm_error");
    }
    assert_eq!((root.message.as_str(), chat.message.as_str()), ("", ""));
    assert_eq!(chat.headers["authorization"], "Bearer key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_background_links_to_the_request_of_another_server() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    let database = test_database().await;
    let front = server(&lm, &variables).await.database(&database);
    let front = front.env("DSRS_WORKER_ENABLED", "false");
    let accepting = front.start();
    let worker = server(&lm, &variables).await.database(&database).worker();
    let _working = worker.start();
    let api = Remote::new(&accepting.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let body = json!({"inputs": {"question": "?"}}).to_string();
    let headers = [("traceparent", PARENT)];
    let accepted = api.send(Method::POST, "/v1/graphs/qa/runs", &headers, Some(body)).await;
    let id = accepted.expect(202).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(api.ended(&id).await["status"], "succeeded");
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let (request, root) = (only(&spans, "POST "), only(&spans, "invoke_workflow "));
    assert_eq!(
        (request.trace.as_str(), request.parent.as_str()),
        (&PARENT[3..35], &PARENT[36..52])
    );
    assert_eq!((root.trace.as_str(), root.parent.as_str()), (id.replace('-', "").as_str(), ""));
    assert_eq!(root.links, [(request.trace.clone(), request.id.clone())]);
    assert_eq!(root.get("dsrs.run.kind"), "background");
    assert!(root.get("dsrs.queue_time").as_f64().unwrap() >= 0.0);
    assert_ne!(root.resource["service.instance.id"], request.resource["service.instance.id"]);
    let chat = only(&spans, "chat ");
    assert_eq!(lm.asked()[0].headers["traceparent"], format!("00-{}-{}-01", root.trace, chat.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_and_evaluations_have_a_trace_for_each_run_and_scores_are_events() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(&lm, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]).await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    store_cities(&api, 2).await;
    let evaluation = json!({"dataset": "cities", "metric": "exact"});
    let started = api.post("/v1/graphs/qa/evaluations", evaluation).await.expect(202).json();
    let path = format!("/v1/evaluations/{}", started["id"].as_str().unwrap());
    api.until(&path, |found| found.json()["status"] == "succeeded").await;
    let spans = collector.arrived(9).await;
    check_names(&spans);
    let roots: Vec<_> = spans.iter().filter(|span| span.name == "invoke_workflow qa").collect();
    assert_eq!(roots.len(), 2);
    assert_ne!(roots[0].trace, roots[1].trace);
    let request = spans.iter().find(|span| span.name.ends_with("/evaluations")).unwrap();
    for root in roots {
        assert_eq!(root.links, [(request.trace.clone(), request.id.clone())]);
        let [(name, attributes)] = root.events.as_slice() else { panic!("{root:?}") };
        assert_eq!(name, "gen_ai.evaluation.result");
        let expected = [
            ("gen_ai.evaluation.name", json!("exact")),
            ("gen_ai.evaluation.score.value", json!(1.0)),
        ];
        assert_eq!(
            *attributes,
            BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value)))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rollouts_of_an_optimization_have_a_trace_each_with_a_link_to_its_request() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(&lm, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]).await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    store_cities(&api, 4).await;
    let body = json!({
        "trainset": "cities", "metric": "exact", "optimizer": "labeled_few_shot",
        "config": {"k": 1}, "seed": 7,
    });
    let started = api.post("/v1/graphs/qa/optimizations", body).await.expect(202).json();
    let path = format!("/v1/optimizations/{}", started["id"].as_str().unwrap());
    api.until(&path, |found| found.json()["status"] == "succeeded").await;
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let request = only(&spans, "POST ");
    let roots: Vec<_> = spans.iter().filter(|span| span.name == "invoke_workflow qa").collect();
    let traces: BTreeSet<&str> = roots.iter().map(|root| root.trace.as_str()).collect();
    assert_eq!(traces.len(), roots.len());
    for root in &roots {
        assert_eq!(root.get("dsrs.run.kind"), "optimization");
        assert_eq!(root.links, [(request.trace.clone(), request.id.clone())]);
        assert_eq!(root.events[0].1["gen_ai.evaluation.score.value"], 1.0);
    }
    let asked = &lm.asked()[0].headers["traceparent"];
    assert!(traces.contains(&asked[3..35]), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_in_the_form_of_the_conventions_once_they_are_switched_on() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(
        &lm,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ],
    )
    .await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let labels =
        [("x-dsrs-session-id", "s-1"), ("x-dsrs-user-id", "u-1"), ("x-dsrs-tags", "blue,green")];
    execute(&api, &labels).await;
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let read = |span: &SeenSpan, name: &str| -> Value {
        serde_json::from_str(span.get(name).as_str().unwrap()).unwrap()
    };
    let chat = only(&spans, "chat ");
    let input = read(chat, "gen_ai.input.messages");
    assert_eq!(input[0]["role"], "system");
    assert_eq!(input[1]["role"], "user");
    assert_eq!(input[1]["parts"][0]["type"], "text");
    assert!(input[1]["parts"][0]["content"].as_str().unwrap().contains("secret-question"));
    let said = sections([("answer", "Paris, secret-answer")]);
    let output = json!([{"role": "assistant", "finish_reason": "stop", "parts": [
        {"type": "reasoning", "content": "I know it."}, {"type": "text", "content": said},
    ]}]);
    assert_eq!(read(chat, "gen_ai.output.messages"), output);
    let root = only(&spans, "invoke_workflow ");
    assert_eq!(read(root, "input.value"), json!({"question": "secret-question"}));
    assert_eq!(read(root, "output.value"), json!({"answer": "Paris, secret-answer"}));
    assert_eq!(root.get("output.mime_type"), "application/json");
    assert_eq!(root.get("tag.tags"), json!(["blue", "green"]));
    for span in [root, chat] {
        let found = ["session.id", "gen_ai.conversation.id", "user.id"].map(|name| span.get(name));
        assert_eq!(found, [json!("s-1"), json!("s-1"), json!("u-1")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_over_http_receive_the_span_that_calls_them() {
    let step = |tool: &str| {
        let said = [("next_thought", "Go on."), ("next_tool_name", tool), ("next_tool_args", "{}")];
        Does::Say(sections(said))
    };
    let tool = FakeLm::doing([Does::Answer(200, vec![], "{}".to_owned())]).await;
    let last = Does::Say(sections([("reasoning", "So."), ("answer", "yes")]));
    let lm = FakeLm::doing([step("ask"), step("finish"), last]).await;
    let collector = Collector::http().await;
    let address = tool.url.trim_start_matches("http://").trim_end_matches("/v1");
    let setup = server(
        &lm,
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url), ("DSRS_TOOLS_ALLOW", address)],
    )
    .await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    let tools = json!([{"http": {"name": "ask", "description": "Asks.", "method": "POST", "url": tool.url}}]);
    let graph = json!({"name": "qa", "nodes": {"agent": {
        "strategy": "react", "signature": "question -> answer", "config": {"tools": tools}
    }}});
    api.post("/v1/graphs", graph).await.expect(201);
    execute(&api, &[]).await;
    let spans = collector.arrived(9).await;
    check_names(&spans);
    let called = spans.iter().find(|span| span.name == "execute_tool ask").unwrap();
    assert_eq!(called.get("gen_ai.tool.name"), "ask");
    assert_eq!(
        tool.asked()[0].headers["traceparent"],
        format!("00-{}-{}-01", called.trace, called.id)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_mcp_servers_receive_the_span_that_calls_them() {
    let step = |tool: &str| {
        let said = [("next_thought", "Go on."), ("next_tool_name", tool), ("next_tool_args", "{}")];
        Does::Say(sections(said))
    };
    let last = Does::Say(sections([("reasoning", "So."), ("answer", "yes")]));
    let lm = FakeLm::doing([step("span"), step("finish"), last]).await;
    let collector = Collector::http().await;
    let example = mcp_example().await.display().to_string();
    let office = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("DSRS_MCP__OFFICE__COMMAND", example.as_str()),
    ];
    let server = server(&lm, &office).await.start();
    let api = Remote::new(&server.url);
    let graph = json!({"name": "qa", "nodes": {"agent": {
        "strategy": "react", "signature": "question -> answer",
        "config": {"tools": [{"mcp": "office", "tools": ["span"]}]}
    }}});
    api.post("/v1/graphs", graph).await.expect(201);
    execute(&api, &[]).await;
    let spans = collector.arrived(9).await;
    check_names(&spans);
    let called = only(&spans, "execute_tool span");
    let shown = format!("00-{}-{}-01", called.trace, called.id);
    assert!(lm.asked()[1].text().contains(&shown), "the agent has seen what the tool received");
}

#[tokio::test(flavor = "multi_thread")]
async fn embedding_models_receive_the_span_that_asks_them() {
    let vector = json!({
        "data": [{"index": 0, "embedding": [1.0, 0.0]}], "usage": {"prompt_tokens": 4}
    });
    let vectors = FakeLm::doing([Does::Answer(200, vec![], vector.to_string())]).await;
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("DSRS_MODELS__VECTORS__MODEL", "embed-1"),
        ("DSRS_MODELS__VECTORS__EMBEDDING", "true"),
        ("DSRS_MODELS__VECTORS__BASE_URL", vectors.url.as_str()),
    ];
    let server = server(&lm, &variables).await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let demo = json!({"input": {"question": "Where?"}, "output": {"answer": "Here."}});
    // The vector [1, 0].
    let nearest = json!({"model": "vectors", "k": 1, "dimensions": 2, "vectors": "AACAPwAAAAA="});
    let state = json!({"predictors": {"ask": {"demos": [demo], "nearest": nearest}}});
    api.put("/v1/graphs/qa/state", state).await.expect(200);
    execute(&api, &[]).await;
    let spans = collector.arrived(6).await;
    check_names(&spans);
    let asked = only(&spans, "embeddings ");
    assert_eq!((asked.name.as_str(), asked.kind), ("embeddings embed-1", SpanKind::Client));
    assert_eq!(asked.parent, only(&spans, "predict ").id);
    let sent = &vectors.asked()[0].headers["traceparent"];
    assert_eq!(*sent, format!("00-{}-{}-01", asked.trace, asked.id));
    let expected = json!({
        "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "embed-1", "gen_ai.usage.input_tokens": 4,
        "openinference.span.kind": "EMBEDDING", "embedding.model_name": "embed-1",
        "dsrs.model.alias": "vectors",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(asked.get(name), *value, "{name}");
    }
}

#[cfg(feature = "genai")]
#[tokio::test(flavor = "multi_thread")]
async fn models_of_other_providers_receive_the_span_that_asks_them() {
    let said = sections([("answer", "yes")]);
    let message = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-7",
        "content": [{"type": "text", "text": said}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 2}
    });
    let lm = FakeLm::doing([Does::Answer(200, vec![], message.to_string())]).await;
    let collector = Collector::http().await;
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("DSRS_MODELS__CLAUDE__PROVIDER", "anthropic")
        .env("DSRS_MODELS__CLAUDE__MODEL", "claude-latest")
        .env("DSRS_MODELS__CLAUDE__BASE_URL", &lm.url)
        .env("DSRS_MODELS__CLAUDE__API_KEY", "k")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_BSP_SCHEDULE_DELAY", "50");
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    execute(&api, &[]).await;
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let chat = only(&spans, "chat ");
    assert_eq!(chat.get("gen_ai.provider.name"), "anthropic");
    assert_eq!(chat.get("gen_ai.response.model"), "claude-7");
    let sent = &lm.asked()[0].headers["traceparent"];
    assert_eq!(*sent, format!("00-{}-{}-01", chat.trace, chat.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_run_has_the_time_of_its_first_chunk() {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "c-1", "model": "small-2026", "choices": [choice]}))
    };
    let said = chunk(json!({"content": sections([("answer", "yes")])}), Value::Null);
    let body = format!("{said}{}data: [DONE]\n\n", chunk(json!({}), json!("stop")));
    let streams = Does::Answer(200, vec![("content-type", "text/event-stream".to_owned())], body);
    let (collector, lm) = (Collector::http().await, FakeLm::doing([streams]).await);
    let setup = server(&lm, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]).await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let stream = [("accept", "text/event-stream")];
    let body = json!({"inputs": {"question": "?"}}).to_string();
    let path = "/v1/graphs/qa/execute";
    let events = api.send(Method::POST, path, &stream, Some(body)).await.expect(200);
    assert!(events.text.contains("event: run.completed"), "{}", events.text);
    let spans = collector.arrived(5).await;
    check_names(&spans);
    let chat = only(&spans, "chat ");
    assert_eq!(chat.get("gen_ai.request.stream"), true);
    assert!(chat.get("gen_ai.response.time_to_first_chunk").as_f64().unwrap() >= 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_its_caller_does_not_collect_is_passed_on_and_not_sent() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(&lm, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]).await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let unsampled = PARENT.replace("-01", "-00");
    execute(&api, &[("traceparent", &unsampled)]).await;
    execute(&api, &[]).await;
    let spans = collector.arrived(5).await;
    assert_eq!(spans.len(), 5);
    assert!(spans.iter().all(|span| span.trace != PARENT[3..35]));
    let sent = &lm.asked()[0].headers["traceparent"];
    assert!(sent.starts_with(&PARENT[..36]) && sent.ends_with("-00"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_endpoint_nothing_is_added_to_requests() {
    let lm = FakeLm::doing([answer()]).await;
    let server = server(&lm, &[("OTEL_SERVICE_NAME", "x")]).await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    execute(&api, &[("traceparent", PARENT)]).await;
    assert!(!lm.asked()[0].headers.contains_key("traceparent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_may_require_tls_over_both_protocols() {
    for (collector, protocol, alpn) in [
        (Collector::http().await, "http/protobuf", "http/1.1"),
        (Collector::grpc().await, "grpc", "h2"),
    ] {
        let lm = FakeLm::doing([answer()]).await;
        let url = behind_tls(&collector.url, alpn).await;
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("SSL_CERT_FILE", AUTHORITY),
        ];
        let server = server(&lm, &variables).await.start();
        let api = Remote::new(&server.url);
        api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
        execute(&api, &[]).await;
        assert_eq!(collector.arrived(5).await.len(), 5, "{protocol}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_collector_is_asked_again_and_spans_that_it_refuses_are_counted() {
    use CollectorAnswer::{Partial, Refusal};
    // Unavailable, and an invalid argument, in the codes of both protocols.
    for (collector, protocol, compression, busy, invalid) in [
        (Collector::http().await, "http/protobuf", "gzip", 503, 400),
        (Collector::grpc().await, "grpc", "gzip", 14, 3),
        (Collector::grpc().await, "grpc", "none", 14, 3),
    ] {
        let lm = FakeLm::doing([answer()]).await;
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", compression),
            // Each of the spans is then a request.
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1"),
        ];
        let setup = server(&lm, &variables).await;
        let server = setup.start();
        let api = Remote::new(&server.url);
        api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
        let first = [Refusal(busy), Refusal(busy), Refusal(invalid), Partial(1), Partial(0)];
        collector.answer_next(&first);
        execute(&api, &[]).await;
        let expected = [
            "dsrs_trace_spans_total{outcome=\"sent\"} 3",
            "dsrs_trace_spans_total{outcome=\"failed\"} 2",
        ];
        api.until("/metrics", |metrics| {
            expected.iter().all(|line| metrics.text.lines().any(|found| found == *line))
        })
        .await;
        // One was refused, and one that arrived was not accepted.
        assert_eq!(collector.spans().len(), 4, "{protocol}");
        let log = std::fs::read_to_string(setup.log()).unwrap();
        assert!(log.contains("the collector did not accept spans"), "{log}");
    }
}

/// For a collector that receives each span alone.
fn alone<'a>(collector: &'a Collector, protocol: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_asks_for_a_pause_is_asked_again_after_it() {
    // Too many requests, and an exhausted resource, in the codes of both protocols.
    for (collector, protocol, exhausted) in
        [(Collector::http().await, "http/protobuf", 429), (Collector::grpc().await, "grpc", 8)]
    {
        let lm = FakeLm::doing([answer()]).await;
        let server = server(&lm, &alone(&collector, protocol)).await.start();
        let api = Remote::new(&server.url);
        collector.answer_next(&[CollectorAnswer::Pause(exhausted, 2)]);
        let began = Instant::now();
        api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
        execute(&api, &[]).await;
        assert_eq!(collector.arrived(5).await.len(), 5, "{protocol}");
        // The least that it may take.
        assert!(began.elapsed() >= Duration::from_secs(2), "{protocol}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_fails_its_spans_alone() {
    let (collector, lm) = (Collector::grpc().await, FakeLm::doing([answer()]).await);
    let server = server(&lm, &alone(&collector, "grpc")).await.start();
    let api = Remote::new(&server.url);
    collector.answer_next(&[CollectorAnswer::Malformed(3)]);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    execute(&api, &[]).await;
    assert_eq!(collector.arrived(4).await.len(), 4);
    let failed = "dsrs_trace_spans_total{outcome=\"failed\"} 1";
    api.until("/metrics", |metrics| metrics.text.lines().any(|line| line == failed)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_dead_or_never_answers_delays_no_run_and_spans_are_counted() {
    let lm = FakeLm::doing([answer()]).await;
    let stalling = Collector::stalling().await;
    // Nobody listens at the first one.
    for (url, outcome) in [("http://127.0.0.1:9", "failed"), (stalling.url.as_str(), "dropped")] {
        let setup = server(
            &lm,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000"),
                ("OTEL_BSP_MAX_QUEUE_SIZE", "20"),
            ],
        )
        .await;
        let server = setup.start();
        let api = Remote::new(&server.url);
        api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
        // A run that waited for the collector would wait for longer than its client does.
        for _ in 0..21 {
            execute(&api, &[]).await;
        }
        let count = format!("dsrs_trace_spans_total{{outcome=\"{outcome}\"}} ");
        let counted = |text: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&count));
            line.unwrap().parse().unwrap()
        };
        api.until("/metrics", |metrics| counted(&metrics.text) > 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_sends_its_last_spans() {
    let (collector, lm) = (Collector::http().await, FakeLm::doing([answer()]).await);
    let setup = server(
        &lm,
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url), ("OTEL_BSP_SCHEDULE_DELAY", "600000")],
    )
    .await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    execute(&api, &[]).await;
    assert!(collector.spans().is_empty());
    assert!(server.stop().success());
    assert_eq!(collector.spans().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_cannot_be_read_stop_the_start_with_a_way_out() {
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
        .env("OTEL_TRACES_SAMPLER", "sometimes");
    let refused = setup.try_start().err().unwrap();
    for words in [
        "OTEL_EXPORTER_OTLP_ENDPOINT (environment): expected",
        "OTEL_TRACES_SAMPLER = \"sometimes\"",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn the_page_about_tracing_explains_every_variable() {
    let source = include_str!("../../../crates/dsrs-config/src/telemetry.rs");
    let name = regex::Regex::new(r#""(OTEL_[A-Z_]+)""#).unwrap();
    for found in name.captures_iter(source) {
        assert!(PAGE.contains(&found[1]), "docs/operations/tracing.md lacks {}", &found[1]);
    }
}
