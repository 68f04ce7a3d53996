//! Models over protocols of single providers, against a test server for Anthropic, Gemini and OpenAI's
//! responses: requests, whole and streamed answers, reasoning, failures.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::lm::{
    Chat, DecodingConstraint, DeltaSink, ExtraBody, ExtraHeaders, HttpLimits, Lm, LmError,
    LmErrorKind, LmParams, LmReply, LmRequest, Message, Native, NativeConfig, Prefix, Protocol,
    ReasoningEffort, ToolCall, ToolSet, ToolSpec,
};
use dsrs::value::Payload;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const KEY: &str = "sk-very-secret";

/// A server that answers each request with the next bytes, the last ones again and again; empty ones
/// are no answer.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    /// Notified of a request, and of a client that disconnects without an answer.
    arrived: Arc<Notify>,
    left: Arc<Notify>,
}

impl Server {
    async fn saying(answer: String) -> Self {
        Self::saying_each([answer]).await
    }

    async fn saying_each(answers: impl IntoIterator<Item = String>) -> Self {
        let answers: Vec<String> = answers.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let server =
            Self { url, seen: Arc::default(), arrived: Arc::default(), left: Arc::default() };
        let (seen, arrived, left) =
            (server.seen.clone(), server.arrived.clone(), server.left.clone());
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, seen) = (answers[number].clone(), seen.clone());
                number = (number + 1).min(answers.len() - 1);
                let (arrived, left) = (arrived.clone(), left.clone());
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await;
                    seen.lock().unwrap().push(request);
                    arrived.notify_one();
                    if answer.is_empty() {
                        let _ = stream.read(&mut [0]).await;
                        left.notify_one();
                    }
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        server
    }

    fn model(&self, protocol: Protocol) -> Native {
        model(protocol, &self.url)
    }

    /// The head of the only request, and its body.
    fn request(&self) -> (String, Value) {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1);
        requests.remove(0)
    }

    /// The heads and bodies of all requests.
    fn requests(&self) -> Vec<(String, Value)> {
        let seen = self.seen.lock().unwrap();
        let parts = seen.iter().map(|request| request.split_once("\r\n\r\n").unwrap());
        parts
            .map(|(head, body)| (head.to_lowercase(), serde_json::from_str(body).unwrap()))
            .collect()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return text;
        }
    }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n{headers}\r\n{body}"
    )
}

fn ok(body: &Value) -> String {
    http("200 OK", "", &body.to_string())
}

/// Server-sent events up to the end of the connection.
fn events(events: &[(&str, Value)]) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let events = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n"));
    head.to_owned() + &events.collect::<String>()
}

fn model(protocol: Protocol, url: &str) -> Native {
    named_model(protocol, url, "claude-tiny")
}

fn named_model(protocol: Protocol, url: &str, name: &str) -> Native {
    Native::new(NativeConfig {
        protocol,
        base_url: url.to_owned(),
        model: name.into(),
        api_key: Some(KEY.into()),
        marks_prefix: true,
        http: HttpLimits::default(),
    })
    .unwrap()
}

fn question() -> LmRequest {
    let prefix = [Message::system("Be brief."), Message::user("2?"), Message::assistant("4")];
    let chat = Chat { prefix: Prefix::of(prefix), turns: vec![Message::user("why?")] };
    let params = LmParams { temperature: Some(0.5), max_tokens: Some(64), ..LmParams::default() };
    LmRequest::new(chat, params)
}

fn answer(content: Value, reason: &str) -> Value {
    json!({"id": "m1", "type": "message", "role": "assistant", "model": "claude-tiny-7",
        "content": content, "stop_reason": reason,
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 2}})
}

async fn stream(lm: &Native, request: &LmRequest) -> (Result<LmReply, LmError>, Vec<String>) {
    let mut deltas = Vec::new();
    let mut push = |delta: &str| deltas.push(delta.to_owned());
    let reply = lm.complete(request, DeltaSink::to(&mut push)).await;
    (reply, deltas)
}

