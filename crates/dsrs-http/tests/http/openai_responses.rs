//! Graphs as models for clients of OpenAI's responses.

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{one_node, support_reply};

const PATH: &str = "/openai/v1/responses";

/// The data of the events of a stream.
async fn streamed(api: &Api, body: &Value) -> Vec<Value> {
    let headers = [("accept", "text/event-stream")];
    let answer = api.send(Method::POST, PATH, &headers, Some(body.to_string())).await.expect(200);
    let mut found = Vec::new();
    for block in answer.text.split("\n\n").filter(|block| block.contains("data: ")) {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let data: Value = serde_json::from_str(line("data: ")).unwrap();
        assert_eq!(data["type"], line("event: "));
        assert_eq!(data["sequence_number"], found.len());
        found.push(data);
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_responds_to_a_text_or_to_messages() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let messages = json!([
        {"role": "user", "content": "Hello"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "reasoning", "summary": []},
        {"role": "user", "content": [{"type": "input_text", "text": "Where is it?"}]}
    ]);
    for input in [json!("Where is it?"), messages] {
        let body = json!({"model": "support-reply", "input": input, "instructions": "Be kind"});
        let found = api.post(PATH, body).await.expect(200).json();
        assert_eq!((&found["object"], &found["status"]), (&json!("response"), &json!("completed")));
        assert_eq!(found["output"][0]["content"][0]["text"], "Dear customer");
        assert_eq!(
            (&found["model"], &found["instructions"]),
            (&json!("support-reply@1"), &json!("Be kind"))
        );
        let run = api.ended(found["id"].as_str().unwrap().trim_start_matches("resp_")).await;
        assert_eq!(run["inputs"], json!({"ticket": "Where is it?"}));
        assert_eq!(found["usage"]["input_tokens"], run["usage"]["input_tokens"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_streamed_as_it_is_written() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let body = json!({"model": "ask", "input": "?", "stream": true});
    let events = streamed(&api, &body).await;
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let first = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
    ];
    assert_eq!(kinds[..5], first);
    let last = [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds[kinds.len() - 4..], last);
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    let text: String = deltas.filter_map(|event| event["delta"].as_str()).collect();
    let whole = &events.last().unwrap()["response"];
    assert_eq!(whole["output"][0]["content"][0]["text"], text.as_str());
    assert_eq!(text, "Dear customer");
    assert!(whole["usage"]["total_tokens"].is_i64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_format_that_the_outputs_fit_is_answered_as_json() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = |answer: &str| {
        json!({"model": "support-reply", "input": "?", "text": {"format": {
            "type": "json_schema", "name": "reply", "schema": {
                "type": "object", "properties": {"answer": {"type": answer}}, "required": ["answer"]}}}})
    };
    let found = api.post(PATH, body("string")).await.expect(200).json();
    let text = found["output"][0]["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text, json!({"answer": "Dear customer", "mood": "calm"}));
    let mut closed = body("string");
    closed["text"]["format"]["schema"]["additionalProperties"] = json!(false);
    let found = api.post(PATH, &closed).await.expect(200).json();
    assert_eq!(found["output"][0]["content"][0]["text"], r#"{"answer":"Dear customer"}"#);
    closed["stream"] = json!(true);
    let last = streamed(&api, &closed).await.pop().unwrap();
    assert_eq!(last["response"]["output"][0]["content"], found["output"][0]["content"]);
    let refused = api.post(PATH, body("integer")).await.expect(400).json();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("`text.format`: the outputs of the graph do not fit"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_graph_cannot_do_is_refused_and_what_fails_is_an_error() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("count", "question -> answer: int")).await.expect(201);
    for (member, value, part) in [
        ("previous_response_id", json!("resp_1"), "no conversation is stored"),
        ("background", json!(true), "/v1/graphs/{graph}/runs"),
        ("tools", json!([{"type": "web_search"}]), "a graph has tools of its own"),
        ("input", json!([{"type": "item_reference"}]), "`input[0]`"),
        ("input", json!([{"role": "system", "content": "x"}]), "no message with the role `user`"),
        ("input", json!(1), "a text or a list"),
        ("text", json!({"format": {"type": "grammar"}}), "`text.format`: the type `grammar`"),
        ("text", json!({"format": {"type": "json_schema"}}), "`text.format.schema`: it is missing"),
        ("conversation", json!("conv_1"), "`conversation`: no conversation is stored"),
        ("prompt", json!({"id": "pmpt_1"}), "`prompt`: no prompts are stored"),
        ("tool_choice", json!("required"), "`tool_choice`: it demands a tool that `tools`"),
        ("modalities", json!(["audio"]), "`modalities`: a graph answers with text only"),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_text", "text": "?"}, {"type": "input_image"}]}]),
            "`input[0].content[1]`: a graph reads texts, and no part of the type `input_image`",
        ),
        (
            "input",
            json!([{"role": "user", "content": [{"type": "input_file"}]}]),
            "`input[0].content[0]`: a graph reads texts",
        ),
        (
            "input",
            json!([{"role": "user", "content": null}]),
            "`input[0].content`: expected a text",
        ),
        ("input", json!([{"role": "user", "content": 5}]), "`input[0].content`: expected a text"),
    ] {
        let mut body = json!({"model": "count", "input": "?"});
        body[member] = value;
        let error = api.post(PATH, body).await.expect(400).json()["error"].take();
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    let body = json!({"model": "count", "input": "?"});
    let failed = api.post(PATH, &body).await.json();
    assert_eq!(failed["error"]["code"], "parse_error", "{failed}");
    let events = streamed(&api, &json!({"model": "count", "input": "?", "stream": true})).await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(
        (&last["response"]["status"], &last["response"]["error"]["code"]),
        (&json!("failed"), &json!("parse_error"))
    );
    assert_eq!(
        api.post(PATH, json!({"model": "none", "input": "?"})).await.expect(404).json()["error"]["code"],
        "not_found"
    );
}
