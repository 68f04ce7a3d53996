//! The OpenAPI document: the committed file is current, and its examples are valid. That answers
//! match the document is checked for every answer of every test: `support::documented`.

use std::process::Command;

use reqwest::Method;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::program;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");

#[test]
fn the_committed_document_is_current() {
    let committed = std::fs::read_to_string(COMMITTED).unwrap();
    let printed = Command::new(program()).arg("openapi").output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    assert!(
        committed.as_bytes() == printed.stdout,
        "run `cargo run -- openapi > openapi/openapi.json` and look at the difference"
    );
}

#[test]
fn every_parameter_is_described() {
    for (path, method, operation) in operations(dsrs_http::openapi()) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let description = parameter["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{method} {path}: {parameter}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_serves_the_document_and_a_self_contained_page() {
    let api = Api::new().await;
    assert_eq!(api.get("/openapi.json").await.expect(200).json(), *dsrs_http::openapi());
    let page = api.get("/docs/").await.expect(200).text;
    let script = api.get("/docs/swagger-initializer.js").await.expect(200).text;
    for text in [page, script] {
        assert!(!text.contains("http://") && !text.contains("https://"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_request_is_accepted() {
    // Without workers a run stays queued, so that it can be cancelled and resumed.
    let api = Api::with_settings(&[("DSRS_WORKER_ENABLED", "false")]).await;
    let document = dsrs_http::openapi();
    let (mut posted, mut run) = (0, String::new());
    let mut operations = operations(document);
    // The last one: with a first key the server no longer answers without one.
    operations.sort_by_key(|(path, ..)| path == "/v1/keys");
    for (path, method, operation) in operations {
        let content = &operation["requestBody"]["content"]["application/json"];
        if content.is_null() {
            continue;
        }
        let example = &content["example"];
        assert!(!example.is_null(), "{method} {path} has no example");
        let path = path.replace("{graph}", "support-reply").replace("{name}", "predict");
        let path = path.replace("{dataset}", "tickets").replace("{index}", "handbook");
        let path = path.replace("{path}", "triage");
        if path.ends_with("/signal") {
            run = waiting_run(&api).await;
        }
        if path.ends_with("/builds") {
            api.post("/v1/indexes/handbook/cancel", "").await.expect(200);
        }
        if path.ends_with("/search") {
            let mut connection = PgConnection::connect(&api.database).await.unwrap();
            let built = "update indexes set build_id = (select id from index_builds limit 1)";
            sqlx::query(built).execute(&mut connection).await.unwrap();
        }
        if path.ends_with("/feedback") {
            run = succeeded_run(&api).await;
        }
        let path = path.replace("{id}", &run);
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let mut body = example.to_string();
        if let Some(chosen) = example["runs"][0].as_str() {
            body = body.replace(chosen, &succeeded_run(&api).await);
        }
        let answer = api.send(method, &path, &[], Some(body)).await;
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text);
        assert!(operation["responses"].get(answer.status.to_string()).is_some(), "{path}");
        if path == "/v1/webhooks" || path == "/v1/schedules" {
            answer.json()["id"].as_str().unwrap().clone_into(&mut run);
        }
        if path.ends_with("/runs") {
            run = answer.json()["id"].as_str().unwrap().to_owned();
            api.post(&format!("/v1/runs/{run}/cancel"), "").await.expect(200);
        }
        posted += 1;
    }
    assert_eq!(posted, 36);
}

/// The id of a run that succeeded.
async fn succeeded_run(api: &Api) -> String {
    let inputs = serde_json::json!({"inputs": {"ticket": "Where is it?"}});
    let run = api.post("/v1/graphs/support-reply/execute", inputs).await.expect(200).json();
    run["id"].as_str().unwrap().to_owned()
}

/// The id of a run that waits for the value in the example of a signal.
async fn waiting_run(api: &Api) -> String {
    let node = serde_json::json!({"strategy": "await", "signature": "letter -> approved: bool"});
    let graph = serde_json::json!({"name": "letter", "nodes": {"approve": node}});
    api.post("/v1/graphs", graph).await.expect(201);
    let inputs = serde_json::json!({"inputs": {"letter": "Dear all"}});
    let run = api.post("/v1/graphs/letter/execute", inputs).await.expect(202).json();
    run["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_answer_has_an_example_that_matches_its_schema() {
    let document = dsrs_http::openapi();
    let mut shown = 0;
    for (path, method, operation) in operations(document) {
        let responses = operation["responses"].as_object().unwrap();
        for response in responses.iter().filter(|(status, _)| status.starts_with('2')) {
            let content = &response.1["content"]["application/json"];
            if content.is_null() {
                continue;
            }
            let example = example_of(document, content);
            assert!(!example.is_null(), "{method} {path} shows no answer");
            let mut schema = content["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::validator_for(&schema).unwrap();
            let problems: Vec<_> = validator.iter_errors(example).map(|e| e.to_string()).collect();
            assert!(problems.is_empty(), "{method} {path}: {problems:?}");
            shown += 1;
        }
    }
    assert_eq!(shown, 107);
}

/// The example of an answer: its own, or the one of its schema.
fn example_of<'d>(document: &'d Value, content: &'d Value) -> &'d Value {
    let reference = content["schema"]["$ref"].as_str().unwrap_or_default();
    let schema = document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
    content.get("example").unwrap_or(&schema["examples"][0])
}

#[test]
fn every_route_documents_its_answers_and_problems() {
    let document = dsrs_http::openapi();
    for (path, method, operation) in operations(document) {
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path}");
        assert!(operation["summary"].is_string() && operation["tags"].is_array(), "{path}");
        assert!(operation.get("x-problems").is_none(), "{path}");
        let expected: &[&str] = match path.as_str() {
            path if path.starts_with("/v1") => &["400", "401", "406", "500", "503"],
            _ => &[],
        };
        for status in expected {
            let reference = responses[*status]["$ref"].as_str().map(|found| &found[1..]);
            let response = reference.and_then(|found| document.pointer(found));
            let response = response.unwrap_or(&responses[*status]);
            let problem = &response["content"]["application/problem+json"];
            assert!(!problem["examples"].as_object().unwrap().is_empty(), "{method} {path}");
        }
    }
}

#[test]
fn every_parameter_has_an_example_that_fits_it() {
    let document = dsrs_http::openapi();
    for (path, method, operation) in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let place = format!("{method} {path}: {}", parameter["name"]);
            let example = parameter.get("example").unwrap_or_else(|| panic!("{place}"));
            let validator = jsonschema::validator_for(&parameter["schema"]).unwrap();
            assert!(validator.is_valid(example), "{place}: {example}");
        }
    }
}

#[test]
fn a_header_of_json_is_a_text_and_says_what_is_in_it() {
    let document = dsrs_http::openapi();
    let parameters = operations(document).into_iter().flat_map(|(.., operation)| {
        operation["parameters"].as_array().cloned().unwrap_or_default()
    });
    let headers: Vec<Value> =
        parameters.filter(|parameter| parameter["name"] == "X-Dsrs-Metadata").collect();
    assert_eq!(headers.len(), 3);
    for header in headers {
        let schema = &header["schema"];
        assert_eq!((&schema["type"], header.get("content")), (&Value::from("string"), None));
        assert_eq!(schema["contentMediaType"], "application/json");
        let content: Value = serde_json::from_str(header["example"].as_str().unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema["contentSchema"]).unwrap();
        assert!(validator.is_valid(&content), "{content}");
        assert!(!validator.is_valid(&serde_json::json!({"channel": ["mail"]})));
    }
}

#[test]
fn the_messages_of_webhooks_are_in_the_document() {
    let document = dsrs_http::openapi();
    let webhooks = document["webhooks"].as_object().unwrap();
    let names = &document["components"]["schemas"]["WebhookEventName"]["enum"];
    let mut events: Vec<&str> =
        names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    events.push("webhook.test");
    assert_eq!(webhooks.keys().collect::<Vec<_>>(), events);
    for (event, item) in webhooks {
        let operation = &item["post"];
        let mut schema = operation["requestBody"]["content"]["application/json"]["schema"].clone();
        schema["components"] = document["components"].clone();
        let example =
            example_of(document, &operation["requestBody"]["content"]["application/json"]);
        assert_eq!(example["type"], *event);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<_> = validator.iter_errors(example).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{event}: {problems:?}");
        let headers = operation["parameters"].as_array().unwrap();
        for header in headers {
            let validator = jsonschema::validator_for(&header["schema"]).unwrap();
            assert!(validator.is_valid(&header["example"]), "{event}: {header}");
        }
        let names: Vec<&Value> = headers.iter().map(|header| &header["name"]).collect();
        assert_eq!(names, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
        for status in ["2XX", "410", "default"] {
            assert!(operation["responses"][status]["description"].is_string(), "{event} {status}");
        }
    }
}

#[test]
fn an_object_says_whether_it_may_have_other_members() {
    let document = dsrs_http::openapi();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let inputs = &schemas["ExecuteBody"]["properties"]["inputs"];
    assert_eq!(inputs["additionalProperties"], true, "clients send any inputs: {inputs}");
    for (name, schema) in schemas {
        let is_bare = schema["type"] == "object" && schema.as_object().unwrap().len() == 1;
        assert!(!is_bare, "{name} says nothing");
    }
}

#[test]
fn every_reference_has_a_target() {
    let document = dsrs_http::openapi();
    let text = document.to_string();
    for found in text.split("\"$ref\":\"#").skip(1) {
        let pointer = found.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let operation = |(method, operation): (&String, &Value)| {
            (path.clone(), method.clone(), operation.clone())
        };
        item.as_object().unwrap().iter().map(operation).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

/// Objects of requests that may have any member: values of graphs, configs and JSON Schemas, and requests in the
/// protocol of OpenAI, whose clients send more than a graph reads.
fn is_open(pointer: &str) -> bool {
    let open = ["/additionalProperties", "/metadata", "/output_schema"];
    let is_chat = ["/schemas/Chat", "/schemas/StreamOptions"];
    open.iter().any(|end| pointer.ends_with(end))
        || pointer.contains("/schemas/Metric")
        || is_chat.iter().any(|schema| pointer.contains(schema))
}

#[test]
fn the_objects_of_requests_refuse_unknown_members_as_the_server_does() {
    let document = dsrs_http::openapi();
    let mut waiting: Vec<String> = Vec::new();
    for (path, method, operation) in operations(document) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            continue;
        }
        let reference = schema["$ref"].as_str();
        waiting.push(reference.unwrap_or_else(|| panic!("{method} {path}: {schema}")).to_owned());
    }
    let mut seen = Vec::new();
    while let Some(reference) = waiting.pop() {
        if !seen.contains(&reference) {
            let pointer = reference.trim_start_matches('#');
            collect_refs(document.pointer(pointer).unwrap(), pointer, &mut waiting);
            seen.push(reference);
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

/// Looks at every object schema below a place, and collects references.
fn collect_refs(schema: &Value, pointer: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                found.push(reference.to_owned());
            }
            let named = members.get("properties").is_some_and(Value::is_object)
                && members.get("type").is_some();
            let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
            assert!(!named || closed || is_open(pointer), "{pointer} is open: {schema}");
            for (name, member) in members {
                collect_refs(member, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| collect_refs(element, pointer, found));
        }
        _ => {}
    }
}

#[test]
fn every_parameter_has_a_form_and_none_is_null() {
    let document = dsrs_http::openapi();
    let mut seen = 0;
    for (path, method, operation) in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let schema = &parameter["schema"];
            let bounds = ["pattern", "format", "minimum", "enum", "items", "maxProperties"];
            let bounded = bounds.iter().any(|bound| schema.get(bound).is_some());
            let formed = bounded || schema["type"] == "boolean";
            let name = &parameter["name"];
            assert!(formed && schema["type"].is_string(), "{method} {path} {name}: {schema}");
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen}");
}
