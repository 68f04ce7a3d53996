//! The OpenAPI document of one graph: its inputs and outputs as schemas.

use serde_json::{Value, json};

use crate::Api;

fn trip() -> Value {
    json!({
        "name": "trip",
        "description": "Plans a trip.",
        "types": {
            "Mood": {"enum": {"calm": null, "wild": null}},
            "Run": {"class": {"km": "int", "mood": "Mood"}}
        },
        "nodes": {"plan": {"strategy": "predict", "signature": {
            "inputs": [{"name": "country", "type": "str"}, {"name": "runs", "type": "list[Run]"}, {"name": "note", "type": "str", "default": ""}],
            "outputs": [{"name": "mood", "type": "Mood"}, {"name": "cost", "type": "float | null"}]
        }}}
    })
}

/// A validator of a schema within a document.
fn validator(document: &Value, name: &str) -> jsonschema::Validator {
    let mut schema = document["components"]["schemas"][name].clone();
    assert!(schema.is_object(), "no schema {name}");
    schema["components"] = json!({"schemas": document["components"]["schemas"]});
    jsonschema::validator_for(&schema).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_has_a_contract_that_says_which_inputs_fit() {
    let api = Api::new().await;
    api.post("/v1/graphs", trip()).await.expect(201);
    let answer = api.get("/v1/graphs/trip/openapi.json").await.expect(200);
    let document = answer.json();
    assert_eq!(
        document["info"],
        json!({"title": "trip", "description": "Plans a trip.", "version": "1"})
    );
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(
        paths,
        [
            "/v1/graphs/trip/execute",
            "/v1/graphs/trip/runs",
            "/v1/graphs/trip/batches",
            "/v1/runs/{id}",
            "/v1/batches/{id}",
            "/v1/batches/{id}/results"
        ]
    );
    let body = validator(&document, "ExecuteBody");
    let run = json!({"km": 3, "mood": "calm"});
    for (inputs, fits) in [
        (json!({"country": "France", "runs": [run]}), true),
        (json!({"country": "France", "runs": [], "note": "by train"}), true),
        (json!({"runs": []}), false),
        (json!({"country": "France", "runs": [{"km": 3, "mood": "sad"}]}), false),
        (json!({"country": 3, "runs": []}), false),
    ] {
        assert_eq!(body.is_valid(&json!({"inputs": inputs})), fits, "{inputs}");
        let answer = api.post("/v1/graphs/trip/execute", json!({"inputs": inputs})).await.json();
        assert_eq!(answer["code"] != "invalid_input", fits, "the server agrees: {answer}");
    }
    let outputs = validator(&document, "Outputs");
    assert!(outputs.is_valid(&json!({"mood": "wild", "cost": null})));
    assert!(!outputs.is_valid(&json!({"mood": "sad", "cost": 1.5})));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reference_of_a_contract_has_a_target_and_nothing_is_left_over() {
    let api = Api::new().await;
    api.post("/v1/graphs", trip()).await.expect(201);
    let document = api.get("/v1/graphs/trip/openapi.json").await.expect(200).json();
    let text = document.to_string();
    for found in text.split("\"$ref\":\"#").skip(1) {
        let pointer = found.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    for (kind, components) in document["components"].as_object().unwrap() {
        let names = components.as_object().unwrap().keys();
        let unused: Vec<&String> = names
            .filter(|name| {
                kind != "securitySchemes"
                    && !text.contains(&format!("#/components/{kind}/{name}\""))
            })
            .collect();
        assert!(unused.is_empty(), "{kind}: {unused:?}");
    }
    assert_eq!(document["components"]["schemas"]["RunType"]["properties"]["km"]["type"], "integer");
    assert!(
        document["components"]["schemas"]["Run"]["properties"]["usage"].is_object(),
        "the server's own"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_of_a_version_stays_and_makes_requests_name_it() {
    let api = Api::new().await;
    api.post("/v1/graphs", trip()).await.expect(201);
    let mut next = trip();
    next["nodes"]["plan"]["signature"]["inputs"] = json!([{"name": "city", "type": "str"}]);
    api.put("/v1/graphs/trip", next).await.expect(200);
    let first = api.get("/v1/graphs/trip/versions/1/openapi.json").await.expect(200);
    let document = first.json();
    assert!(document["components"]["schemas"]["Inputs"]["properties"]["country"].is_object());
    let body = validator(&document, "ExecuteBody");
    let inputs = json!({"country": "France", "runs": []});
    assert!(body.is_valid(&json!({"inputs": inputs, "version": 1})));
    assert!(!body.is_valid(&json!({"inputs": inputs})));
    let newest = api.get("/v1/graphs/trip/openapi.json").await.expect(200).json();
    assert!(newest["components"]["schemas"]["Inputs"]["properties"]["city"].is_object());
    let tag = first.header("etag").to_owned();
    let path = "/v1/graphs/trip/versions/1/openapi.json";
    api.send(reqwest::Method::GET, path, &[("if-none-match", &tag)], None).await.expect(304);
    api.get("/v1/graphs/trip/versions/9/openapi.json").await.expect(404);
    api.get("/v1/graphs/none/openapi.json").await.expect(404);
}