#[tokio::test]
async fn a_conversation_is_sent_in_the_format_of_the_provider() {
    let text = json!([{"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Be"}, {"type": "text", "text": "cause."}]);
    let server = Server::saying(ok(&answer(text, "end_turn"))).await;
    let reply =
        server.model(Protocol::Anthropic).complete(&question(), DeltaSink::closed()).await.unwrap();
    assert_eq!((&*reply.text, &*reply.model), ("Because.", "claude-tiny-7"));
    assert_eq!((reply.finish_reason.as_deref(), reply.tool_calls.len()), (Some("stop"), 0));
    let usage = reply.usage;
    assert_eq!((usage.lm_calls, usage.input_tokens, usage.output_tokens), (1, 9, 2));
    assert_eq!(usage.cached_tokens, 4);

    let (head, body) = server.request();
    assert!(head.starts_with("post /v1/messages "), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}")), "{head}");
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude-tiny"), &json!(64)));
    assert_eq!(body["temperature"], 0.5);
    assert!(body["system"].to_string().contains("Be brief."), "{body}");
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|said| &said["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

#[tokio::test]
async fn tools_calls_and_results_are_exchanged() {
    let asked = json!([{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c3", "name": "find", "input": {"city": "Turku"}}]);
    let server = Server::saying(ok(&answer(asked, "tool_use"))).await;
    let call = |id: &str| ToolCall {
        id: id.into(),
        name: "find".into(),
        arguments: r#"{"city":"Oz"}"#.into(),
    };
    let calls = vec![call("c1"), call("c2")];
    let results = [Message::result(&calls[0], "none"), Message::result(&calls[1], "nothing")];
    let parameters = RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap();
    let tool = ToolSpec {
        name: "find".into(),
        description: "finds".into(),
        parameters: parameters.into(),
    };
    let mut request = LmRequest { tools: Some(ToolSet::of([tool])), ..question() };
    request.chat.turns.push(Message::calling("", calls));
    request.chat.turns.extend(results);
    let reply =
        server.model(Protocol::Anthropic).complete(&request, DeltaSink::closed()).await.unwrap();
    let [found] = &reply.tool_calls[..] else { panic!("{reply:?}") };
    assert_eq!(
        (&*found.id, &*found.name, &*found.arguments),
        ("c3", "find", r#"{"city":"Turku"}"#)
    );
    assert_eq!((&*reply.text, reply.finish_reason.as_deref()), ("I look.", Some("tool_calls")));

    let (_, body) = server.request();
    assert_eq!(body["tools"][0]["name"], "find");
    let messages = body["messages"].as_array().unwrap();
    let called = messages[messages.len() - 2]["content"].as_array().unwrap();
    assert_eq!((called.len(), &called[1]["input"]), (2, &json!({"city": "Oz"})));
    let results = messages[messages.len() - 1]["content"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|result| &result["tool_use_id"]).collect();
    assert_eq!(ids, ["c1", "c2"]);
}

fn thinking_answer() -> Value {
    let content = json!([{"type": "thinking", "thinking": "It is late.", "signature": "sig-1"},
        {"type": "tool_use", "id": "c1", "name": "find", "input": {}}]);
    json!({"id": "m1", "type": "message", "role": "assistant", "model": "claude-tiny-7",
        "content": content, "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7,
            "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 15}}})
}

#[tokio::test]
async fn reasoning_is_requested_reported_and_sent_back_with_its_signature() {
    let server = Server::saying(ok(&thinking_answer())).await;
    let lm = server.model(Protocol::Anthropic);
    let mut request = question();
    request.params.temperature = None;
    request.params.reasoning_effort = Some(ReasoningEffort::Tokens(2048));
    let reply = lm.complete(&request, DeltaSink::closed()).await.unwrap();
    assert_eq!(reply.reasoning.as_ref().unwrap().text(), "It is late.");
    let usage = reply.usage;
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens), (52, 40, 7));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (20, 15));

    let call = reply.tool_calls[0].clone();
    request.chat.turns.push(Message::of_reply(reply));
    request.chat.turns.push(Message::result(&call, "nothing"));
    lm.complete(&request, DeltaSink::closed()).await.unwrap();
    let sent = server.requests();
    assert_eq!(sent[0].1["thinking"]["budget_tokens"], 2048, "{}", sent[0].1);
    let messages = sent[1].1["messages"].as_array().unwrap();
    let called = messages[messages.len() - 2]["content"].as_array().unwrap();
    let thinking = json!({"type": "thinking", "thinking": "It is late.", "signature": "sig-1"});
    assert_eq!((&called[0], &called[1]["type"]), (&thinking, &json!("tool_use")));
}

#[tokio::test]
async fn streamed_reasoning_is_not_part_of_the_text() {
    let block = |delta: Value| ("content_block_delta", json!({"index": 0, "delta": delta}));
    let start =
        json!({"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}});
    let mut all = answer_events(&[]);
    all.truncate(1);
    all.push(("content_block_start", start));
    all.push(block(json!({"type": "thinking_delta", "thinking": "It is "})));
    all.push(block(json!({"type": "thinking_delta", "thinking": "late."})));
    all.push(block(json!({"type": "signature_delta", "signature": "sig-1"})));
    all.push(("content_block_stop", json!({"index": 0})));
    all.push((
        "content_block_start",
        json!({"index": 1, "content_block": {"type": "text", "text": ""}}),
    ));
    let text = json!({"index": 1, "delta": {"type": "text_delta", "text": "Because."}});
    all.push(("content_block_delta", text));
    all.extend(end("end_turn"));
    let server = Server::saying(events(&all)).await;
    let (reply, pieces) = stream(&server.model(Protocol::Anthropic), &question()).await;
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, pieces.concat().as_str()), ("Because.", "Because."));
    let reasoning = reply.reasoning.unwrap();
    assert_eq!(reasoning.text(), "It is late.");
    assert_eq!(reasoning.signatures, ["sig-1".into()]);
}

#[tokio::test]
async fn the_shared_prefix_is_marked_for_the_cache_of_the_provider() {
    let server =
        Server::saying(ok(&answer(json!([{"type": "text", "text": "a"}]), "end_turn"))).await;
    server.model(Protocol::Anthropic).complete(&question(), DeltaSink::closed()).await.unwrap();
    let (_, body) = server.request();
    let messages = body["messages"].as_array().unwrap();
    let is_marked = |message: &Value| message.to_string().contains("cache_control");
    let marked: Vec<bool> = messages.iter().map(is_marked).collect();
    assert_eq!(marked, [false, true, false], "{body}");
}

#[tokio::test]
async fn a_refused_setting_is_left_out_from_then_on_and_reported() {
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "`temperature` is deprecated for this model."}});
    let good = ok(&answer(json!([{"type": "text", "text": "a"}]), "end_turn"));
    for is_streamed in [false, true] {
        let good = match is_streamed {
            true => events(&[answer_events(&["a"]), end("end_turn").to_vec()].concat()),
            false => good.clone(),
        };
        let refused = http("400 Bad Request", "", &refusal.to_string());
        let server = Server::saying_each([refused, good]).await;
        let lm = server.model(Protocol::Anthropic);
        for _ in 0..2 {
            let reply = match is_streamed {
                true => stream(&lm, &question()).await.0.unwrap(),
                false => lm.complete(&question(), DeltaSink::closed()).await.unwrap(),
            };
            assert_eq!(reply.omitted.names().collect::<Vec<_>>(), ["temperature"]);
        }
        let sent: Vec<_> =
            server.requests().iter().map(|(_, body)| body["temperature"].clone()).collect();
        assert_eq!(sent, [json!(0.5), Value::Null, Value::Null]);
    }
}

#[tokio::test]
async fn extra_members_and_headers_reach_the_provider() {
    let server =
        Server::saying(ok(&answer(json!([{"type": "text", "text": "a"}]), "end_turn"))).await;
    let members = Payload::from_json(r#"{"metadata": {"user_id": "u1"}}"#).unwrap();
    let mut request = question();
    request.params.service_tier = Some("standard_only".into());
    request.params.extra_body = ExtraBody::of(members.as_map().unwrap()).ok();
    request.params.extra_headers = ExtraHeaders::of([("anthropic-beta", "new-thing")]).ok();
    server.model(Protocol::Anthropic).complete(&request, DeltaSink::closed()).await.unwrap();
    let (head, body) = server.request();
    assert!(head.contains("anthropic-beta: new-thing"), "{head}");
    assert_eq!(body["metadata"]["user_id"], "u1");
    assert_eq!(body["service_tier"], "standard_only");
}

#[tokio::test]
async fn the_responses_of_openai_are_one_more_protocol() {
    let body = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-tiny-7",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "enc-1"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Because.", "annotations": []}]}],
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 25}, "total_tokens": 39}});
    let server = Server::saying(ok(&body)).await;
    let mut request = question();
    request.params.temperature = None;
    request.params.reasoning_effort = Some(ReasoningEffort::Low);
    let lm = server.model(Protocol::Responses);
    let reply = lm.complete(&request, DeltaSink::closed()).await.unwrap();
    assert_eq!((&*reply.text, reply.finish_reason.as_deref()), ("Because.", Some("stop")));
    assert_eq!(reply.reasoning.unwrap().text(), "Hm.");
    let usage = reply.usage;
    assert_eq!((usage.input_tokens, usage.cached_tokens), (9, 4));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (30, 25));
    let (head, sent) = server.request();
    assert!(head.starts_with("post /v1/responses "), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head}");
    assert_eq!(
        (&sent["reasoning"]["effort"], &sent["max_output_tokens"]),
        (&json!("low"), &json!(64))
    );
    assert_eq!(sent["store"], false);
}

