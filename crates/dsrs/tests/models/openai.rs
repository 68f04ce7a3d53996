//! The OpenAI client against a test server over plain TCP, which can also close connections, stall and
//! send invalid answers.

use std::time::Duration;

use dsrs::lm::{
    Chat, DecodingConstraint, DeltaSink, ExtraHeaders, GrammarField, HttpLimits, Lm, LmError,
    LmErrorKind, LmParams, LmReply, LmRequest, Message, OpenAi, OpenAiConfig, Prefix,
    ReasoningEffort,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::fake_server::{Reaction, http, server, whole};

const KEY: &str = "sk-very-secret";
const GOOD: &str = r#"{"model":"m-1","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;

fn client(url: &str) -> OpenAi {
    let http = HttpLimits { answer_bytes: 100_000, ..HttpLimits::default() };
    let config = OpenAiConfig { api_key: Some(KEY.into()), http, ..OpenAiConfig::new(url, "m") };
    OpenAi::new(config).unwrap()
}

fn request() -> LmRequest {
    let chat =
        Chat { prefix: Prefix::of([Message::system("be kind")]), turns: vec![Message::user("hi")] };
    LmRequest::new(chat, LmParams { max_tokens: Some(5), ..LmParams::default() })
}

async fn ask(does: Reaction) -> Result<LmReply, LmError> {
    let (url, _) = server(does).await;
    client(&url).complete(&request(), DeltaSink::closed()).await
}

#[tokio::test]
async fn a_request_has_the_key_and_its_answer_is_read() {
    let (url, seen) = server(http("200 OK", "", GOOD)).await;
    let reply = client(&url).complete(&request(), DeltaSink::closed()).await.unwrap();
    assert_eq!((&*reply.text, &*reply.model, reply.usage.input_tokens), ("hello", "m-1", 3));

    let sent = seen.requests.lock().unwrap()[0].clone();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-very-secret"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("accept: application/json\r\n"), "{head}");
    assert_eq!(
        body,
        r#"{"model":"m","max_tokens":5,"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]}"#
    );
}

fn held_to(constraint: DecodingConstraint) -> LmRequest {
    LmRequest { constraint: Some(constraint), ..request() }
}

fn held_to_schema() -> LmRequest {
    let schema = serde_json::value::RawValue::from_string(r#"{"type":"object"}"#.into()).unwrap();
    held_to(DecodingConstraint::JsonSchema { schema: schema.into(), strict: true })
}

#[tokio::test]
async fn a_constraint_is_sent_in_the_member_of_the_endpoint() {
    let grammar = || held_to(DecodingConstraint::Gbnf("root ::= \"a\"".into()));
    let written = r#""root ::= \"a\"""#;
    for (field, request, expected) in [
        (GrammarField::Grammar, grammar(), format!(r#""grammar":{written},"#)),
        (GrammarField::GuidedGrammar, grammar(), format!(r#""guided_grammar":{written},"#)),
        (
            GrammarField::StructuredOutputs,
            grammar(),
            format!(r#""structured_outputs":{{"grammar":{written}}},"#),
        ),
        (
            GrammarField::Grammar,
            held_to_schema(),
            r#""response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},"#
                .to_owned(),
        ),
    ] {
        let (url, seen) = server(http("200 OK", "", GOOD)).await;
        let config = OpenAiConfig { grammar_field: field, ..OpenAiConfig::new(url, "m") };
        OpenAi::new(config).unwrap().complete(&request, DeltaSink::closed()).await.unwrap();
        let sent = seen.requests.lock().unwrap()[0].clone();
        assert!(sent.contains(&format!(r#""max_tokens":5,{expected}"messages""#)), "{sent}");
    }
}

#[tokio::test]
async fn a_refused_constraint_differs_from_a_refused_request() {
    use LmErrorKind::{ConstraintRefused, ContextOverflow, Refused};
    let grammar = || held_to(DecodingConstraint::Gbnf("root ::= \"a\"".into()));
    for (request, status, body, kind) in [
        (grammar(), "400 Bad Request", r#"{"error":"failed to parse grammar"}"#, ConstraintRefused),
        (grammar(), "422 Unprocessable", r#"{"detail":"extra fields"}"#, ConstraintRefused),
        (grammar(), "400 Bad Request", r#"{"error":"the prompt is too long"}"#, ContextOverflow),
        (grammar(), "400 Bad Request", r#"{"error":"no such model"}"#, Refused),
        (grammar(), "404 Not Found", r#"{"error":"no model of that grammar"}"#, Refused),
        (
            held_to_schema(),
            "400 Bad Request",
            r#"{"error":{"message":"'response_format' is not supported"}}"#,
            ConstraintRefused,
        ),
        (request(), "400 Bad Request", r#"{"error":"grammar"}"#, Refused),
        (request(), "422 Unprocessable", "{}", Refused),
    ] {
        let (url, _) = server(http(status, "", body)).await;
        let error = client(&url).complete(&request, DeltaSink::closed()).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn connections_are_reused_even_after_a_failed_request() {
    for does in [http("200 OK", "", GOOD), http("500 Oh No", "", "{}")] {
        let (url, seen) = server(does).await;
        let lm = client(&url);
        for _ in 0..5 {
            let _ = lm.complete(&request(), DeltaSink::closed()).await;
        }
        assert_eq!(seen.requests.lock().unwrap().len(), 5);
        assert_eq!(seen.connections.get(), 1);
    }
}

#[tokio::test]
async fn a_failure_has_kind_status_wait_and_the_providers_message() {
    let cases = [
        ("429 Too Many Requests", LmErrorKind::RateLimited),
        ("500 Internal Server Error", LmErrorKind::Provider),
        ("503 Service Unavailable", LmErrorKind::Provider),
        ("408 Request Timeout", LmErrorKind::Provider),
        ("401 Unauthorized", LmErrorKind::Refused),
        ("302 Found", LmErrorKind::Refused),
    ];
    for (status, kind) in cases {
        let words = r#"{"error":{"message":"because of sk-very-secret"}}"#;
        let headers = "retry-after: 7\r\nlocation: /elsewhere\r\n";
        let error = ask(http(status, headers, words)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{status}");
        assert_eq!(error.status, status[..3].parse().ok());
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(error.message.starts_with("model m at 127.0.0.1:"), "{error}");
        assert!(error.message.ends_with(&format!("answered {status}: because of ***")), "{error}");
        assert!(!format!("{error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn an_error_under_status_200_is_the_providers_failure() {
    let error = ask(http("200 OK", "", r#"{"error":{"message":"overloaded"}}"#)).await.unwrap_err();
    assert_eq!((error.kind, error.status), (LmErrorKind::Provider, Some(200)));
    assert!(error.message.ends_with(": overloaded"), "{error}");
}

#[tokio::test]
async fn an_address_without_a_server_is_a_connection_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = client(&url).complete(&request(), DeltaSink::closed()).await.unwrap_err();
    assert_eq!(error.kind, LmErrorKind::Connection);
    assert!(error.message.contains("no connection: "), "{error}");
}

#[tokio::test]
async fn a_lost_connection_is_a_connection_failure() {
    let half = format!("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{}", &GOOD[..40]);
    for said in ["", "HTTP/1.1 200", &half] {
        let error = ask(Reaction::SayAndClose(said.into())).await.unwrap_err();
        assert_eq!((error.kind, error.status), (LmErrorKind::Connection, None), "{said}");
        assert!(error.message.contains("the connection was lost"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_completion_is_malformed() {
    for body in ["", "so sorry", "[]", r#"{"choices":[]}"#, &GOOD[..40]] {
        let error = ask(http("200 OK", "", body)).await.unwrap_err();
        assert_eq!((error.kind, error.status), (LmErrorKind::Malformed, Some(200)), "{body}");
        assert!(error.message.contains("not a chat completion"), "{error}");
    }
    let error =
        ask(Reaction::SayAndClose("hello, who is there?\r\n\r\n".into())).await.unwrap_err();
    assert!(error.is_transient());
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused() {
    let error = ask(http("200 OK", "", &" ".repeat(100_001))).await.unwrap_err();
    assert_eq!(error.kind, LmErrorKind::Malformed);
    assert!(error.message.contains("too large"), "{error}");
}

#[tokio::test]
async fn a_cancelled_request_closes_its_connection() {
    let (url, seen) = server(Reaction::Stall).await;
    let (lm, request) = (client(&url), request());
    tokio::select! {
        _ = lm.complete(&request, DeltaSink::closed()) => panic!("the server does not answer"),
        () = seen.received.reaches(1) => {}
    }
    seen.closed.reaches(1).await;
    assert_eq!(seen.connections.get(), 1);
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_request_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = stream.read(&mut [0; 64]).await.unwrap();
        assert!(head > 0);
        let Reaction::Say(text) = http("413 Payload Too Large", "", "{}") else { unreachable!() };
        stream.write_all(text.as_bytes()).await.unwrap();
        std::future::pending::<()>().await;
    });
    let mut question = request();
    question.chat.turns = vec![Message::user("x".repeat(64 << 20))];
    let error = client(&url).complete(&question, DeltaSink::closed()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (LmErrorKind::Refused, Some(413)));
}

/// A streamed answer with an HTTP chunk for each event, followed by `end`.
fn streamed(events: &[&str], end: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let chunk = |text: &&str| {
        let event = format!("data: {text}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    head.to_owned() + &events.iter().map(chunk).collect::<String>() + end
}

const PIECES: [&str; 4] = [
    r#"{"model":"m-1","choices":[{"index":0,"delta":{"content":"hel"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
    "[DONE]",
];

async fn stream(lm: &OpenAi) -> (Result<LmReply, LmError>, Vec<String>) {
    stream_of(lm, &request()).await
}

async fn stream_of(lm: &OpenAi, request: &LmRequest) -> (Result<LmReply, LmError>, Vec<String>) {
    let mut deltas = Vec::new();
    let mut push = |delta: &str| deltas.push(delta.to_owned());
    let reply = lm.complete(request, DeltaSink::to(&mut push)).await;
    (reply, deltas)
}

#[tokio::test]
async fn a_streamed_answer_is_the_same_reply_as_a_whole_one() {
    let (url, seen) = server(Reaction::Say(streamed(&PIECES, "0\r\n\r\n"))).await;
    let lm = client(&url);
    for _ in 0..3 {
        let (reply, deltas) = stream(&lm).await;
        assert_eq!(deltas, ["hel", "lo"]);
        assert_eq!(reply.unwrap(), ask(http("200 OK", "", GOOD)).await.unwrap());
    }
    assert_eq!(seen.connections.get(), 3, "some servers close theirs after it");
    let sent = seen.requests.lock().unwrap()[0].clone();
    let asked = r#""stream":true,"stream_options":{"include_usage":true},"messages""#;
    assert!(sent.contains(asked), "{sent}");
    assert!(sent.contains("accept: text/event-stream, application/json\r\n"), "{sent}");
}

/// A streamed answer that ends with the connection.
fn events(text: &str) -> Reaction {
    Reaction::SayAndClose(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}"
    ))
}

#[tokio::test]
async fn a_stream_of_every_spelling_is_read() {
    let usual: String = PIECES.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    for text in [
        format!("\u{FEFF}{usual}"),
        usual.replace('\n', "\r\n"),
        usual.replace('\n', "\r"),
        usual.replace("data: ", "data:"),
        format!(": wait\n\nevent: completion\n{usual}"),
        usual.trim_end().to_owned(),
    ] {
        let (url, _) = server(events(&text)).await;
        let (reply, deltas) = stream(&client(&url)).await;
        assert_eq!((&*reply.unwrap().text, deltas.concat()), ("hello", "hello".into()), "{text:?}");
    }
}

/// What a server sends after the finish reason, or leaves out, costs no complete answer.
#[tokio::test]
async fn a_stream_ends_with_the_finish_reason_even_if_its_connection_stays_open() {
    let without_done = streamed(&PIECES[..3], "");
    let without_usage = streamed(&PIECES[..2], "");
    for text in [without_done, without_usage] {
        let (url, _) = server(Reaction::Say(text)).await;
        let (reply, deltas) = stream(&client(&url)).await;
        assert_eq!((&*reply.unwrap().text, deltas.concat()), ("hello", "hello".into()));
    }
}

#[tokio::test]
async fn a_broken_event_is_quoted_without_the_key() {
    let text = format!("data: {}\n\ndata: {{\"choices\": [oops {KEY}\n\n", PIECES[0]);
    let (url, _) = server(events(&text)).await;
    let error = stream(&client(&url)).await.0.unwrap_err();
    assert_eq!(error.kind, LmErrorKind::Malformed);
    assert!(error.message.contains("an event of the answer cannot be read"), "{error}");
    assert!(error.message.contains(r#"`{"choices": [oops ***`"#), "{error}");
}

#[tokio::test]
async fn an_error_in_an_answer_of_status_200_is_a_failure_of_its_kind() {
    let beside = r#"{"error":{"code":502,"message":"bad gateway"},"choices":[{"message":{"content":"Par"}}]}"#;
    let within = r#"{"choices":[{"error":{"code":429,"message":"slow down"},"message":{"content":"Par"},"finish_reason":"error"}]}"#;
    for (body, kind, said) in [
        (beside, LmErrorKind::Provider, "bad gateway"),
        (within, LmErrorKind::RateLimited, "slow down"),
    ] {
        let error = ask(http("200 OK", "", body)).await.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.ends_with(said), "{error}");
        let text = format!("data: {}\n\ndata: {body}\n\n", PIECES[0]);
        let (url, _) = server(events(&text)).await;
        assert_eq!(stream(&client(&url)).await.0.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn the_limit_applies_to_the_text_of_a_stream() {
    let chunk = |field: &str| {
        format!(r#"{{"choices":[{{"delta":{{"{field}":"{}"}}}}]}}"#, "x".repeat(1000))
    };
    let (thought, said) = (chunk("reasoning_content"), chunk("content"));
    let mut pieces = vec![thought.as_str(); 300];
    pieces.extend(PIECES);
    let (url, _) = server(Reaction::Say(streamed(&pieces, "0\r\n\r\n"))).await;
    assert_eq!(&*stream(&client(&url)).await.0.unwrap().text, "hello");
    let (url, _) = server(Reaction::Say(streamed(&vec![said.as_str(); 101], ""))).await;
    let (reply, deltas) = stream(&client(&url)).await;
    assert!(reply.unwrap_err().message.contains("too large"));
    assert_eq!(deltas.len(), 100);
}

#[tokio::test]
async fn failures_after_the_end_of_an_answer_are_ignored() {
    let all = streamed(&PIECES, "");
    let no_done = streamed(&PIECES[..2], "");
    for does in [
        Reaction::Say(all.clone()),
        Reaction::SayAndClose(all.clone()),
        Reaction::Say(all + "not a chunk"),
        Reaction::SayAndClose(no_done.clone()),
        Reaction::Say(no_done + "not a chunk\r\n"),
    ] {
        let (url, seen) = server(does).await;
        let lm = client(&url);
        for _ in 0..2 {
            assert_eq!(&*stream(&lm).await.0.unwrap().text, "hello");
        }
        assert_eq!(seen.connections.get(), 2);
    }
}

/// Refuses requests with certain members and answers all others.
fn picky(request: &str, name: &str, words: &str) -> String {
    if request.contains(name) {
        let length = words.len();
        return format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\n\r\n{words}");
    }
    let streams = request.contains(r#""stream":true"#);
    if streams { streamed(&PIECES, "0\r\n\r\n") } else { whole(GOOD) }
}

#[tokio::test]
async fn a_refused_stream_mode_is_not_requested_again() {
    let no_options: fn(&str) -> String = |request| {
        picky(request, "stream_options", r#"{"error":"Unrecognized field: stream_options"}"#)
    };
    let no_stream: fn(&str) -> String =
        |request| picky(request, "stream", r#"{"error":"streaming is not supported"}"#);
    for (answer, pieces, requests) in [(no_options, 2, 4), (no_stream, 1, 5)] {
        let (url, seen) = server(Reaction::Answer(answer)).await;
        let lm = client(&url);
        for _ in 0..3 {
            let (reply, deltas) = stream(&lm).await;
            assert_eq!((&*reply.unwrap().text, deltas.len()), ("hello", pieces));
        }
        assert_eq!(seen.requests.lock().unwrap().len(), requests);
    }
}

#[tokio::test]
async fn another_refusal_of_a_streamed_request_is_final() {
    let (url, seen) = server(http("400 Bad Request", "", r#"{"error":"no such model"}"#)).await;
    let (reply, _) = stream(&client(&url)).await;
    assert_eq!(reply.unwrap_err().kind, LmErrorKind::Refused);
    assert_eq!(seen.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_one_delta() {
    let headers = "content-type: application/json\r\n";
    let (url, _) = server(http("200 OK", headers, GOOD)).await;
    let (reply, deltas) = stream(&client(&url)).await;
    assert_eq!((&*reply.unwrap().text, deltas), ("hello", vec!["hello".to_owned()]));
}

#[tokio::test]
async fn a_failed_stream_reports_the_reason_after_its_deltas() {
    use LmErrorKind::{Connection, Malformed, Provider, RateLimited};
    let failing = r#"{"error":{"message":"overloaded by sk-very-secret"}}"#;
    let whole = |events: &[&str]| Reaction::Say(streamed(events, "0\r\n\r\n"));
    let busy = http("429 Too Many Requests", "retry-after: 7\r\n", "{}");
    let cases = [
        (
            Reaction::SayAndClose(streamed(&PIECES[..1], "")),
            Connection,
            "the connection was lost",
            1,
        ),
        (whole(&PIECES[..1]), Connection, "the answer is incomplete", 1),
        (whole(&[PIECES[0], failing]), Provider, "overloaded by ***", 1),
        (whole(&["so sorry"]), Malformed, "`so sorry`", 0),
        (whole(&["[DONE]"]), Malformed, "it has no choices", 0),
        (events("event: error\ndata: {\"message\":\"too busy\"}\n\n"), Provider, "too busy", 0),
        (whole(&[r#"{"object":"error","message":"too busy"}"#]), Provider, "too busy", 0),
        (whole(&[&" ".repeat(100_001)]), Malformed, "too large", 0),
        (busy, RateLimited, "429", 0),
    ];
    for (does, kind, words, pieces) in cases {
        let (url, _) = server(does).await;
        let (reply, deltas) = stream(&client(&url)).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind, deltas.len()), (kind, pieces), "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(!format!("{error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_cancelled_stream_closes_its_connection() {
    let (url, seen) = server(Reaction::Say(streamed(&PIECES[..1], ""))).await;
    let lm = client(&url);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (mut sender, request) = (Some(sender), request());
    let mut first = |_: &str| {
        let _ = sender.take().map(|sender| sender.send(()));
    };
    tokio::select! {
        _ = lm.complete(&request, DeltaSink::to(&mut first)) => panic!("the answer has no end"),
        received = receiver => received.unwrap(),
    }
    seen.closed.reaches(1).await;
}

const LIMIT: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
const TEMPERATURE: &str = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#;

fn refusal(body: &str) -> String {
    format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// An endpoint with a reasoning model, as OpenAI has them.
fn reasoning_model(request: &str) -> String {
    match request {
        limited if limited.contains(r#""max_tokens""#) => refusal(LIMIT),
        warm if warm.contains(r#""temperature""#) => refusal(TEMPERATURE),
        _ => whole(GOOD),
    }
}

#[tokio::test]
async fn what_a_reasoning_model_refuses_is_learned_from_its_refusals() {
    let (url, seen) = server(Reaction::Answer(reasoning_model)).await;
    let lm = client(&url);
    let mut warm = request();
    warm.params.temperature = Some(0.2);
    warm.params.reasoning_effort = Some(ReasoningEffort::Low);
    for _ in 0..2 {
        let reply = lm.complete(&warm, DeltaSink::closed()).await.unwrap();
        assert_eq!(reply.omitted.names().collect::<Vec<_>>(), ["temperature"]);
    }
    let (streamed, _) = stream_of(&lm, &warm).await;
    assert_eq!(streamed.unwrap().omitted.names().collect::<Vec<_>>(), ["temperature"]);
    let sent = seen.requests.lock().unwrap();
    assert_eq!(sent.len(), 5, "two refusals, then answers alone");
    assert!(
        sent[4].contains(r#""max_completion_tokens":5,"reasoning_effort":"low""#),
        "{}",
        sent[4]
    );
}

#[tokio::test]
async fn extra_headers_are_sent_beside_those_of_the_client() {
    let (url, seen) = server(http("200 OK", "", GOOD)).await;
    let mut titled = request();
    titled.params.extra_headers = ExtraHeaders::of([("X-Title", "dsrs")]).ok();
    client(&url).complete(&titled, DeltaSink::closed()).await.unwrap();
    client(&url).complete(&request(), DeltaSink::closed()).await.unwrap();
    let sent = seen.requests.lock().unwrap();
    assert!(sent[0].contains("x-title: dsrs") && sent[0].contains("authorization: Bearer"));
    assert!(!sent[1].contains("x-title"));
}
