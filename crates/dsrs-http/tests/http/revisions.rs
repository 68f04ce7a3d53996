//! Changes of webhooks and online evaluations that name the revision they saw: of two people, the last does not win unseen.

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, one_node};

const JUDGED: &str = "/v1/graphs/q/online-evaluation";
const GARBAGE: &str = "\"garbage\"";

async fn server() -> Api {
    let api = Api::with_settings(&[("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

/// A request with `If-Match`.
async fn matching(api: &Api, method: Method, path: &str, tag: &str, body: Option<Value>) -> Answer {
    let headers = [("if-match", tag), ("content-type", "application/json")];
    api.send(method, path, &headers, body.map(|body| body.to_string())).await
}

async fn tag_of(api: &Api, path: &str) -> String {
    api.get(path).await.expect(200).header("etag").to_owned()
}

fn judging(sample: f64) -> Option<Value> {
    Some(
        json!({"metrics": {"short": {"expression": "outputs.answer|length < 9"}}, "sample": sample}),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_changes_only_in_the_revision_that_is_named() {
    let api = server().await;
    let body = json!({"name": "w", "url": "http://127.0.0.1:9/", "events": ["run.failed"]});
    let made = api.post("/v1/webhooks", body).await.expect(201);
    let (path, tag) = (made.header("location").to_owned(), made.header("etag").to_owned());
    assert_eq!(tag_of(&api, &path).await, tag);
    let rename = |name: &str| Some(json!({"name": name}));
    let changed = matching(&api, Method::PATCH, &path, &tag, rename("a")).await.expect(200);
    assert_eq!(changed.header("etag"), tag_of(&api, &path).await);
    let rotate = format!("{path}/rotate-secret");
    for stale in [tag.as_str(), GARBAGE] {
        for (method, path, body) in [
            (Method::PATCH, &path, rename("b")),
            (Method::POST, &rotate, Some(json!({}))),
            (Method::DELETE, &path, None),
        ] {
            let refused = matching(&api, method, path, stale, body).await.expect(412);
            assert_eq!(refused.code(), "precondition_failed");
        }
    }
    assert_eq!(api.get(&path).await.expect(200).json()["name"], "a");
    let current = changed.header("etag");
    let rotated = matching(&api, Method::POST, &rotate, current, Some(json!({}))).await.expect(200);
    matching(&api, Method::DELETE, &path, current, None).await.expect(412);
    matching(&api, Method::DELETE, &path, rotated.header("etag"), None).await.expect(204);
    matching(&api, Method::PATCH, &path, "*", rename("c")).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_online_evaluation_changes_only_in_the_revision_that_is_named() {
    let api = server().await;
    for absent in ["*", GARBAGE] {
        matching(&api, Method::PUT, JUDGED, absent, judging(0.5)).await.expect(412);
    }
    api.get(JUDGED).await.expect(404);
    let first = api.put(JUDGED, judging(0.5).unwrap()).await.expect(200);
    let first = first.header("etag").to_owned();
    assert_eq!(tag_of(&api, JUDGED).await, first);
    let second = matching(&api, Method::PUT, JUDGED, &first, judging(0.25)).await.expect(200);
    let second = second.header("etag").to_owned();
    for stale in [first.as_str(), GARBAGE] {
        matching(&api, Method::PUT, JUDGED, stale, judging(0.1)).await.expect(412);
        matching(&api, Method::DELETE, JUDGED, stale, None).await.expect(412);
    }
    assert_eq!(api.get(JUDGED).await.expect(200).json()["sample"], 0.25);
    matching(&api, Method::DELETE, JUDGED, &second, None).await.expect(204);

    // A later one has none of the revisions of the earlier one.
    api.put(JUDGED, judging(0.5).unwrap()).await.expect(200);
    matching(&api, Method::PUT, JUDGED, &first, judging(0.1)).await.expect(412);
    matching(&api, Method::PUT, JUDGED, "*", judging(0.1)).await.expect(200);
}
