//! Constrained decoding: the request to the provider, and the record when the provider refuses
//! constraints.

use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{Does, FakeLm, Remote, ServerSetup, sections, test_database};

async fn constrained(lm: &FakeLm, form: &str) -> ServerSetup {
    let setup = on(&test_database().await, lm);
    setup.env("DSRS_MODELS__HELD__MODEL", "m").env("DSRS_MODELS__HELD__CONSTRAIN", form)
}

/// The output of a run, and the constraints in the spans of its requests.
async fn execute(api: &Remote) -> (Value, Vec<String>) {
    let body = json!({"inputs": {"question": "?"}, "trace": true});
    let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap();
    let requests = spans.iter().filter(|span| span["kind"] == "lm");
    let constraints = requests.map(|span| text(span, "constraint").to_owned()).collect();
    (run["outputs"]["score"].clone(), constraints)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_receives_the_schema_and_its_object_is_parsed() {
    let lm = FakeLm::doing([Does::Say(r#"{"score": 0.5}"#.to_owned())]).await;
    let server = constrained(&lm, "json_schema").await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> score: float", json!({}))).await.expect(201);
    assert_eq!(execute(&api).await, (json!(0.5), vec!["json_schema".to_owned()]));
    let schema = lm.asked()[0].body["response_format"]["json_schema"]["schema"].clone();
    assert_eq!(schema["properties"], json!({"score": {"type": "number"}}));
    let models = api.get("/v1/models").await.expect(200).json();
    assert_eq!(models["items"][0]["constrain"], "json_schema");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_grammar_is_not_sent_again() {
    let lm = FakeLm::by(|_, asked| match asked.body.get("grammar") {
        Some(_) => Does::Answer(400, vec![], r#"{"error": "unknown member `grammar`"}"#.to_owned()),
        None => Does::Say(sections([("score", "0.5")])),
    })
    .await;
    let server = constrained(&lm, "gbnf").await.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> score: float", json!({}))).await.expect(201);
    let first = vec!["gbnf".to_owned(), "refused".to_owned()];
    assert_eq!(execute(&api).await, (json!(0.5), first));
    assert_eq!(execute(&api).await, (json!(0.5), vec!["refused".to_owned()]));
    assert_eq!(lm.asked().len(), 3);
}
