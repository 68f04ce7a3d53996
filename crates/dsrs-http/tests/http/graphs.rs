//! `/v1/graphs`: created, validated, read, replaced, deleted, with versions and entity tags.

use reqwest::Method;
use serde_json::json;

use crate::Api;
use dsrs_test::{one_node, support_reply};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_graph_is_answered_resolved_with_location_and_etag() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    assert_eq!(made.header("location"), "/v1/graphs/support-reply");
    let graph = made.json();
    assert_eq!((&graph["version"], &graph["state_version"]), (&json!(1), &json!(1)));
    assert_eq!(graph["nodes"]["reply"]["timeout_ms"], 60000);
    let read = api.get("/v1/graphs/support-reply").await.expect(200);
    assert_eq!(
        (read.text, read.headers["etag"].clone()),
        (made.text, made.headers["etag"].clone())
    );
    let by_id = format!("/v1/graphs/{}", graph["id"].as_str().unwrap());
    assert_eq!(api.get(&by_id).await.expect(200).json(), graph);
}

#[tokio::test(flavor = "multi_thread")]
async fn order_and_u0000_survive_a_restart_byte_for_byte() {
    let api = Api::new().await;
    let body = r#"{"name":"odd","nodes":{"z":{"strategy":"predict","signature":{"instructions":"nul \u0000 é",
        "inputs":[{"name":"y","type":"str"},{"name":"b","type":"str"}],"outputs":[{"name":"score","type":"float"}]}},
        "a":{"strategy":"predict","signature":"score: float -> answer"}},
        "edges":[{"from":"z.score","to":"a.score"}]}"#;
    let made = api.post("/v1/graphs", body).await.expect(201);
    let names = ["\"y\"", "\"b\"", "\"z\"", "\"a\""].map(|name| made.text.find(name).unwrap());
    assert!(names[0] < names[1] && names[2] < names[3], "{}", made.text);
    let render = json!({"node": "z", "inputs": {"y": "\u{0}", "b": "2"}});
    let prompt = api.post("/v1/graphs/odd/render", &render).await.expect(200);
    assert!(prompt.text.contains("\\u0000"), "{}", prompt.text);
    let database = api.database.clone();
    api.stop().await;
    let api = Api::start(&database, None, &[]).await;
    assert_eq!(api.get("/v1/graphs/odd").await.text, made.text);
    assert_eq!(api.post("/v1/graphs/odd/render", &render).await.text, prompt.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_name_is_refused_and_a_deleted_one_is_available() {
    let api = Api::new().await;
    let first = api.post("/v1/graphs", support_reply()).await.expect(201);
    let second = api.post("/v1/graphs", support_reply()).await.expect(409);
    assert_eq!(second.code(), "already_exists");
    assert_eq!(api.delete("/v1/graphs/support-reply").await.expect(204).text, "");
    assert_eq!(api.get("/v1/graphs/support-reply").await.expect(404).code(), "not_found");
    assert_eq!(api.delete("/v1/graphs/support-reply").await.expect(404).code(), "not_found");
    let third = api.post("/v1/graphs", support_reply()).await.expect(201);
    assert_eq!(third.json()["version"], 1);
    assert_ne!(third.json()["id"], first.json()["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_resolves_without_storing() {
    let api = Api::new().await;
    let answer = api.post("/v1/graphs/validate", one_node("v", "q -> answer")).await.expect(200);
    assert_eq!(answer.json()["valid"], true);
    assert_eq!(answer.json()["graph"]["inputs"], json!({"q": "str"}));
    assert_eq!(api.get("/v1/graphs").await.json()["items"], json!([]));
    let refused = api.post("/v1/graphs/validate", one_node("v", "q ->")).await.expect(422);
    assert_eq!(refused.errors(), ["/nodes/ask/signature invalid_signature"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_of_a_graph_are_reported_with_pointers() {
    let api = Api::new().await;
    let mut graph = support_reply();
    graph["edges"][0]["to"] = json!("triage.nope");
    graph["edges"][2] = json!({"from": "triage.topics", "to": "reply.mood"});
    graph["nodes"]["reply"]["lm"] = json!({"model": "nobody"});
    let refused = api.post("/v1/graphs", graph).await.expect(422);
    assert_eq!(refused.code(), "invalid_graph");
    let errors = refused.errors();
    for wanted in ["/edges/0/to unknown_field", "/nodes/reply/lm/model unknown_model"] {
        assert!(errors.iter().any(|error| error == wanted), "{wanted} is not in {errors:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_body_is_an_invalid_request() {
    let api = Api::new().await;
    let body = json!({"name": "x", "nods": {}, "nodes": {"a": 1}});
    let refused = api.post("/v1/graphs", body).await.expect(422);
    assert_eq!(refused.code(), "invalid_request");
    assert_eq!(refused.errors(), ["/nodes/a wrong_type", "/nods unknown_field"]);
    let twice = r#"{"name":"x","name":"y"}"#;
    let refused = api.post("/v1/graphs", twice).await.expect(422);
    assert_eq!(
        (refused.code(), refused.errors()[0].as_str()),
        ("invalid_request".to_owned(), "/name duplicate_name")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn putting_the_current_graph_makes_no_new_version() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    let put = api.put("/v1/graphs/support-reply", &made.text).await.expect(200);
    assert_eq!(put.json()["version"], 1);
    assert_eq!(put.header("etag"), made.header("etag"));
    assert_eq!(put.json()["state"], json!({"carried": [], "dropped": []}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_makes_a_version_and_reports_what_it_carried_over() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    let state = json!({"predictors": {
        "triage": {"instruction": "Judge."}, "reply.predict": {"instruction": "Reply."}
    }});
    api.put("/v1/graphs/support-reply/state", &state).await.expect(200);
    let mut graph = support_reply();
    graph["nodes"]["reply"]["signature"] = json!("ticket, mood: str -> answer");
    graph.as_object_mut().unwrap().remove("name");
    let put = api.put("/v1/graphs/support-reply", &graph).await.expect(200);
    assert_eq!((&put.json()["version"], &put.json()["state_version"]), (&json!(2), &json!(3)));
    assert_ne!(put.header("etag"), made.header("etag"));
    assert_eq!(put.json()["state"]["carried"], json!(["triage"]));
    assert_eq!(put.json()["state"]["dropped"][0]["path"], "reply.predict");
    let old = api.get("/v1/graphs/support-reply?version=1").await.expect(200);
    assert_eq!(old.json()["state_version"], 2);
    assert_eq!(old.header("etag"), made.header("etag"));
    let versions = api.get("/v1/graphs/support-reply/versions").await.expect(200).json();
    let numbers: Vec<_> = versions["items"].as_array().unwrap().iter().collect();
    assert_eq!((&numbers[0]["version"], &numbers[1]["version"]), (&json!(2), &json!(1)));
    let first = api.get("/v1/graphs/support-reply/versions/1").await.expect(200);
    assert_eq!(first.text, old.text);
    api.get("/v1/graphs/support-reply/versions/3").await.expect(404);
    let wrong = api.get("/v1/graphs/support-reply/versions/x").await.expect(400);
    assert_eq!(wrong.code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_never_creates_and_never_renames() {
    let api = Api::new().await;
    let missing = api.put("/v1/graphs/support-reply", support_reply()).await.expect(404);
    assert_eq!(missing.code(), "not_found");
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let mut other = support_reply();
    other["name"] = json!("other");
    let refused = api.put("/v1/graphs/support-reply", &other).await.expect(422);
    assert_eq!(refused.code(), "name_mismatch");
    assert_eq!(refused.errors(), ["/name name_mismatch"]);
    other["nodes"]["triage"]["strategy"] = json!("prophesy");
    let refused = api.put("/v1/graphs/support-reply", &other).await.expect(422);
    assert_eq!(refused.code(), "name_mismatch");
    let wanted = ["/name name_mismatch", "/nodes/triage/strategy unknown_strategy"];
    assert_eq!(refused.errors(), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn etags_save_reads_and_protect_writes() {
    let api = Api::new().await;
    let made = api.post("/v1/graphs", support_reply()).await.expect(201);
    let tag = made.header("etag");
    let path = "/v1/graphs/support-reply";
    let known = api.send(Method::GET, path, &[("if-none-match", tag)], None).await.expect(304);
    assert_eq!((known.text.as_str(), known.header("etag")), ("", tag));
    let weak = format!("\"x\", W/{tag}");
    api.send(Method::GET, path, &[("if-none-match", &weak)], None).await.expect(304);
    let mut graph = support_reply();
    graph["description"] = json!("changed");
    let put = |tag: String, body: String| {
        let api = &api;
        async move { api.send(Method::PUT, path, &[("if-match", &tag)], Some(body)).await }
    };
    let stale = put("\"stale\"".to_owned(), graph.to_string()).await.expect(412);
    assert_eq!(stale.code(), "precondition_failed");
    put(format!("W/{tag}"), graph.to_string()).await.expect(412);
    put(tag.to_owned(), graph.to_string()).await.expect(200);
    put(tag.to_owned(), graph.to_string()).await.expect(412);
    put("*".to_owned(), graph.to_string()).await.expect(200);
    put("nonsense".to_owned(), graph.to_string()).await.expect(400);
    api.send(Method::DELETE, path, &[("if-match", tag)], None).await.expect(412);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_without_a_precondition_are_serialized() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let put = |note: i32| {
        let mut graph = support_reply();
        graph["description"] = json!(format!("note {note}"));
        let api = &api;
        async move { api.put("/v1/graphs/support-reply", graph).await.expect(200).json() }
    };
    let answers = futures_util::future::join_all((0..8).map(put)).await;
    let mut versions: Vec<_> = answers.iter().map(|a| a["version"].as_i64().unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, [2, 3, 4, 5, 6, 7, 8, 9]);
}
