//! `GET /v1/runs/{id}?include=provenance`: the origin of the outputs of a run.

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{one_node, support_reply};

fn review() -> Value {
    json!({
        "name": "review",
        "inputs": {"text": "str", "tone": "str"},
        "nodes": {
            "facts": {"strategy": "predict", "signature": "text -> person: {name: str, age: int}, topic"},
            "letter": {"strategy": "chain_of_thought", "signature": "name, tone -> letter"},
            "card": {"strategy": "collect", "config": {"as": "class"}},
        },
        "edges": [{"from": "facts.person.name", "to": "letter.name"},
                  {"from": "input.text", "to": "facts.text"}, {"from": "input.tone", "to": "letter.tone"},
                  {"from": "facts.person.age", "to": "card.age"}, {"from": "input.tone", "to": "card.tone"}],
        "outputs": {"letter": "letter.letter", "topic": "facts.topic", "tone": "input.tone", "card": "card.value"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_output_names_its_nodes_parameters_inputs_and_calls() {
    let api = Api::with_lm(ScriptedLm::sections([
        ("person", r#"{"name": "Ada", "age": 36}"#),
        ("topic", "age"),
        ("reasoning", "She is young."),
        ("letter", "Dear Ada"),
    ]))
    .await;
    api.post("/v1/graphs", review()).await.expect(201);
    let tuned = json!({"predictors": {"facts": {"instruction": "Read closely.", "demos": []}}});
    api.put("/v1/graphs/review/state", tuned).await.expect(200);
    let inputs = json!({"inputs": {"text": "Ada is 36.", "tone": "warm"}});
    let run = api.post("/v1/graphs/review/execute", inputs).await.expect(200).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());

    assert!(api.get(&path).await.expect(200).json().get("provenance").is_none());
    // Provenance works after the graph is deleted.
    api.delete("/v1/graphs/review").await.expect(204);
    let run = api.get(&format!("{path}?include=provenance")).await.expect(200).json();
    let provenance = &run["provenance"];
    assert_eq!(provenance["omitted"], json!([]));
    let names: Vec<&String> = provenance["outputs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["letter", "topic", "tone", "card"]);

    let letter = &provenance["outputs"]["letter"];
    assert_eq!(letter["kind"], "response");
    assert_eq!(letter["ref"], "letter.letter");
    assert_eq!(letter["sources"], json!(["facts.person.name", "input:tone"]));
    assert_eq!(letter["nodes"], json!(["facts", "letter"]));
    let parameters: Vec<_> = letter["parameters"].as_array().unwrap().iter().collect();
    assert_eq!(parameters.len(), 2);
    assert!(parameters.iter().all(|parameter| parameter["state_version"] == 2));
    let paths: Vec<_> = parameters.iter().map(|parameter| &parameter["path"]).collect();
    assert_eq!(paths, ["facts", "letter.predict"]);
    assert_eq!(letter["meta"]["source"], "chain_of_thought");
    assert_eq!(letter["meta"]["schema"], "str");

    let topic = &provenance["outputs"]["topic"];
    assert_eq!(topic["inputs"], json!(["input:text"]));
    let calls = topic["lm_calls"].as_array().unwrap();
    let spans = run["trace"]["spans"].as_array().unwrap();
    let of_facts = spans.iter().filter(|span| span["kind"] == "lm" && span["node"] == "facts");
    assert_eq!(calls, &of_facts.map(|span| span["id"].clone()).collect::<Vec<_>>());

    let tone = &provenance["outputs"]["tone"];
    assert_eq!(tone["ref"], "input:tone");
    assert_eq!((&tone["nodes"], &tone["lm_calls"]), (&json!([]), &json!([])));

    let card = &provenance["outputs"]["card"];
    assert_eq!(card["kind"], "structured");
    assert_eq!(card["inputs"], json!(["input:text", "input:tone"]));
    assert_eq!(card["fields"]["age"]["inputs"], json!(["input:text"]));
    assert_eq!(card["fields"]["tone"]["nodes"], json!(["card"]));
    assert_eq!(card["fields"]["tone"]["lm_calls"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_values_of_include_are_refused_by_name() {
    let api = Api::new().await;
    let unknown = "/v1/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    for wrong in
        ["include=everything", "include=", "include=provenance,trace", "includes=provenance"]
    {
        let refused = api.get(&format!("{unknown}?{wrong}")).await.expect(400);
        assert_eq!(refused.code(), "invalid_parameter", "{wrong}");
    }
    api.get(&format!("{unknown}?include=provenance")).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn inner_predictors_have_the_pinned_state_or_its_override() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let tuned =
        |path: &str| json!({"predictors": {path: {"instruction": "Be kind.", "demos": []}}});
    api.put("/v1/graphs/support-reply/state", tuned("triage")).await.expect(200);
    let desk = json!({"name": "desk", "nodes": {
        "help": {"strategy": "graph", "config": {"graph": "support-reply"}}}});
    api.post("/v1/graphs", desk).await.expect(201);
    api.put("/v1/graphs/desk/state", tuned("help.reply.predict")).await.expect(200);
    api.put("/v1/graphs/desk/state", tuned("help.reply.predict")).await.expect(200);

    let inputs = json!({"inputs": {"ticket": "Where is my parcel?"}});
    let run = api.post("/v1/graphs/desk/execute", inputs).await.expect(200).json();
    let path = format!("/v1/runs/{}?include=provenance", run["id"].as_str().unwrap());
    let run = api.get(&path).await.expect(200).json();
    let answer = &run["provenance"]["outputs"]["answer"];
    assert_eq!(answer["nodes"], json!(["help", "help.triage", "help.reply"]));
    let describe = |parameter: &Value| {
        let (path, version) = (&parameter["path"], &parameter["state_version"]);
        format!("{path} {version} {}", parameter["graph"]).replace('"', "")
    };
    let parameters: Vec<String> =
        answer["parameters"].as_array().unwrap().iter().map(describe).collect();
    let newest = run["state_version"].as_i64().unwrap();
    let own = format!("help.reply.predict {newest} null");
    assert_eq!(parameters, ["help.triage 2 support-reply".to_owned(), own]);
    // The mood does not depend on the reply.
    let mood = &run["provenance"]["outputs"]["mood"];
    assert_eq!(mood["nodes"], json!(["help", "help.triage"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_has_no_provenance() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("one", "question -> unheard_of: int")).await.expect(201);
    let failed = api.post("/v1/graphs/one/execute", json!({"inputs": {"question": "?"}})).await;
    let run = failed.expect(422).json()["run_id"].as_str().unwrap().to_owned();
    let run = api.get(&format!("/v1/runs/{run}?include=provenance")).await.expect(200).json();
    assert_eq!(run["provenance"], json!({"outputs": {}, "omitted": []}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_inside_a_map_survives_the_record() {
    let api = Api::new().await;
    let graph = json!({"name": "kept", "inputs": {"xs": "list[str]", "d": "int"}, "nodes": {
        "all": {"strategy": "map", "config": {"over": "text", "on_error": "keep",
            "module": {"strategy": "parse_structured", "config": {"type": "int"}}}},
        "safe": {"strategy": "unwrap_or"}},
        "edges": [{"from": "input.xs", "to": "all.text"},
                  {"from": "all.value[0]", "to": "safe.value"},
                  {"from": "input.d", "to": "safe.default"}],
        "outputs": {"out": "safe.value"}});
    api.post("/v1/graphs", graph).await.expect(201);
    let body = json!({"inputs": {"xs": ["no number"], "d": 7}});
    let run = api.post("/v1/graphs/kept/execute", body).await.expect(200).json();
    assert_eq!(run["outputs"]["out"], 7);
    let path = format!("/v1/runs/{}?include=provenance", run["id"].as_str().unwrap());
    let run = api.get(&path).await.expect(200).json();
    assert_eq!(run["provenance"]["outputs"]["out"]["inputs"], json!(["input:d"]));
}
