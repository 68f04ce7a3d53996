//! Graphs as models for clients of OpenAI's API.

use serde_json::{Value, json};

use crate::support::{Api, one_node, support_reply};

const PATH: &str = "/openai/v1/chat/completions";

fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [
        {"role": "system", "content": "ignored"}, {"role": "user", "content": "Where is my parcel?"}]})
}

/// The data of the events of a stream.
fn chunks(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
}

async fn streamed(api: &Api, body: Value) -> Vec<String> {
    let headers = [("accept", "text/event-stream")];
    let answer = api.send(reqwest::Method::POST, PATH, &headers, Some(body.to_string())).await;
    chunks(&answer.expect(200).text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_answers_the_last_message_of_the_user() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let answer = api.post(PATH, ask("support-reply")).await.expect(200).json();
    let run = api.get("/v1/runs?graph=support-reply").await.expect(200).json();
    let run =
        api.get(&format!("/v1/runs/{}", run["items"][0]["id"].as_str().unwrap())).await.json();
    assert_eq!(run["inputs"], json!({"ticket": "Where is my parcel?"}));
    assert_eq!(answer["choices"][0]["message"]["content"], run["outputs"]["answer"]);
    assert_eq!(answer["id"], format!("chatcmpl-{}", run["id"].as_str().unwrap()));
    assert_eq!(answer["model"], "support-reply@1");
    assert_eq!(answer["usage"]["prompt_tokens"], run["usage"]["input_tokens"]);
    api.post(PATH, ask("support-reply@1")).await.expect(200);
    let models = api.get("/openai/v1/models").await.expect(200).json();
    assert_eq!(models["data"][0]["id"], "support-reply");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_is_streamed_as_it_is_written() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let whole = api.post(PATH, ask("ask")).await.expect(200).json();
    let mut body = ask("ask");
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let chunks = streamed(&api, body).await;
    assert_eq!(chunks.last().unwrap(), "[DONE]");
    let parsed: Vec<Value> = chunks[..chunks.len() - 1]
        .iter()
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect();
    let text: String = parsed
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, whole["choices"][0]["message"]["content"].as_str().unwrap());
    assert_eq!(parsed[0]["choices"][0]["delta"]["role"], "assistant");
    let usage = parsed.last().unwrap();
    assert_eq!(
        (&usage["choices"], &usage["usage"]["total_tokens"]),
        (&json!([]), &whole["usage"]["total_tokens"])
    );
    assert_eq!(parsed[parsed.len() - 2]["choices"][0]["finish_reason"], "stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_to_the_input_that_is_made_for_it() {
    let api = Api::new().await;
    let signature = json!({
        "inputs": [{"name": "question", "type": "str"}, {"name": "history", "type": "list[dict[str, str]]"}],
        "outputs": [{"name": "answer", "type": "str"}]
    });
    let node = json!({"strategy": "predict", "signature": signature});
    api.post("/v1/graphs", json!({"name": "talk", "nodes": {"talk": node}})).await.expect(201);
    let messages = json!([
        {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]}
    ]);
    let answer =
        api.post(PATH, json!({"model": "talk", "messages": messages})).await.expect(200).json();
    let id = answer["id"].as_str().unwrap().trim_start_matches("chatcmpl-").to_owned();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    assert_eq!(
        run["inputs"],
        json!({"question": "Where is it?", "history": [
            {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_the_outputs_fit_is_answered_as_json() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let schema = |answer: &str| {
        json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": {
            "type": "object", "properties": {"answer": {"type": answer}, "mood": {"type": "string"}},
            "required": ["answer", "mood"]}}})
    };
    let mut body = ask("support-reply");
    body["response_format"] = schema("string");
    let answer = api.post(PATH, body.clone()).await.expect(200).json();
    let content: Value =
        serde_json::from_str(answer["choices"][0]["message"]["content"].as_str().unwrap()).unwrap();
    assert!(content["answer"].is_string() && content["mood"].is_string(), "{content}");
    body["response_format"] = schema("integer");
    let refused = api.post(PATH, body).await.expect(422).json();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("do not fit the schema") && message.contains("answer"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_format_of_openai() {
    let api = Api::new().await;
    let two = "first, second -> answer";
    api.post("/v1/graphs", one_node("two", two)).await.expect(201);
    for (body, status, code, message) in [
        (ask("nothing"), 404, "not_found", "nothing"),
        (ask("two"), 422, "invalid_request", "is no chat model: a chat model has one text input"),
        (ask("two@x"), 422, "invalid_request", "`x` is not a version"),
        (json!({"model": "two"}), 422, "invalid_request", "missing field `messages`"),
        (
            json!({"model": "two", "messages": [], "response_format": [1]}),
            422,
            "invalid_request",
            "invalid type",
        ),
        (json!({"model": "two", "messages": []}), 422, "invalid_request", "is no chat model"),
    ] {
        let answer = api.post(PATH, body).await.expect(status).json();
        let error = &answer["error"];
        assert_eq!(error["code"], code, "{answer}");
        assert!(error["message"].as_str().unwrap().contains(message), "{answer}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    assert_eq!(api.get("/openai/v1/models").await.expect(200).json()["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_is_an_error_also_in_a_stream() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("count", "question -> answer: int")).await.expect(201);
    let refused = api.post(PATH, ask("count")).await;
    assert_eq!(refused.json()["error"]["code"], "parse_error", "{}", refused.text);
    let mut body = ask("count");
    body["stream"] = true.into();
    let chunks = streamed(&api, body).await;
    let error: Value = serde_json::from_str(&chunks[chunks.len() - 2]).unwrap();
    assert_eq!(error["error"]["code"], "parse_error", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_keys_answers_only_those_that_may_execute() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "root-key")]).await;
    let send = async |key: Option<&str>| {
        let bearer = key.map(|key| format!("Bearer {key}")).unwrap_or_default();
        let headers = [("authorization", bearer.as_str())];
        let headers = if key.is_some() { &headers[..] } else { &[] };
        api.send(reqwest::Method::POST, PATH, headers, Some(ask("any").to_string())).await
    };
    assert_eq!(send(None).await.expect(401).json()["error"]["type"], "authentication_error");
    send(Some("wrong")).await.expect(401);
    send(Some("root-key")).await.expect(404);
}
