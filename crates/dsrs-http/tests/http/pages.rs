//! Lists in pages: limits, cursors, and concurrent changes.

use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{one_node, support_reply};

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_every_item_once_newest_first() {
    let api = Api::new().await;
    for number in 1..=5 {
        let graph = one_node(&format!("g{number}"), "q -> answer");
        api.post("/v1/graphs", graph).await.expect(201);
    }
    let mut names = Vec::new();
    let mut path = "/v1/graphs?limit=2".to_owned();
    loop {
        let page = api.get(&path).await.expect(200).json();
        let items = page["items"].as_array().unwrap().clone();
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/graphs?limit=2&cursor={cursor}");
        // Newer items do not shift the pages.
        let late = one_node(&format!("late{}", names.len()), "q -> answer");
        api.post("/v1/graphs", late).await.expect(201);
    }
    assert_eq!(names, ["g5", "g4", "g3", "g2", "g1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_limits_and_cursors_are_refused_by_name() {
    let api = Api::new().await;
    let queries = ["limit=0", "limit=201", "limit=x", "cursor=x", "limit=1&limit=2", "page=2"];
    for query in queries {
        let refused = api.get(&format!("/v1/graphs?{query}")).await.expect(400);
        assert_eq!(refused.code(), "invalid_parameter");
        let name = query.split('=').next().unwrap();
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(&format!("`{name}`")), "{detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_works_only_in_its_own_list() {
    let api = Api::new().await;
    for name in ["one", "two"] {
        let path = format!("/v1/graphs/{name}");
        api.post("/v1/graphs", support_reply_as(name, "first")).await.expect(201);
        api.put(&path, support_reply_as(name, "second")).await.expect(200);
        let state = json!({"predictors": {"triage": {"instruction": "Judge."}}});
        api.put(&format!("{path}/state"), state).await.expect(200);
    }
    for list in ["versions", "state/versions", "predictors"] {
        let page = api.get(&format!("/v1/graphs/one/{list}?limit=1")).await.expect(200).json();
        let cursor = page["next_cursor"].as_str().unwrap();
        let rest = format!("{list}?limit=1&cursor={cursor}");
        api.get(&format!("/v1/graphs/one/{rest}")).await.expect(200);
        let refused = api.get(&format!("/v1/graphs/two/{rest}")).await.expect(400);
        assert_eq!(refused.code(), "invalid_parameter", "{list}");
    }
}

fn support_reply_as(name: &str, description: &str) -> Value {
    let mut graph = support_reply();
    graph["name"] = json!(name);
    graph["description"] = json!(description);
    graph
}
