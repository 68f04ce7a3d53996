//! Structured answers of graphs to clients of OpenAI's API: the call of a tool that a client demands, and the bounds of a
//! strict schema.

use dsrs::lm::ScriptedLm;
use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{one_node, sections};

const CHAT: &str = "/openai/v1/chat/completions";
const RESPONSES: &str = "/openai/v1/responses";

/// A server whose graph `rate` answers a city, a score and a day.
async fn server(city: &str, score: &str, day: &str) -> Api {
    let lm = ScriptedLm::always(sections([("city", city), ("score", score), ("day", day)]));
    let api = Api::with_lm(lm).await;
    let mut graph = one_node("rate", "question -> city, score: int, day");
    graph["expose"] = json!({"openai": {"output": "city"}});
    api.post("/v1/graphs", graph).await.expect(201);
    api
}

fn parameters() -> Value {
    json!({"type": "object", "required": ["city", "score", "day"], "additionalProperties": false, "properties": {
        "city": {"type": "string", "maxLength": 20}, "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "day": {"type": "string", "format": "date"}}})
}

/// Parameters with so many patterns.
fn patterns(count: usize) -> Value {
    let member = |at: usize| (format!("p{at}"), json!({"type": "string", "pattern": "a"}));
    let mut members: serde_json::Map<String, Value> = (0..count).map(member).collect();
    members.insert("city".to_owned(), json!({"type": "string"}));
    json!({"type": "object", "properties": members})
}

fn search() -> Value {
    json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
}

fn chat_tool(name: &str, parameters: Value, strict: bool) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": parameters, "strict": strict}})
}

fn ask() -> Value {
    json!({"model": "rate", "messages": [{"role": "user", "content": "Where?"}]})
}

fn with(mut body: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The data of the events of a stream.
async fn streamed(api: &Api, path: &str, body: Value) -> Vec<Value> {
    let body = with(body, json!({"stream": true}));
    let headers = [("accept", "text/event-stream")];
    let answer = api.send(Method::POST, path, &headers, Some(body.to_string())).await.expect(200);
    let lines = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demanded_call_has_the_outputs_as_its_arguments() {
    let api = server("Paris", "7", "2026-11-28").await;
    let outputs = json!({"city": "Paris", "score": 7, "day": "2026-11-28"});
    let tools = json!([
        chat_tool("search", search(), false),
        chat_tool("final_result", parameters(), true)
    ]);
    let named = json!({"type": "function", "function": {"name": "final_result"}});
    for choice in [json!("required"), named] {
        let body = with(ask(), json!({"tools": tools, "tool_choice": choice}));
        let answer = api.post(CHAT, body.clone()).await.expect(200).json();
        let choice = &answer["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls");
        assert_eq!(choice["message"]["content"], Value::Null);
        let call = &choice["message"]["tool_calls"][0];
        assert_eq!(
            (&call["type"], &call["function"]["name"]),
            (&json!("function"), &json!("final_result"))
        );
        let arguments: Value =
            serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, outputs);
        let chunks = streamed(&api, CHAT, body).await;
        let last = &chunks.last().unwrap()["choices"][0];
        assert_eq!(last["finish_reason"], "tool_calls");
        let streamed = &last["delta"]["tool_calls"][0];
        assert_eq!((&streamed["index"], &streamed["function"]), (&json!(0), &call["function"]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_may_be_behind_a_reference_or_be_one_value() {
    let api = server("Paris", "7", "2026-11-28").await;
    let referred = json!({"$ref": "#/$defs/Found", "$defs": {"Found": parameters()}});
    let one = json!({"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]});
    for (parameters, arguments) in [
        (referred, r#"{"city":"Paris","score":7,"day":"2026-11-28"}"#),
        (one, r#"{"response":"Paris"}"#),
    ] {
        let tools = json!([chat_tool("final_result", parameters, false)]);
        let body = with(ask(), json!({"tools": tools, "tool_choice": "required"}));
        let answer = api.post(CHAT, body).await.expect(200).json();
        let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(call["arguments"], arguments);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_the_demanded_call() {
    let api = server("Paris", "7", "2026-11-28").await;
    let tool = json!({"type": "function", "name": "final_result", "parameters": parameters()});
    let history = json!([
        {"role": "user", "content": "Before?"},
        {"type": "function_call", "call_id": "call_1", "name": "final_result", "arguments": "{\"city\": \"Rome\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "taken"},
        {"role": "user", "content": "Where?"}]);
    let body =
        json!({"model": "rate", "input": history, "tools": [tool], "tool_choice": "required"});
    let found = api.post(RESPONSES, body.clone()).await.expect(200).json();
    let call = &found["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("final_result")));
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["city"], "Paris");
    let events = streamed(&api, RESPONSES, body).await;
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let wanted = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, wanted);
    assert_eq!(events[6]["response"]["output"][0]["arguments"], call["arguments"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_no_output_fits_and_tools_that_may_be_called_are_refused() {
    let api = server("Paris", "7", "2026-11-28").await;
    let tool = chat_tool("search", search(), false);
    let open = chat_tool("anything", json!({"type": "object", "properties": {}}), false);
    for (members, place, part) in [
        (json!({"tools": [tool]}), "tools", "tools of its own"),
        (json!({"tools": [tool], "tool_choice": "auto"}), "tools", "tools of its own"),
        (json!({"tools": [tool, open], "tool_choice": "required"}), "tools", "`anything` has none"),
        (
            json!({"tools": [{"type": "web_search"}], "tool_choice": "required"}),
            "tools[0]",
            "type `function`",
        ),
        (json!({"tool_choice": "required"}), "tool_choice", "`tools` does not have"),
        (json!({"tool_choice": "REQUIRED"}), "tool_choice", "expected `none`"),
        (
            json!({"tools": [chat_tool("a b", search(), false)], "tool_choice": "required"}),
            "tools[0].function.name",
            "letters",
        ),
        (
            json!({"tools": [chat_tool("f", patterns(51), false)], "tool_choice": "required"}),
            "tools",
            "50 patterns",
        ),
        (
            json!({"tools": [chat_tool("f", json!([]), false)], "tool_choice": "required"}),
            "tools[0].function.parameters",
            "object",
        ),
        (
            json!({"tools": [tool], "tool_choice": {"type": "function", "function": {"name": "x"}}}),
            "tool_choice",
            "`tools` does not have",
        ),
    ] {
        let error = api.post(CHAT, with(ask(), members)).await.expect(400).json()["error"].clone();
        assert_eq!(error["param"], place, "{error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    api.post(CHAT, with(ask(), json!({"tools": [tool], "tool_choice": "none"}))).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_before_is_what_the_assistant_said() {
    let api = Api::with_lm(ScriptedLm::always(sections([("answer", "Paris")]))).await;
    let graph = one_node("talk", "question, history: list[dict[str, str]] -> answer");
    api.post("/v1/graphs", graph).await.expect(201);
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "final_result", "arguments": "{\"city\": \"Rome\"}"}});
    let question = json!([{"role": "user", "content": null, "tool_calls": [call.clone()]}]);
    let error = api.post(CHAT, json!({"model": "talk", "messages": question})).await.expect(400);
    assert_eq!(error.json()["error"]["param"], "messages[0].content");
    let messages = json!([
        {"role": "user", "content": "Before?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "taken"},
        {"role": "user", "content": "Where?"}]);
    let answer =
        api.post(CHAT, json!({"model": "talk", "messages": messages})).await.expect(200).json();
    let run = api.ended(answer["id"].as_str().unwrap().trim_start_matches("chatcmpl-")).await;
    let said = &run["inputs"]["history"][1];
    assert_eq!(said, &json!({"role": "assistant", "content": "{\"city\": \"Rome\"}"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_beyond_the_bounds_of_a_strict_schema_is_an_error() {
    for (city, score, day, place) in [
        ("Paris", "11", "2026-11-28", "`/score`"),
        ("a city with a very long name", "7", "2026-11-28", "`/city`"),
        ("Paris", "7", "soon", "`/day`"),
    ] {
        let api = server(city, score, day).await;
        for strict in [true, false] {
            let schema = json!({"name": "r", "strict": strict, "schema": parameters()});
            let format = json!({"response_format": {"type": "json_schema", "json_schema": schema}});
            let tools = json!({"tools": [chat_tool("final_result", parameters(), strict)], "tool_choice": "required"});
            for members in [format, tools] {
                let answer = api.post(CHAT, with(ask(), members.clone())).await;
                let chunks = streamed(&api, CHAT, with(ask(), members)).await;
                let failed = &chunks.last().unwrap()["error"];
                match strict {
                    true => {
                        let error = answer.expect(422).json()["error"].clone();
                        let said = error["message"].as_str().unwrap();
                        assert!(said.contains(place) && said.contains("strict"), "{error}");
                        assert_eq!(
                            (&error["code"], &failed["code"]),
                            (&json!("parse_error"), &json!("parse_error"))
                        );
                    }
                    false => assert!(failed.is_null() && answer.status == 200, "{failed}"),
                }
            }
        }
        let format = json!({"format": {"type": "json_schema", "name": "r", "strict": true, "schema": parameters()}});
        let body = json!({"model": "rate", "input": "Where?", "text": format});
        api.post(RESPONSES, body).await.expect(422);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_schema_that_values_cannot_be_checked_against_is_refused_before_the_run() {
    let api = server("Paris", "7", "2026-11-28").await;
    for (keyword, value) in [("pattern", "^(?=P)"), ("format", "postcode")] {
        let mut schema = parameters();
        schema["properties"]["city"][keyword] = json!(value);
        let form = json!({"name": "r", "strict": true, "schema": schema});
        let members = json!({"response_format": {"type": "json_schema", "json_schema": form}});
        let error = api.post(CHAT, with(ask(), members)).await.expect(400).json()["error"].clone();
        assert!(error["param"].as_str().unwrap().starts_with("response_format"), "{error}");
    }
    let form = json!({"name": "r", "strict": "true", "schema": parameters()});
    let members = json!({"response_format": {"type": "json_schema", "json_schema": form}});
    let error = api.post(CHAT, with(ask(), members)).await.expect(400).json()["error"].clone();
    assert_eq!(error["param"], "response_format.json_schema.strict");
    assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]));
}
