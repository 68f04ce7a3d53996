//! `/v1/parse`: texts parsed as types and as answers, and the errors if they do not match.

use serde_json::{Value, json};

use crate::Api;

const PATH: &str = "/v1/parse";

async fn read(api: &Api, body: Value) -> Value {
    api.post(PATH, body).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_parsed_as_a_type_in_either_spelling() {
    let api = Api::new().await;
    let found = read(&api, json!({"type": "list[int]", "text": "[1, 2]"})).await;
    assert_eq!(found, json!({"value": [1, 2], "report": []}));
    let schema =
        json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
    let found = read(&api, json!({"type": schema, "text": "```json\n{\"age\": 3}\n```"})).await;
    let entry = json!({
        "field": null, "path": "", "kind": "fenced", "read": "{\"age\": 3}",
        "became": {"age": 3}, "penalty": 1
    });
    assert_eq!(found, json!({"value": {"age": 3}, "report": [entry]}));
    let types = json!({"Mood": {"enum": {"calm": null, "angry": null}}});
    let found = read(&api, json!({"type": "Mood", "types": types, "text": "Angry"})).await;
    assert_eq!(found["value"], "angry");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_parsed_as_a_signature_in_three_spellings() {
    let api = Api::new().await;
    let text = "<think>hm</think>\n[[ ## answer ## ]]\nParis\n[[ ## score ## ]]\n9";
    let fields = json!([{"name": "answer"}, {"name": "score", "type": "int"}]);
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let output = object(json!({"answer": {"type": "string"}, "score": {"type": "integer"}}));
    let spellings = [
        json!("question -> answer, score: int"),
        json!({"instructions": "x", "inputs": [{"name": "question"}], "outputs": fields}),
        json!({"instructions": "x", "input_schema": object(json!({"question": {"type": "string"}})), "output_schema": output}),
    ];
    for signature in spellings {
        let found = read(&api, json!({"signature": signature, "text": text})).await;
        assert_eq!(found["value"], json!({"answer": "Paris", "score": 9}));
        assert_eq!(found["report"][0]["kind"], "reasoning");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parse_error_has_field_path_reason_and_report() {
    let api = Api::new().await;
    let text = "**[[ ## mood ## ]]**\ngood\n[[ ## people ## ]]\n[{\"age\": 3}, {\"age\": \"old\"}]";
    let body = json!({"signature": "text -> mood, people: list[{age: int}]", "text": text});
    let refused = api.post(PATH, body.clone()).await.expect(422);
    let problem = refused.json();
    assert_eq!((refused.code().as_str(), &problem["field"]), ("parse_error", &json!("people")));
    assert_eq!(problem["path"], "[1].age");
    assert_eq!(problem["reason"], "expected a whole number, found `old`");
    assert_eq!(problem["report"][0]["field"], "mood");
    assert_eq!(problem["report"][0]["kind"], "layout");
    let refused = api.post(PATH, json!({"type": "int", "text": "3.7"})).await.expect(422).json();
    assert_eq!((&refused["code"], refused.get("field")), (&json!("parse_error"), None));
    assert_eq!(refused["report"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_accepts_only_exact_values() {
    let api = Api::new().await;
    let lenient = json!({"type": "int", "text": "1,200"});
    assert_eq!(read(&api, lenient.clone()).await["value"], 1200);
    let mut strict = lenient;
    strict["strict"] = json!(true);
    assert_eq!(api.post(PATH, strict).await.expect(422).code(), "parse_error");
    let answer = |text: &str| json!({"signature": "q -> n: int", "text": text, "strict": true});
    let exact = "<think>one more</think>\n[[ ## n ## ]]\n7\n\n[[ ## completed ## ]]";
    assert_eq!(read(&api, answer(exact)).await["value"], json!({"n": 7}));
    for degraded in ["7", "**[[ ## n ## ]]**\n7", "[[ ## n ## ]]\n`7`", "[[ ## n ## ]]\n{\"n\": 7}"]
    {
        assert_eq!(
            api.post(PATH, answer(degraded)).await.expect(422).code(),
            "parse_error",
            "{degraded}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ignored_one_of_two_matching_objects_is_reported() {
    let api = Api::new().await;
    let text = "Is it {\"a\": 1}? No: {\"a\": 2}";
    let found = read(&api, json!({"type": "{a: int}", "text": text})).await;
    assert_eq!(found["value"], json!({"a": 1}));
    let choice = json!({"field": null, "path": "", "kind": "choice", "read": "{\"a\": 2}",
        "became": {"a": 1}, "penalty": 4});
    assert_eq!(found["report"][1], choice);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_over_the_limit_is_refused_with_its_pointer() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_BYTES", "8000000")]).await;
    let text = "x".repeat((4 << 20) + 1);
    let refused = api.post(PATH, json!({"type": "str", "text": text})).await.expect(422);
    assert_eq!(refused.errors(), ["/text too_large"]);
    let read = api.post(PATH, json!({"type": "str", "text": &text[1..]})).await.expect(200);
    assert_eq!(read.json()["report"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_assert_is_reported_by_its_label() {
    let api = Api::new().await;
    let age = json!({"type": "int", "constraints": [{"assert": "this >= 0", "label": "age"}]});
    let types = json!({"Person": {"class": {"age": age}}});
    let bodies = [
        json!({"type": "Person", "types": types, "text": "{\"age\": -1}"}),
        json!({"signature": "text -> p: Person", "types": types, "text": "[[ ## p ## ]]\n{\"age\": -1}"}),
    ];
    for body in bodies {
        let refused = api.post(PATH, body).await.expect(422).json();
        assert_eq!(refused["code"], "constraint_failed");
        assert_eq!((&refused["constraint"], &refused["path"]), (&json!("age"), &json!("age")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_request_is_reported_with_pointers() {
    let api = Api::new().await;
    let cases = [
        (json!({"text": "1"}), vec!["/type missing_field"]),
        (
            json!({"type": "int", "signature": "a -> b", "text": "1"}),
            vec!["/signature invalid_value"],
        ),
        (json!({"type": "list[", "text": 1}), vec!["/type invalid_type", "/text wrong_type"]),
        (json!({"signature": "a ->", "text": ""}), vec!["/signature invalid_signature"]),
        (
            json!({"type": "int", "strict": 1, "tpye": 2}),
            vec!["/text missing_field", "/strict wrong_type", "/tpye unknown_field"],
        ),
    ];
    for (body, errors) in cases {
        let refused = api.post(PATH, body).await.expect(422);
        assert_eq!(
            (refused.code().as_str(), refused.errors()),
            ("invalid_request", errors.iter().map(ToString::to_string).collect())
        );
    }
}
