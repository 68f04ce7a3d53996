//! Graphs as models for clients of OpenAI's API.

use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{one_node, sections, support_reply};

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
    let usage = &answer["usage"];
    assert_eq!(usage["prompt_tokens"], run["usage"]["input_tokens"]);
    assert!(usage["prompt_tokens_details"]["cached_tokens"].is_i64(), "{usage}");
    assert!(usage["completion_tokens_details"]["reasoning_tokens"].is_i64(), "{usage}");
    api.post(PATH, ask("support-reply@1")).await.expect(200);
    let models = api.get("/openai/v1/models").await.expect(200).json();
    assert_eq!(models["data"][0]["id"], "support-reply");
    let model = api.get("/openai/v1/models/support-reply").await.expect(200).json();
    assert_eq!(model, models["data"][0]);
    assert_eq!(
        api.get("/openai/v1/models/none").await.expect(404).json()["error"]["code"],
        "not_found"
    );
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
    let refused = api.post(PATH, body).await.expect(400).json();
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
        (ask("two"), 400, "invalid_request", "is no chat model: a chat model has one text input"),
        (ask("two@x"), 400, "invalid_request", "`x` is not a version"),
        (json!({"model": "two"}), 400, "invalid_request", "missing field `messages`"),
        (
            json!({"model": "two", "messages": [], "response_format": [1]}),
            400,
            "invalid_request",
            "invalid type",
        ),
        (json!({"model": "two", "messages": []}), 400, "invalid_request", "is no chat model"),
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

async fn refused(api: &Api, body: Value) -> Value {
    let error = api.post(PATH, body).await.expect(400).json()["error"].take();
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("invalid_request_error"), &json!("invalid_request")),
        "{error}"
    );
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_no_text_is_refused_with_its_place() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let text = json!({"type": "text", "text": "What is this?"});
    for (content, place) in [
        (json!([text, {"type": "image_url", "image_url": {"url": "data:,"}}]), "content[1]"),
        (json!([{"type": "input_audio", "input_audio": {}}, text]), "content[0]"),
        (json!([{"type": "file", "file": {}}]), "content[0]"),
        (json!([text, {"type": "text", "text": 5}]), "content[1]"),
        (json!(["text"]), "content[0]"),
        (json!([{"type": 5, "text": "a"}]), "content[0]"),
        (json!(null), "content"),
        (json!(5), "content"),
        (json!({"text": "a"}), "content"),
    ] {
        let hello = json!({"role": "assistant", "content": null});
        let messages = json!([hello, {"role": "user", "content": content}]);
        let error = refused(&api, json!({"model": "ask", "messages": messages})).await;
        assert_eq!(error["param"], format!("messages[1].{place}"), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("`messages[1].{place}`: ")), "{error}");
    }
    let said = json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]});
    let messages = json!([said, {"role": "user", "content": [text]}]);
    api.post(PATH, json!({"model": "ask", "messages": messages})).await.expect(200);
}

