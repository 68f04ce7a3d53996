//! `/v1/strategies` and `/v1/models`: what the server offers.

use serde_json::json;

use crate::Api;

#[tokio::test(flavor = "multi_thread")]
async fn strategies_are_listed_with_their_config_schemas() {
    let api = Api::new().await;
    let list = api.get("/v1/strategies").await.expect(200).json();
    let items = list["items"].as_array().unwrap();
    let names: Vec<_> = items.iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted());
    for name in [
        "best_of_n",
        "chain_of_thought",
        "decide",
        "graph",
        "majority",
        "multi_chain_comparison",
        "parallel",
        "predict",
        "program_of_thought",
        "react",
        "refine",
        "code_act",
        "rlm",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let one = api.get("/v1/strategies/chain_of_thought").await.expect(200).json();
    assert!(items.contains(&one));
    assert_eq!(one["config_schema"]["type"], "object");
    assert_eq!(api.get("/v1/strategies/magic").await.expect(404).code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_the_transformed_signature_and_the_system_prompt() {
    let api = Api::new().await;
    let path = "/v1/strategies/chain_of_thought/preview";
    let preview =
        api.post(path, json!({"signature": "question -> answer: float"})).await.expect(200).json();
    let outputs: Vec<_> =
        preview["schema"]["outputs"].as_array().unwrap().iter().map(|o| &o["name"]).collect();
    assert_eq!(outputs, ["reasoning", "answer"]);
    let system = preview["predictors"]["predict"]["system"].as_str().unwrap();
    assert!(system.contains("[[ ## reasoning ## ]]"), "{system}");
    let body = json!({"signature": "question ->", "types": [], "conf": 1});
    let refused = api.post(path, body).await.expect(422);
    assert_eq!(
        refused.errors(),
        ["/types wrong_type", "/signature invalid_signature", "/conf unknown_field"]
    );
    let body = json!({"signature": "question -> answer", "config": {"n": 1}});
    assert_eq!(api.post(path, body).await.expect(422).errors(), ["/config invalid_config"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_without_their_keys() {
    let api = Api::with_settings(&[
        ("DSRS_MODELS__FAST__MODEL", "small"),
        ("DSRS_MODELS__FAST__API_KEY", "sk-secret"),
        ("DSRS_MODELS__GOOD__MODEL", "large"),
        ("DSRS_MODELS__GOOD__TEMPERATURE", "1"),
        ("DSRS_DEFAULT_MODEL", "good"),
    ])
    .await;
    let answer = api.get("/v1/models").await.expect(200);
    assert!(!answer.text.contains("sk-secret"));
    let models = answer.json();
    assert_eq!(
        (&models["items"][0]["name"], &models["items"][0]["default"]),
        (&json!("fast"), &json!(false))
    );
    assert_eq!(
        (&models["items"][1]["model"], &models["items"][1]["default"]),
        (&json!("large"), &json!(true))
    );
    assert!(answer.text.contains("\"temperature\":1.0"));
}