/// The events of a complete answer.
fn answer_events(pieces: &[&str]) -> Vec<(&'static str, Value)> {
    let usage = json!({"input_tokens": 9, "output_tokens": 1});
    let mut events = vec![
        (
            "message_start",
            json!({"type": "message_start", "message": {"model": "claude-tiny", "usage": usage}}),
        ),
        ("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})),
    ];
    for piece in pieces {
        let delta = json!({"index": 0, "delta": {"type": "text_delta", "text": piece}});
        events.push(("content_block_delta", delta));
    }
    events
}

fn end(reason: &str) -> [(&'static str, Value); 3] {
    [
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})),
        ("message_stop", json!({"type": "message_stop"})),
    ]
}

#[tokio::test]
async fn a_streamed_answer_arrives_in_deltas() {
    let all = [answer_events(&["Be", "caüse."]), end("max_tokens").to_vec()].concat();
    let server = Server::saying(events(&all)).await;
    let (reply, pieces) = stream(&server.model(Protocol::Anthropic), &question()).await;
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, pieces), ("Becaüse.", vec!["Be".to_owned(), "caüse.".to_owned()]));
    assert_eq!(reply.finish_reason.as_deref(), Some("length"));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 3));
    assert_eq!(server.request().1["stream"], true);
}

#[tokio::test]
async fn streamed_tool_calls_are_combined() {
    let part = |json: &str| json!({"index": 1, "delta": {"type": "input_json_delta", "partial_json": json}});
    let block = json!({"type": "tool_use", "id": "c1", "name": "find", "input": {}});
    let calling = [
        ("content_block_stop", json!({"index": 0})),
        ("content_block_start", json!({"index": 1, "content_block": block})),
        ("content_block_delta", part("{\"city\":")),
        ("content_block_delta", part("\"Turku\"}")),
    ];
    let all = [answer_events(&["I look."]), calling.to_vec(), end("tool_use").to_vec()].concat();
    let server = Server::saying(events(&all)).await;
    let (reply, pieces) = stream(&server.model(Protocol::Anthropic), &question()).await;
    let reply = reply.unwrap();
    assert_eq!(
        (pieces.concat().as_str(), reply.finish_reason.as_deref()),
        ("I look.", Some("tool_calls"))
    );
    assert_eq!(&*reply.tool_calls[0].arguments, r#"{"city":"Turku"}"#);
}

#[tokio::test]
async fn the_status_decides_the_kind_of_failure_in_both_modes() {
    use LmErrorKind::{ContextOverflow, Provider, RateLimited, Refused};
    let long = "prompt is too long: 210000 tokens > 200000 maximum";
    for (status, words, kind) in [
        ("429 Too Many Requests", "slow down, too many tokens per minute", RateLimited),
        ("529 Overloaded", "Overloaded", Provider),
        ("500 Internal Server Error", "oh", Provider),
        ("401 Unauthorized", "no key like sk-very-secret", Refused),
        ("400 Bad Request", long, ContextOverflow),
    ] {
        let body = json!({"type": "error", "error": {"type": "x", "message": words}}).to_string();
        let server = Server::saying(http(status, "retry-after: 7\r\n", &body)).await;
        let lm = server.model(Protocol::Anthropic);
        let whole = lm.complete(&question(), DeltaSink::closed()).await.unwrap_err();
        let (streamed, pieces) = stream(&lm, &question()).await;
        assert_eq!(whole, streamed.unwrap_err(), "{status}");
        assert_eq!((whole.kind, pieces.len()), (kind, 0), "{status}");
        assert_eq!(whole.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(whole.status.map(|code| code.to_string()).as_deref(), status.split(' ').next());
        let masked = words.replace(KEY, "***");
        assert!(whole.message.contains(&masked) && !whole.message.contains(KEY), "{whole}");
        assert!(whole.message.starts_with("model claude-tiny at 127.0.0.1:"), "{whole}");
    }
}

#[tokio::test]
async fn no_connection_and_invalid_answers_are_different_failures() {
    let lm = model(Protocol::Anthropic, "http://127.0.0.1:1/v1");
    let whole = lm.complete(&question(), DeltaSink::closed()).await.unwrap_err();
    assert_eq!(whole.kind, LmErrorKind::Connection);
    assert!(whole.message.contains("no connection"), "{whole}");
    assert_eq!(stream(&lm, &question()).await.0.unwrap_err().kind, LmErrorKind::Connection);

    let page =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi".to_owned();
    for nonsense in [page, http("200 OK", "", "{"), http("200 OK", "", "{}")] {
        let lm = Server::saying(nonsense).await.model(Protocol::Anthropic);
        assert_eq!(
            lm.complete(&question(), DeltaSink::closed()).await.unwrap_err().kind,
            LmErrorKind::Malformed
        );
    }
}

#[tokio::test]
async fn an_incomplete_or_failed_stream_is_a_failure() {
    let server = Server::saying(events(&answer_events(&["Be"]))).await;
    let (reply, pieces) = stream(&server.model(Protocol::Anthropic), &question()).await;
    assert_eq!((reply.unwrap_err().kind, pieces.len()), (LmErrorKind::Connection, 1));

    for (word, said, kind) in [
        ("overloaded_error", "Overloaded", LmErrorKind::Provider),
        ("rate_limit_error", "too many tokens", LmErrorKind::RateLimited),
    ] {
        let failed = json!({"type": "error", "error": {"type": word, "message": said}});
        let all = [answer_events(&["Be"]), vec![("error", failed)]].concat();
        let server = Server::saying(events(&all)).await;
        let (reply, _) = stream(&server.model(Protocol::Anthropic), &question()).await;
        let error = reply.unwrap_err();
        assert!(error.kind == kind && error.message.contains(said), "{error:?}");
    }
}

#[tokio::test]
async fn an_unsupported_or_refused_constraint_is_reported_as_such() {
    let lm = model(Protocol::Anthropic, "http://127.0.0.1:1/v1");
    let held = |constraint| LmRequest { constraint: Some(constraint), ..question() };
    let grammar = held(DecodingConstraint::Gbnf("root ::= x".into()));
    assert_eq!(
        lm.complete(&grammar, DeltaSink::closed()).await.unwrap_err().kind,
        LmErrorKind::ConstraintRefused
    );

    let body = r#"{"error": {"message": "output_format.schema is not supported by this model"}}"#;
    let server = Server::saying(http("400 Bad Request", "", body)).await;
    let schema = RawValue::from_string(r#"{"type":"object","properties":{}}"#.into()).unwrap();
    let schema = held(DecodingConstraint::JsonSchema { schema: schema.into(), strict: true });
    let refused =
        server.model(Protocol::Anthropic).complete(&schema, DeltaSink::closed()).await.unwrap_err();
    assert_eq!(refused.kind, LmErrorKind::ConstraintRefused);
}

#[tokio::test]
async fn a_cancelled_request_closes_its_connection() {
    for streamed in [false, true] {
        let server = Server::saying(String::new()).await;
        let (lm, request) = (server.model(Protocol::Anthropic), question());
        let mut ignore = |_: &str| {};
        let deltas = if streamed { DeltaSink::to(&mut ignore) } else { DeltaSink::closed() };
        let asking = lm.complete(&request, deltas);
        tokio::select! {
            answered = asking => panic!("{answered:?}"),
            () = server.arrived.notified() => {}
        }
        server.left.notified().await;
    }
}

#[tokio::test]
async fn gemini_is_streamed_like_the_others() {
    let part = |text: &str, reason: Value| {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": reason}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
            "modelVersion": "claude-tiny"})
    };
    let server = Server::saying(ok(&part("Because.", json!("STOP")))).await;
    let reply =
        server.model(Protocol::Gemini).complete(&question(), DeltaSink::closed()).await.unwrap();
    assert_eq!((&*reply.text, reply.finish_reason.as_deref()), ("Because.", Some("stop")));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 2));
    let (head, body) = server.request();
    assert!(head.starts_with("post /v1/models/claude-tiny:generatecontent "), "{head}");
    assert!(head.contains(KEY) && !head.lines().next().unwrap().contains(KEY), "{head}");
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);

    let pieces = [part("Be", Value::Null), part("cause.", json!("STOP"))];
    let all: Vec<_> = pieces.into_iter().map(|piece| ("message", piece)).collect();
    let server = Server::saying(events(&all)).await;
    let (reply, pieces) = stream(&server.model(Protocol::Gemini), &question()).await;
    assert_eq!((&*reply.unwrap().text, pieces.concat().as_str()), ("Because.", "Because."));
}

