//! `/v1/graphs/{graph}/state/versions` and `/activations`: their differences, authors and activations.

use dsrs::graph::GraphState;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use dsrs_app::{StateCandidate, StatePromotion};
use dsrs_store::Scope;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Api;
use dsrs_test::support_reply;

const STATE: &str = "/v1/graphs/support-reply/state";

/// Version 1 overrides nothing, version 2 tunes `triage`, version 3 changes that.
async fn api() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api.put(STATE, tuned("calm", 0.5)).await.expect(200);
    api.put(STATE, tuned("angry", 0.25)).await.expect(200);
    api
}

fn tuned(mood: &str, temperature: f64) -> Value {
    json!({"predictors": {"triage": {
        "instruction": "Judge.",
        "demos": [{"input": {"ticket": "?"}, "output": {"mood": mood, "topics": ["x"]}}],
        "lm": {"temperature": temperature}
    }}})
}

async fn diff(api: &Api, query: &str) -> Value {
    api.get(&format!("{STATE}/versions/{query}")).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_compares_a_version_with_its_parent_by_field() {
    let api = api().await;
    let found = diff(&api, "3/diff").await;
    assert_eq!(
        found,
        json!({
            "from": 2, "to": 3, "graph_versions": {"from": 1, "to": 1},
            "predictors": {"triage": {
                "change": "changed",
                "demos": [{"change": "changed", "from": 0, "to": 0, "fields": [
                    {"field": "output.mood", "before": "calm", "after": "angry"}
                ]}],
                "lm": {"temperature": {"before": 0.5, "after": 0.25}}
            }},
            "text": "~ triage demo 0 output.mood: \"calm\" -> \"angry\"\n\
                     ~ triage lm.temperature: 0.5 -> 0.25\n"
        })
    );
    assert_eq!(diff(&api, "3/diff?against=2").await, found);
    let back = diff(&api, "2/diff?against=3").await;
    assert_eq!(back["predictors"]["triage"]["lm"]["temperature"]["after"], 0.5);
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_versions_have_an_empty_diff() {
    let api = api().await;
    for query in ["1/diff", "3/diff?against=3"] {
        let found = diff(&api, query).await;
        assert_eq!((&found["predictors"], &found["text"]), (&json!({}), &json!("")), "{found}");
    }
    let reset = diff(&api, "1/diff?against=3").await;
    let instruction = &reset["predictors"]["triage"]["instruction"];
    assert_eq!((&instruction["before"], &instruction["after"]), (&json!("Judge."), &Value::Null));
    assert!(instruction["effective_after"].as_str().is_some_and(|text| text != "Judge."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_works_across_graph_versions() {
    let api = api().await;
    let mut graph = support_reply();
    graph["nodes"]["reply"]["strategy"] = json!("predict");
    api.put("/v1/graphs/support-reply", graph).await.expect(200);
    let found = diff(&api, "4/diff").await;
    assert_eq!((&found["from"], &found["to"]), (&json!(3), &json!(4)));
    assert_eq!(found["graph_versions"], json!({"from": 1, "to": 2}));
    let changes: Vec<_> = found["predictors"].as_object().unwrap().iter().collect();
    let changes: Vec<_> = changes.iter().map(|(path, p)| (path.as_str(), &p["change"])).collect();
    assert_eq!(changes, [("reply", &json!("added")), ("reply.predict", &json!("removed"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_versions_are_named() {
    let api = api().await;
    for query in ["9/diff", "3/diff?against=9"] {
        let refused = api.get(&format!("{STATE}/versions/{query}")).await.expect(404);
        assert!(refused.json()["detail"].as_str().unwrap().contains("state version `9`"));
    }
    let refused = api.get(&format!("{STATE}/versions/3/diff?against=0")).await.expect(400);
    assert_eq!(refused.code(), "invalid_parameter");
}

async fn activate(api: &Api, version: i32) -> Value {
    let path = format!("{STATE}/versions/{version}/activate");
    api.send(Method::POST, &path, &[], None).await.expect(200).json()
}

/// `GRAPH VERSION: FROM -> TO` of every activation, newest first.
async fn moves(api: &Api, query: &str) -> Vec<String> {
    let page = api.get(&format!("{STATE}/activations{query}")).await.expect(200).json();
    let describe = |m: &Value| format!("{}: {} -> {}", m["graph_version"], m["from"], m["to"]);
    page["items"].as_array().unwrap().iter().map(describe).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_activation_is_recorded() {
    let api = api().await;
    assert_eq!(activate(&api, 2).await["activation"]["from"], 3);
    let again = activate(&api, 2).await;
    let nothing = json!({"graph_version": 1, "newest": true, "from": 2, "to": 2});
    assert_eq!(again["activation"], nothing, "nothing moved");
    assert_eq!(moves(&api, "").await, ["1: 3 -> 2", "1: 2 -> 3", "1: 1 -> 2", "1: null -> 1"]);
    let page = api.get(&format!("{STATE}/activations?limit=1")).await.expect(200).json();
    let by = &page["items"][0];
    assert_eq!(by["author"], json!({"kind": "client", "name": by["created_by"]}));
    assert!(by["created_at"].is_string());
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = moves(&api, &format!("?limit=2&cursor={cursor}")).await;
    assert_eq!(rest, ["1: 2 -> 3", "1: 1 -> 2"]);
    api.get("/v1/graphs/nobody/state/activations").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_activations_of_one_version_all_succeed() {
    let api = api().await;
    let path = format!("{STATE}/versions/2/activate");
    let all = join_all((0..40).map(|_| api.send(Method::POST, &path, &[], None))).await;
    let statuses: Vec<u16> = all.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200; 40]);
    assert_eq!(moves(&api, "?limit=1").await, ["1: 3 -> 2"], "one of them moved it");
    assert_eq!(moves(&api, "").await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_active_for_its_own_graph_version() {
    let api = api().await;
    let mut graph = support_reply();
    graph["description"] = json!("two");
    api.put("/v1/graphs/support-reply", graph).await.expect(200);
    let newest = api.get(STATE).await.expect(200);
    assert_eq!(
        (&newest.json()["version"], &newest.json()["graph_version"]),
        (&json!(4), &json!(2))
    );

    let moved = activate(&api, 2).await;
    let wanted = json!({"graph_version": 1, "newest": false, "from": 3, "to": 2});
    assert_eq!((&moved["graph_version"], &moved["activation"]), (&json!(1), &wanted));
    assert_eq!(api.get(STATE).await.expect(200).text, newest.text, "the newest keeps its own");
    let body = |version: i32| json!({"inputs": {"ticket": "?"}, "version": version});
    let run = async |version| {
        let run = api.post("/v1/graphs/support-reply/execute", body(version)).await.expect(200);
        run.json()["state_version"].clone()
    };
    assert_eq!((run(1).await, run(2).await), (json!(2), json!(4)));
    assert_eq!(moves(&api, "?limit=2").await, ["1: 3 -> 2", "2: null -> 4"]);

    let path = format!("{STATE}/versions/1/activate");
    let stale = [("if-match", newest.header("etag"))];
    api.send(Method::POST, &path, &stale, None).await.expect(412);
    let tag = api.get(&format!("{STATE}/versions/2")).await.expect(200);
    let seen = [("if-match", tag.header("etag"))];
    api.send(Method::POST, &path, &seen, None).await.expect(200);
    api.send(Method::POST, &format!("{STATE}/versions/9/activate"), &[], None).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_names_its_author_and_its_score() {
    let api = api().await;
    let by_client = api.get(STATE).await.expect(200).json();
    assert_eq!(by_client["author"], json!({"kind": "client", "name": by_client["created_by"]}));
    assert!(by_client.get("score").is_none() && by_client.get("dataset_hash").is_none());

    let graph = graph_id(&api).await;
    let optimization = Uuid::now_v7();
    let state = graph_state(r#"{"triage": {"instruction": "Found."}}"#);
    let candidate = StateCandidate {
        graph,
        graph_version: 1,
        parent: 2,
        state: &state,
        optimization,
        score: Some(0.875),
        dataset_hash: Some("d1"),
    };
    let bob = Scope::of("bob");
    let row = api.app.state_candidate(&bob, candidate).await.unwrap();
    assert_eq!(api.app.state_candidate(&bob, candidate).await.unwrap(), row, "written once");
    let found = api.get(&format!("{STATE}/versions/4")).await.expect(200).json();
    assert_eq!(found["author"], json!({"kind": "optimization", "id": optimization}));
    assert_eq!((&found["created_by"], &found["parent"]), (&json!("bob"), &json!(2)));
    assert_eq!((&found["score"], &found["dataset_hash"]), (&json!(0.875), &json!("d1")));
    let listed = api.get(&format!("{STATE}/versions?limit=1")).await.expect(200).json();
    let item = &listed["items"][0];
    assert_eq!((&item["author"], &item["in_force"]), (&found["author"], &json!(false)));
    assert_eq!((&item["score"], &item["dataset_hash"]), (&json!(0.875), &json!("d1")));
    let back = api.put(STATE, found).await.expect(200).json();
    assert_eq!(back["author"]["kind"], "client", "what a client puts is the client's");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_candidate_is_refused_completely() {
    let api = api().await;
    let state = graph_state(r#"{"triag": {}, "triage": {"demos": [{"input": {}, "output": {}}]}}"#);
    let candidate = StateCandidate {
        graph: graph_id(&api).await,
        graph_version: 1,
        parent: 1,
        state: &state,
        optimization: Uuid::now_v7(),
        score: None,
        dataset_hash: None,
    };
    let refused = api.app.state_candidate(&Scope::of("bob"), candidate).await.unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("triag`") && message.contains("/triage/demos/0/input"), "{message}");
    let missing = StateCandidate { parent: 9, state: &GraphState::default(), ..candidate };
    let refused = api.app.state_candidate(&Scope::of("bob"), missing).await.unwrap_err();
    assert_eq!(refused.to_string(), "there is no state version `9`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_replaces_only_the_state_it_was_compared_with() {
    let api = api().await;
    let optimization = Uuid::now_v7();
    let graph = graph_id(&api).await;
    let promote = async |version, instead_of| {
        let promotion = StatePromotion { graph, version, instead_of, optimization };
        api.app.state_promote(&Scope::of("bob"), promotion).await.unwrap()
    };
    assert!(!promote(1, 2).await, "3 is active");
    assert_eq!(api.get(STATE).await.expect(200).json()["version"], 3);
    assert!(promote(1, 3).await);
    assert!(promote(1, 3).await, "asked again after a crash");
    assert_eq!(api.get(STATE).await.expect(200).json()["version"], 1);
    let page = api.get(&format!("{STATE}/activations?limit=1")).await.expect(200).json();
    let by = &page["items"][0];
    assert_eq!((&by["from"], &by["to"]), (&json!(3), &json!(1)));
    assert_eq!(by["author"], json!({"kind": "optimization", "id": optimization}));
}

async fn graph_id(api: &Api) -> Uuid {
    let graph = api.get("/v1/graphs/support-reply").await.expect(200).json();
    graph["id"].as_str().unwrap().parse().unwrap()
}

fn graph_state(text: &str) -> GraphState {
    let (payload, mut problems) = (Payload::from_json(text).unwrap(), Problems::new());
    GraphState::read(&payload, &At::Root, &mut problems).unwrap()
}
