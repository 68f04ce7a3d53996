//! `/v1/types/assignable`: whether a value of one type may be used as another.

use serde_json::json;

use crate::Api;

const PATH: &str = "/v1/types/assignable";

#[tokio::test(flavor = "multi_thread")]
async fn types_are_compared_and_answered_in_canonical_form() {
    let api = Api::new().await;
    let fine = json!({"from": "Literal[\"a\"]", "to": "Optional[string]"});
    let answer = api.post(PATH, fine).await.expect(200).json();
    assert_eq!(answer, json!({"assignable": true, "from": "\"a\"", "to": "str?"}));
    let parted = json!({
        "from": "{person: P}", "to": "{person: {age: int}}",
        "types": {"P": {"class": {"age": "str"}}}
    });
    let answer = api.post(PATH, parted).await.expect(200).json();
    assert_eq!((&answer["assignable"], &answer["path"]), (&json!(false), &json!("person.age")));
    assert!(answer["reason"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_types_are_reported_with_pointers() {
    let api = Api::new().await;
    let refused = api.post(PATH, json!({"from": "list[", "to": 3})).await.expect(422);
    assert_eq!(refused.code(), "invalid_request");
    assert_eq!(refused.errors(), ["/from invalid_type", "/to wrong_type"]);
}