/// The library drops these reasons; they are read from the bodies and frames.
#[tokio::test]
async fn the_reasons_of_a_blocked_or_incomplete_answer_are_read() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "modelVersion": "claude-tiny"});
    for answer in [ok(&blocked), events(&[("message", blocked.clone())])] {
        let server = Server::saying(answer).await;
        let lm = server.model(Protocol::Gemini);
        let whole = lm.complete(&question(), DeltaSink::closed()).await;
        let streamed = || async { stream(&lm, &question()).await.0 };
        let error = match whole {
            Err(error) if error.kind == LmErrorKind::Filtered => error,
            _ => streamed().await.unwrap_err(),
        };
        assert_eq!(error.kind, LmErrorKind::Filtered, "{error}");
        assert!(
            error.message.ends_with("the prompt was blocked (`PROHIBITED_CONTENT`)"),
            "{error}"
        );
    }

    let response = |reason: &str, part: Value| {
        json!({"id": "resp_1", "object": "response", "status": "incomplete", "model": "gpt-tiny-7",
            "incomplete_details": {"reason": reason}, "output": [{"type": "message", "id": "msg_1",
                "role": "assistant", "status": "incomplete", "content": [part]}],
            "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}})
    };
    let text = json!({"type": "output_text", "text": "Bec", "annotations": []});
    let refusal = json!({"type": "refusal", "refusal": "I will not."});
    for (body, reason, said) in [
        (response("max_output_tokens", text.clone()), "max_output_tokens", None),
        (response("content_filter", text), "content_filter", None),
        (response("content_filter", refusal), "content_filter", Some("I will not.")),
    ] {
        let event = json!({"type": "response.incomplete", "response": body.clone()});
        let server = Server::saying(ok(&body)).await;
        let lm = server.model(Protocol::Responses);
        let whole = lm.complete(&question(), DeltaSink::closed()).await.unwrap();
        let server = Server::saying(events(&[("response.incomplete", event)])).await;
        let (streamed, _) = stream(&server.model(Protocol::Responses), &question()).await;
        for reply in [whole, streamed.unwrap()] {
            let found = (reply.finish_reason.as_deref(), reply.refusal.as_deref());
            assert_eq!(found, (Some(reason), said));
        }
    }
}

#[tokio::test]
async fn streamed_responses_of_openai_are_deltas_and_end_with_their_usage() {
    let delta = |text: &str| {
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
            "content_index": 0, "delta": text})
    };
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Because.", "annotations": []}]});
    let whole = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-tiny-7",
        "output": [message],
        "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}});
    let all = [
        (
            "response.created",
            json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}),
        ),
        ("response.output_text.delta", delta("Be")),
        ("response.output_text.delta", delta("cause.")),
        ("response.completed", json!({"type": "response.completed", "response": whole})),
    ];
    let server = Server::saying(events(&all)).await;
    let (reply, pieces) = stream(&server.model(Protocol::Responses), &question()).await;
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, pieces), ("Because.", vec!["Be".to_owned(), "cause.".to_owned()]));
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 2));
    assert_eq!(server.request().1["stream"], true);
}

