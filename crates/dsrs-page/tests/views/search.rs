//! `/search`: everything that a short text names.

use serde_json::json;

use super::{open, words};
use crate::Api;
use dsrs_test::one_node;

async fn found(api: &Api, text: &str) -> String {
    let query = url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let view = open(api, &format!("/search?q={query}")).await.expect(200).text;
    let (_, results) = view.split_once("id=\"results\"").unwrap();
    results.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_graphs_runs_states_datasets_and_documentation() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("help-desk", "question -> answer")).await.expect(201);
    let run = api
        .post("/v1/graphs/help-desk/execute", json!({"inputs": {"question": "q"}}))
        .await
        .expect(200)
        .json();
    let id = run["run_id"].as_str().unwrap();
    let written = |answer: &dsrs_test::Answer| answer.status == 200;
    api.until(&format!("/v1/runs/{id}"), written).await;
    let dataset = json!({"name": "help-tickets", "examples": [{"inputs": {"question": "q"}}]});
    api.post("/v1/datasets", dataset).await.expect(201);

    let help = found(&api, "help").await;
    assert!(
        help.contains("href=\"/graphs/help-desk\"")
            && help.contains("href=\"/datasets/help-tickets\""),
        "{help}"
    );
    let state = found(&api, "help-desk 1").await;
    assert!(state.contains("href=\"/graphs/help-desk/state?version=1\""), "{state}");
    let by_id = found(&api, &id[..13]).await;
    assert!(by_id.contains(&format!("href=\"/runs/{id}\"")), "{by_id}");
    let operation = found(&api, "cancel run").await;
    assert!(operation.contains("href=\"/docs/#/runs/run_cancel\""), "{operation}");
    let strategy = found(&api, "chain_of").await;
    assert!(words(&strategy).contains("chain_of_thought"), "{strategy}");
    let nothing = found(&api, "<b>zzz</b>").await;
    assert!(nothing.contains("Nothing has the name or id <b>&lt;b&gt;zzz"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_nothing_of_another_workspace_and_takes_any_text() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "root")]).await;
    let root = dsrs_test::Remote::with_key(&api.url, "root");
    root.post("/v1/graphs", one_node("secret-graph", "q -> a")).await.expect(201);
    root.post("/v1/workspaces", json!({"name": "other"})).await.expect(201);
    let key = json!({"name": "o", "scopes": ["read"], "workspace": "other"});
    let key =
        root.post("/v1/keys", key).await.expect(201).json()["key"].as_str().unwrap().to_owned();
    let other = dsrs_test::Remote::with_key(&api.url, &key);
    assert!(open(&root, "/search?q=secret").await.text.contains("/graphs/secret-graph"));
    assert!(!open(&other, "/search?q=secret").await.text.contains("/graphs/secret-graph"));
    for odd in ["%25", "%5C", "'", "_", &"x".repeat(5_000), "%F0%9F%A6%80"] {
        assert_eq!(open(&root, &format!("/search?q={odd}")).await.status, 200, "{odd}");
    }
}
