//! `/graphs/{graph}/run`: a form by the types of the inputs, and its answer.

use serde_json::json;

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, one_node, support_reply};

fn typed_graph() -> serde_json::Value {
    let inputs = ["text", "count", "urgent", "mood", "tags", "customer", "rest"];
    let edges =
        inputs.map(|name| json!({"from": format!("input.{name}"), "to": format!("ask.{name}")}));
    json!({
        "name": "typed",
        "types": {
            "Mood": {"enum": {"calm": null, "angry": null}},
            "Customer": {"class": {"name": "str", "age": "int | null", "mood": "Mood"}}
        },
        "inputs": {"text": "str", "count": "int", "urgent": "bool", "mood": "Mood", "tags": "list[str]", "customer": "Customer", "rest": "dict[str, int]"},
        "nodes": {"ask": {"strategy": "predict", "signature": {
            "inputs": [
                {"name": "text", "type": "str"}, {"name": "count", "type": "int"}, {"name": "urgent", "type": "bool"},
                {"name": "mood", "type": "Mood"}, {"name": "tags", "type": "list[str]"},
                {"name": "customer", "type": "Customer"}, {"name": "rest", "type": "dict[str, int]"}
            ],
            "outputs": [{"name": "answer", "type": "str"}]
        }}},
        "edges": edges,
        "outputs": {"answer": "ask.answer"}
    })
}

const FILLED: [(&str, &str); 10] = [
    ("/inputs/text", "two\r\nlines"),
    ("/inputs/count", "3"),
    ("/inputs/urgent", "true"),
    ("/inputs/mood", "angry"),
    ("/inputs/tags/0", "a"),
    ("/inputs/tags/7", "b c"),
    ("/inputs/customer/name", "Ann"),
    ("/inputs/customer/age", ""),
    ("/inputs/customer/mood", "calm"),
    ("/inputs/rest", "{\"x\": 1}"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_type_has_a_field_and_the_fields_are_the_inputs() {
    let api = Api::new().await;
    api.post("/v1/graphs", typed_graph()).await.expect(201);
    let view = open(&api, "/graphs/typed/run").await.expect(200).text;
    for name in [
        "/inputs/text",
        "/inputs/count",
        "/inputs/urgent",
        "/inputs/mood",
        "/inputs/tags/0",
        "/inputs/customer/name",
        "/inputs/customer/age",
        "/inputs/rest",
    ] {
        assert!(view.contains(&format!("name=\"{name}\"")), "no field {name}");
    }
    assert!(view.contains("<option value=\"angry\">"), "{view}");
    let request = submit(&api, "/graphs/typed/run/request", &FILLED).await.expect(200).json();
    assert_eq!(
        request["body"]["inputs"],
        json!({
            "text": "two\nlines", "count": 3, "urgent": true, "mood": "angry", "tags": ["a", "b c"],
            "customer": {"name": "Ann", "age": null, "mood": "calm"}, "rest": {"x": 1}
        })
    );
    let answer = submit(&api, "/graphs/typed/run", &FILLED).await.expect(200);
    let text = words(&answer.text);
    assert!(text.contains("succeeded") && text.contains("Dear customer"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_named_at_its_field_and_stays_in_the_form() {
    let api = Api::new().await;
    api.post("/v1/graphs", typed_graph()).await.expect(201);
    let wrong = FILLED.map(|(name, value)| match name {
        "/inputs/count" => (name, "many"),
        "/inputs/mood" => (name, ""),
        "/inputs/rest" => (name, "{\"x\": "),
        _ => (name, value),
    });
    let refused = submit(&api, "/graphs/typed/run", &wrong).await.expect(422);
    assert!(
        refused.text.contains("value=\"many\"") && refused.text.contains("two\nlines"),
        "{}",
        refused.text
    );
    let text = words(&refused.text);
    assert!(text.contains("The inputs do not fit") && text.contains("is missing"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optional_class_without_any_value_is_null_and_a_list_of_classes_has_rows() {
    let api = Api::new().await;
    let graph = json!({
        "name": "trip",
        "types": {"Stop": {"class": {"city": "str", "nights": "int"}}},
        "nodes": {"ask": {"strategy": "predict", "signature": {
            "inputs": [{"name": "home", "type": "Stop | null"}, {"name": "stops", "type": "list[Stop]"}],
            "outputs": [{"name": "answer", "type": "str"}]
        }}}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let inputs = async |fields: &[(&str, &str)]| {
        let request = submit(&api, "/graphs/trip/run/request", fields).await.expect(200).json();
        request["body"]["inputs"].clone()
    };
    let empty =
        [("/inputs/home/city", ""), ("/inputs/home/nights", ""), ("/inputs/stops/0/city", "")];
    assert_eq!(inputs(&empty).await, json!({"home": null, "stops": []}));
    let filled = [
        ("/inputs/home/city", "Oslo"),
        ("/inputs/home/nights", "1"),
        ("/inputs/stops/10/city", "Rome"),
        ("/inputs/stops/10/nights", "3"),
        ("/inputs/stops/2/city", "Bern"),
        ("/inputs/stops/2/nights", "two"),
    ];
    assert_eq!(
        inputs(&filled).await,
        json!({
            "home": {"city": "Oslo", "nights": 1},
            "stops": [{"city": "Bern", "nights": "two"}, {"city": "Rome", "nights": 3}]
        })
    );
    let refused = submit(&api, "/graphs/trip/run", &filled).await.expect(422);
    let field = refused.text.split("name=\"/inputs/stops/0/nights\"").nth(1).unwrap();
    assert!(field.split("</label>").next().unwrap().contains("class=\"refusal\""), "{field}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_begins_with_a_run_or_an_example() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let run = api
        .post("/v1/graphs/support-reply/execute", json!({"inputs": {"ticket": "Where is it?"}}))
        .await
        .expect(200)
        .json();
    let id = run["id"].as_str().unwrap();
    api.until(&format!("/v1/runs/{id}"), |answer: &Answer| answer.status == 200).await;
    let again = open(&api, &format!("/graphs/support-reply/run?run={id}")).await.expect(200).text;
    assert!(again.contains("\nWhere is it?</textarea>"), "{again}");
    let examples = json!([{"inputs": {"ticket": "first"}}, {"inputs": {"ticket": "second"}}]);
    api.post("/v1/datasets", json!({"name": "tickets", "examples": examples})).await.expect(201);
    let example =
        open(&api, "/graphs/support-reply/run?dataset=tickets&example=1").await.expect(200).text;
    assert!(example.contains("\nsecond</textarea>"), "{example}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_shows_the_words_of_the_model() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("broken", "ticket -> n: int")).await.expect(201);
    let failed =
        submit(&api, "/graphs/broken/run", &[("/inputs/ticket", "Where?")]).await.expect(200);
    let text = words(&failed.text);
    assert!(text.contains("failed") && text.contains("does not fit"), "{text}");
}