#[tokio::test]
async fn ollama_bedrock_vertex_and_cohere_have_their_own_protocols() {
    let claude = answer(json!([{"type": "text", "text": "Because."}]), "end_turn");
    let converse = json!({
        "output": {"message": {"role": "assistant", "content": [{"text": "Because."}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11},
        "metrics": {"latencyMs": 5}
    });
    let ollama = json!({
        "model": "tiny", "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": "stop",
        "message": {"role": "assistant", "content": "Because."},
        "prompt_eval_count": 9, "eval_count": 2
    });
    let cohere = json!({
        "text": "Because.", "generation_id": "g", "finish_reason": "COMPLETE",
        "chat_history": [{"role": "USER", "message": "why?"}, {"role": "CHATBOT", "message": "Because."}],
        "meta": {"tokens": {"input_tokens": 9, "output_tokens": 2}}
    });
    for (protocol, path, answer) in [
        (Protocol::Ollama, "post /v1/api/chat ", ollama),
        (Protocol::Bedrock, "post /v1/model/claude-tiny/converse ", converse),
        (Protocol::Vertex, "post /v1/publishers/anthropic/models/claude-tiny", claude),
        (Protocol::Cohere, "post /v1/chat ", cohere),
    ] {
        let server = Server::saying(ok(&answer)).await;
        let reply = server.model(protocol).complete(&question(), DeltaSink::closed()).await;
        let reply = reply.unwrap_or_else(|error| panic!("{protocol:?}: {error}"));
        assert_eq!(&*reply.text, "Because.", "{protocol:?}");
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 2), "{protocol:?}");
        let (head, _) = server.request();
        assert!(head.starts_with(path), "{protocol:?}: {head}");
    }
}

