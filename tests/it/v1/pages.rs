//! Lists in pages: limits, cursors, and what comes meanwhile.

use crate::support::{Api, one_node};

#[tokio::test(flavor = "multi_thread")]
async fn pages_cover_a_list_once_newest_first() {
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
        // what is newer than the first page moves nothing
        let late = one_node(&format!("late{}", names.len()), "q -> answer");
        api.post("/v1/graphs", late).await.expect(201);
    }
    assert_eq!(names, ["g5", "g4", "g3", "g2", "g1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_limits_and_cursors_are_refused_by_name() {
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
