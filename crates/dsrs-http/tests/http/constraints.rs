//! Constraints hold on every way in over HTTP: each place in a type, and each request that carries a
//! value. Nothing is paid for and nothing is stored.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::test_database;

/// A graph whose input and whose signals have the type `ty`, which may name a circle.
fn graph(ty: &str) -> Value {
    json!({
        "name": "shapes",
        "types": {
            "Circle": {"class": {"radius": {"type": "float", "constraints": [{"assert": "this > 0", "label": "positive"}]}}},
            "Square": {"class": {"side": "float"}},
            "Tree": {"class": {"circle": "Circle", "children": "list[Tree]"}}
        },
        "inputs": {"x": ty},
        "nodes": {
            "read": {"strategy": "predict", "signature": {
                "inputs": [{"name": "x", "type": ty}], "outputs": [{"name": "y", "type": ty}, {"name": "short"}]}},
            "approve": {"strategy": "await", "signature": {"inputs": [{"name": "short"}], "outputs": [{"name": "z", "type": ty}]}}
        },
        "edges": [{"from": "input.x", "to": "read.x"}, {"from": "read.short", "to": "approve.short"}]
    })
}

/// A type, a value that breaks the assert, and the place of the failure in it.
fn places() -> Vec<(&'static str, Value, &'static str)> {
    let circle = json!({"radius": -1.0});
    vec![
        ("Circle", circle.clone(), "/radius"),
        ("Circle?", circle.clone(), "/radius"),
        ("Circle | Square", circle.clone(), "/radius"),
        ("list[Circle | Square]", json!([{"side": -1.0}, circle]), "/1/radius"),
        ("dict[str, Circle]", json!({"a": circle}), "/a/radius"),
        (
            "Tree",
            json!({"circle": {"radius": 1.0}, "children": [{"circle": circle, "children": []}]}),
            "/children/0/circle/radius",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_that_carries_a_value_is_held_to_the_asserts_of_its_type() {
    for (ty, value, place) in places() {
        let lm = Arc::new(ScriptedLm::sections([("short", "s")]));
        let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
        api.post("/v1/graphs", graph(ty)).await.expect(201);
        let inputs = json!({"inputs": {"x": value}});
        let demo = json!({"input": {"x": value}, "output": {"short": "s"}});
        let wrong = json!({"input": {"x": value}, "output": {"y": value}});
        let examples = json!({"name": "shapes", "examples": [inputs]});
        api.post("/v1/datasets", examples).await.expect(201);
        let graph = "/v1/graphs/shapes";
        let requests = [
            (api.post(&format!("{graph}/execute"), inputs.clone()).await, vec!["/inputs/x"]),
            (api.post(&format!("{graph}/runs"), inputs.clone()).await, vec!["/inputs/x"]),
            (
                api.post(&format!("{graph}/batches"), json!({"items": [{"x": value}]})).await,
                vec!["/items/0/x"],
            ),
            (
                api.post("/v1/datasets/shapes/check", json!({"graph": "shapes"})).await,
                vec!["/examples/0/inputs/x"],
            ),
            (
                api.put(
                    &format!("{graph}/state"),
                    json!({"predictors": {"read": {"demos": [demo, wrong]}}}),
                )
                .await,
                vec![
                    "/predictors/read/demos/0/input/x",
                    "/predictors/read/demos/1/input/x",
                    "/predictors/read/demos/1/output/y",
                ],
            ),
        ];
        for (answer, places) in requests {
            let answer = answer.expect(422);
            let expected: Vec<String> =
                places.iter().map(|before| format!("{before}{place} invalid_value")).collect();
            // A batch of a graph that waits is refused as a whole, too.
            let found: Vec<_> =
                answer.errors().into_iter().filter(|problem| problem.starts_with('/')).collect();
            assert_eq!(found, expected, "{ty}");
        }
        assert_eq!(lm.requests().len(), 0, "{ty}");
        assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]), "{ty}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_is_held_to_the_asserts_and_the_run_still_waits() {
    for (ty, value, place) in places() {
        let lm = Arc::new(ScriptedLm::sections([("short", "s")]));
        let api = Api::start(&test_database().await, Some(lm), &[]).await;
        let mut graph = graph("str");
        graph["nodes"]["read"]["signature"]["outputs"] = json!([{"name": "short"}]);
        graph["nodes"]["approve"]["signature"]["outputs"] = json!([{"name": "z", "type": ty}]);
        api.post("/v1/graphs", graph).await.expect(201);
        let run = api.post("/v1/graphs/shapes/execute", json!({"inputs": {"x": "a"}})).await;
        let run = format!("/v1/runs/{}", run.expect(202).json()["id"].as_str().unwrap());
        let signal = json!({"node": "approve", "value": {"z": value}});
        let refused = api.post(&format!("{run}/signal"), signal).await.expect(422);
        assert_eq!(refused.errors(), [format!("/value/z{place} invalid_value")], "{ty}");
        assert_eq!(api.get(&run).await.json()["status"], "waiting", "{ty}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_broken_asserts_of_a_request_are_in_one_answer() {
    let lm = Arc::new(ScriptedLm::sections([("y", "s")]));
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    let positive = json!([{"assert": "this > 0"}]);
    let graph = json!({
        "name": "boxes",
        "types": {"Box": {"class": {
            "width": {"type": "int", "constraints": positive}, "height": {"type": "int", "constraints": positive}}}},
        "inputs": {"x": "Box", "n": "int"},
        "nodes": {"read": {"strategy": "predict", "signature": {
            "inputs": [{"name": "x", "type": "Box", "constraints": [{"assert": "this.width < this.height"}]},
                       {"name": "n", "type": "int", "constraints": positive}],
            "outputs": [{"name": "y"}]}}},
        "edges": [{"from": "input.x", "to": "read.x"}, {"from": "input.n", "to": "read.n"}]
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let inputs = json!({"inputs": {"x": {"width": 0, "height": -1}, "n": 0}});
    for way in ["execute", "runs"] {
        let refused = api.post(&format!("/v1/graphs/boxes/{way}"), inputs.clone()).await;
        let mut places = refused.expect(422).errors();
        places.sort();
        assert_eq!(
            places,
            ["/inputs/n", "/inputs/x", "/inputs/x/height", "/inputs/x/width"]
                .map(|place| format!("{place} invalid_value"))
        );
    }
}
