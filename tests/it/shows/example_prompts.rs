//! The prompts of the example graph, which the model of the demo reads while the server is being built.

use serde_json::{Map, Value, json};

use super::on;
use dsrs_test::{FakeLm, Remote, test_database};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/prompts/capital.json");

fn example(path: &str) -> Value {
    let path = format!("{}/examples/{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The messages of each predictor up to the question.
async fn shared_prefixes(api: &Remote) -> Value {
    let mut prefixes = Map::new();
    for (node, inputs) in [
        ("place", json!({"country": "France"})),
        ("advice", json!({"capital": "Paris", "continent": "Europe"})),
    ] {
        let body = json!({"node": node, "inputs": inputs});
        let rendered = api.post("/v1/graphs/capital/render", body).await.expect(200).json();
        for (path, predictor) in rendered["predictors"].as_object().unwrap() {
            let messages = predictor["messages"].as_array().unwrap();
            prefixes.insert(path.clone(), json!(messages[..messages.len() - 1]));
        }
    }
    Value::Object(prefixes)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompts_of_the_demo_are_those_of_its_graph() {
    let lm = FakeLm::doing([]).await;
    let server = on(&test_database().await, &lm).start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", example("graphs/capital.json")).await.expect(201);
    api.put("/v1/graphs/capital/state", example("states/capital.json")).await.expect(200);
    let prefixes = shared_prefixes(&api).await;
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(FILE, format!("{prefixes:#}\n")).unwrap();
    }
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
    assert_eq!(stored, prefixes, "run this test with UPDATE_EXAMPLES=1");
}