/// Clients write an enum as literals, wider ones and in `$defs`; pydantic, zod and LangChain do.
#[tokio::test(flavor = "multi_thread")]
async fn an_enum_fits_the_literals_of_a_client() {
    let lm = dsrs::lm::ScriptedLm::always(sections([("team", "support")]));
    let api = Api::with_lm(lm).await;
    let graph = one_node("sort", "ticket -> team: Literal['billing', 'support']");
    api.post("/v1/graphs", graph).await.expect(201);
    let mut own = one_node("enum", "ticket -> team: Team");
    own["types"] = json!({"Team": {"enum": {"billing": null, "support": null}}});
    api.post("/v1/graphs", own).await.expect(201);
    let inline = json!({"enum": ["billing", "support"]});
    let wider = json!({"type": "string", "enum": ["billing", "sales", "support"]});
    let each = json!({"anyOf": [{"const": "support"}, {"const": "billing"}, {"type": "null"}]});
    for model in ["sort", "enum"] {
        for team in [&inline, &wider, &each, &json!({"$ref": "#/$defs/Team"})] {
            let schema = json!({"type": "object", "properties": {"team": team}, "required": ["team"],
                "additionalProperties": false, "$defs": {"Team": inline.clone()}});
            let mut body = ask(model);
            body["response_format"] =
                json!({"type": "json_schema", "json_schema": {"name": "t", "schema": schema}});
            let answer = api.post(PATH, body).await.expect(200).json();
            let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
            assert!(content.starts_with(r#"{"team":""#), "{content}");
        }
    }
    let narrower = json!({"type": "object", "properties": {"team": {"enum": ["billing"]}}});
    let mut body = ask("enum");
    body["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "t", "schema": narrower}});
    let message = api.post(PATH, body).await.expect(400).json()["error"]["message"].to_string();
    assert!(message.contains("Team is not assignable"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_schema_gets_only_the_outputs_that_it_has() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let text = json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Text"}]});
    let schema = json!({"type": "object", "properties": {"answer": text}, "required": ["answer"],
        "additionalProperties": false, "$defs": {"Text": {"type": "string"}}});
    let mut body = ask("support-reply");
    body["response_format"] = json!({"type": "json_schema",
        "json_schema": {"name": "reply", "strict": true, "schema": schema}});
    let answer = api.post(PATH, &body).await.expect(200).json();
    let fitting = jsonschema::validator_for(&schema).unwrap();
    let whole = answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let content: Value = serde_json::from_str(&whole).unwrap();
    assert!(fitting.is_valid(&content) && content["answer"].is_string(), "{content}");
    body["stream"] = true.into();
    let chunks = streamed(&api, body).await;
    let chunks = chunks.iter().filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let texts = chunks
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned));
    assert_eq!(texts.collect::<String>(), whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_schema_inside_an_output_gets_only_its_members() {
    let value = r#"{"name": "Ann", "age": 3, "tags": [{"word": "a", "weight": 1}]}"#;
    let lm = dsrs::lm::ScriptedLm::always(sections([("person", value)]));
    let api = Api::with_lm(lm).await;
    let mut graph = one_node("find", "question -> person: Person");
    graph["types"] = json!({
        "Tag": {"type": "object", "properties": {"word": {"type": "string"}, "weight": {"type": "integer"}},
            "required": ["word", "weight"]},
        "Person": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}}}, "required": ["name", "age", "tags"]}});
    api.post("/v1/graphs", graph).await.expect(201);
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let tag = closed(json!({"word": {"type": "string"}}), json!(["word"]));
    let person = closed(
        json!({"name": {"type": "string"}, "tags": {"type": "array", "items": tag}}),
        json!(["name", "tags"]),
    );
    let schema = closed(json!({"person": person}), json!(["person"]));
    let mut body = ask("find");
    body["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "p", "schema": schema}});
    let answer = api.post(PATH, body).await.expect(200).json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    let content: Value = serde_json::from_str(content).unwrap();
    assert_eq!(content, json!({"person": {"name": "Ann", "tags": [{"word": "a"}]}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_graph_has_no_part_for_is_refused() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let with = |member: &str, value: Value| {
        let mut body = ask("ask");
        body[member] = value;
        body
    };
    for (member, value) in [
        ("functions", json!([{"name": "search"}])),
        ("function_call", json!({"name": "search"})),
        ("tool_choice", json!("required")),
        ("tool_choice", json!({"type": "function", "function": {"name": "search"}})),
        ("modalities", json!(["text", "audio"])),
    ] {
        assert_eq!(refused(&api, with(member, value)).await["param"], member);
    }
    for (member, value) in [
        ("functions", json!([])),
        ("function_call", json!("none")),
        ("tool_choice", json!("auto")),
        ("modalities", json!(["text"])),
    ] {
        api.post(PATH, with(member, value)).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_schema_and_a_long_name_are_named_in_the_request() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let place = "response_format.json_schema.schema";
    let wrong = json!({"type": "object", "properties": {"answer": {"type": "txt"}}});
    for (format, param) in [
        (json!({"type": "json_schema"}), place.to_owned()),
        (json!({"type": "json_schema", "json_schema": {"name": "a"}}), place.to_owned()),
        (json!({"type": "json_schema", "json_schema": {"schema": 5}}), place.to_owned()),
        (
            json!({"type": "json_schema", "json_schema": {"schema": wrong}}),
            format!("{place}.properties.answer.type"),
        ),
        (json!({"type": 5}), "response_format.type".to_owned()),
    ] {
        let mut body = ask("ask");
        body["response_format"] = format;
        let error = refused(&api, body).await;
        assert_eq!(error["param"], param.as_str(), "{error}");
    }
    for (model, status) in
        [("x".repeat(100_000), 404), (format!("ask@{}", "x".repeat(100_000)), 400)]
    {
        let answer = api.post(PATH, ask(&model)).await.expect(status);
        assert!(answer.text.len() < 1000 && answer.text.contains("xxx…"), "{}", answer.text);
    }
}