/// The steps of an agent with two calls at once, after which a call is forced.
fn steps() -> LmRequest {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "find".into(),
        arguments: arguments.into(),
    };
    let calls = vec![call("c1", r#"{"city":"Oz"}"#), call("c2", r#"{"city":"Turku"}"#)];
    let results = [Message::result(&calls[0], "none"), Message::result(&calls[1], "206000")];
    let parameters = RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap().into();
    let tool = ToolSpec { name: "submit".into(), description: "ends".into(), parameters };
    let mut request = LmRequest { tools: Some(ToolSet::forcing(tool)), ..question() };
    request.chat.turns.push(Message::calling("I look.", calls));
    request.chat.turns.extend(results);
    request
}

/// Where the protocols have the message with all results, and in it the name or the id of the second call; and the choice of
/// the forced call. Those of Bedrock and Ollama have no choice, and offer the one tool.
#[tokio::test]
async fn steps_with_parallel_calls_are_sent_in_the_form_of_each_protocol() {
    let named = json!({"type": "tool", "name": "submit"});
    let any = json!({"mode": "ANY", "allowedFunctionNames": ["submit"]});
    let function = json!({"type": "function", "name": "submit"});
    for (protocol, result, identity, choice) in [
        (Protocol::Anthropic, "/messages/4/content/1/tool_use_id", "c2", ("/tool_choice", named)),
        (
            Protocol::Gemini,
            "/contents/4/parts/1/functionResponse/name",
            "find",
            ("/toolConfig/functionCallingConfig", any),
        ),
        (Protocol::Responses, "/input/8/call_id", "c2", ("/tool_choice", function)),
        (
            Protocol::Bedrock,
            "/messages/4/content/1/toolResult/toolUseId",
            "c2",
            ("/toolConfig/tools/0/toolSpec/name", json!("submit")),
        ),
        (Protocol::Ollama, "/messages/6/role", "tool", ("/tools/0/function/name", json!("submit"))),
    ] {
        let server = Server::saying(http("500 Internal Server Error", "", "{}")).await;
        server.model(protocol).complete(&steps(), DeltaSink::closed()).await.unwrap_err();
        let (_, body) = server.request();
        let found = body.pointer(result).and_then(Value::as_str);
        assert_eq!(found, Some(identity), "{protocol:?}: {body:#}");
        assert_eq!(body.pointer(choice.0), Some(&choice.1), "{protocol:?}: {body:#}");
    }
}

/// What was sent to a model of a name.
async fn request_to(protocol: Protocol, name: &str, is_streamed: bool) -> (String, Value) {
    let server = Server::saying(http("500 Internal Server Error", "", "{}")).await;
    let lm = named_model(protocol, &server.url, name);
    match is_streamed {
        true => stream(&lm, &question()).await.0.unwrap_err(),
        false => lm.complete(&question(), DeltaSink::closed()).await.unwrap_err(),
    };
    server.request()
}

/// The library would take them apart: `-high` for an effort, `lab::` for a namespace.
const ODD_NAMES: [&str; 8] = [
    "claude-sonnet-4-5-high",
    "claude-sonnet-5-none",
    "gemini-2.5-flash-zero",
    "qwen-xhigh",
    "ft:gpt-4.1-mini:acme:tone-minimal",
    "lab::tiny",
    "lab::tiny::claude-max",
    "tiny-medium",
];

#[tokio::test]
async fn the_name_of_a_model_goes_through_as_it_is() {
    for name in ODD_NAMES {
        for is_streamed in [false, true] {
            for protocol in
                [Protocol::Anthropic, Protocol::Responses, Protocol::Ollama, Protocol::Cohere]
            {
                let (_, body) = request_to(protocol, name, is_streamed).await;
                assert_eq!(body["model"], name, "{protocol:?}");
                for asked in ["thinking", "output_config", "reasoning", "think"] {
                    assert_eq!(body[asked], Value::Null, "{protocol:?} {name}: {body}");
                }
            }
            let (head, body) = request_to(Protocol::Gemini, name, is_streamed).await;
            assert!(head.starts_with(&format!("post /v1/models/{name}:")), "{head}");
            let thinking = &body["generationConfig"]["thinkingConfig"];
            assert_eq!(thinking, &json!({"includeThoughts": true}), "{name}: {body}");
        }
    }
    for (name, publisher) in [("gemini-2.5-pro-high", "google"), ("claude-opus-4-low", "anthropic")]
    {
        let (head, body) = request_to(Protocol::Vertex, name, false).await;
        let path = format!("post /v1/publishers/{publisher}/models/{name}:");
        assert!(head.starts_with(&path), "{head}");
        assert!(!body.to_string().contains("thinkingBudget"), "{body}");
    }
}

#[tokio::test]
async fn an_effort_is_sent_beside_a_name_that_ends_like_one() {
    let server = Server::saying(http("500 Internal Server Error", "", "{}")).await;
    let lm = named_model(Protocol::Responses, &server.url, "ft:gpt-5:acme:tone-high");
    let mut request = question();
    request.params.reasoning_effort = Some(ReasoningEffort::Low);
    lm.complete(&request, DeltaSink::closed()).await.unwrap_err();
    let (_, body) = server.request();
    assert_eq!(
        (&body["model"], &body["reasoning"]["effort"]),
        (&json!("ft:gpt-5:acme:tone-high"), &json!("low"))
    );
}

#[tokio::test]
async fn an_answer_without_a_model_has_the_name_of_the_settings() {
    let mut said = answer(json!([{"type": "text", "text": "a"}]), "end_turn");
    said.as_object_mut().unwrap().remove("model");
    let server = Server::saying(ok(&said)).await;
    let lm = named_model(Protocol::Anthropic, &server.url, "lab::claude-max");
    let reply = lm.complete(&question(), DeltaSink::closed()).await.unwrap();
    assert_eq!(&*reply.model, "lab::claude-max");

    let server =
        Server::saying(events(&[answer_events(&["a"]), end("end_turn").to_vec()].concat())).await;
    let lm = named_model(Protocol::Anthropic, &server.url, "lab::claude-max");
    let (reply, _) = stream(&lm, &question()).await;
    assert_eq!(&*reply.unwrap().model, "lab::claude-max");
}

#[test]
fn debug_output_has_no_key_and_an_address_needs_a_host() {
    let lm = model(Protocol::Anthropic, "http://host/v1/");
    assert_eq!(format!("{lm:?}"), r#"Native { host: "host", model: "claude-tiny", .. }"#);
    for odd in ["", "/v1", "http://me:secret@host/v1"] {
        let config = NativeConfig {
            protocol: Protocol::Anthropic,
            base_url: odd.to_owned(),
            model: "m".into(),
            api_key: Some(KEY.into()),
            marks_prefix: true,
            http: HttpLimits::default(),
        };
        assert!(!format!("{config:?}").contains(KEY));
        assert!(!Native::new(config).unwrap_err().contains("secret"));
    }
}
