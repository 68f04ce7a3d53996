//! Schedules on the page: the list, the log of firings, pause, resume, run now, delete; who sees the buttons.

use reqwest::Method;
use serde_json::{Value, json};

use super::{HTML, open, submit, words};
use crate::Api;
use dsrs_test::{Answer, one_node};
use dsrs_test_api::friendly_lm;

fn schedule(name: &str, more: &Value) -> Value {
    let mut body = json!({
        "name": name, "cron": "30 2 * * *", "time_zone": "Europe/Berlin", "graph": "q", "target": "run",
        "request": {"inputs": {"question": "<b>why?</b>"}}
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_shown_paused_resumed_fired_and_deleted() {
    let api = Api::with_lm(friendly_lm()).await;
    let view = words(&open(&api, "/schedules").await.expect(200).text);
    assert!(view.contains("No schedules yet"), "{view}");
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let made = api.post("/v1/schedules", schedule("nightly", &json!({}))).await.expect(201).json();
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let view = open(&api, &path).await.expect(200);
    assert!(!view.text.contains("<b>why?"), "{}", view.text);
    let shown = words(&view.text);
    for part in ["nightly active", "30 2 * * * in Europe/Berlin", "It has not fired", "Run now"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    submit(&api, &format!("{path}/pause"), &[]).await.expect(303);
    let list = words(&open(&api, "/schedules").await.expect(200).text);
    assert!(list.contains("nightly 30 2 * * * Europe/Berlin paused q run – –"), "{list}");
    submit(&api, &format!("{path}/fire"), &[]).await.expect(303);
    let ended = |answer: &Answer| answer.json()["items"][0]["finished_at"].is_string();
    let log = api.until(&format!("/v1{path}/firings"), ended).await.json();
    let run = log["items"][0]["work_id"].as_str().unwrap().to_owned();
    let view = open(&api, &path).await.expect(200);
    assert!(view.text.contains(&format!("href=\"/runs/{run}\"")), "{}", view.text);
    assert!(words(&view.text).contains("UTC by hand succeeded run"), "{}", words(&view.text));
    submit(&api, &format!("{path}/resume"), &[]).await.expect(303);
    let list = words(&open(&api, "/schedules").await.expect(200).text);
    assert!(list.contains("active q run in ") && list.contains("succeeded run"), "{list}");
    submit(&api, &format!("{path}/delete"), &[]).await.expect(303);
    assert_eq!(open(&api, &path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_that_was_refused_shows_its_problem_and_one_whose_graph_is_gone_cannot_be_resumed()
{
    let api = Api::with_lm(friendly_lm()).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let made = api.post("/v1/schedules", schedule("s", &json!({}))).await.expect(201).json();
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    api.delete("/v1/graphs/q").await.expect(204);
    submit(&api, &format!("{path}/fire"), &[]).await.expect(303);
    let ended = |answer: &Answer| answer.json()["items"][0]["finished_at"].is_string();
    api.until(&format!("/v1{path}/firings"), ended).await;
    let view = words(&open(&api, &path).await.expect(200).text);
    assert!(view.contains("failed nothing not_found"), "{view}");
    submit(&api, &format!("{path}/pause"), &[]).await.expect(303);
    assert_eq!(submit(&api, &format!("{path}/resume"), &[]).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_sees_schedules_without_buttons_and_no_webhooks() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own = ("authorization", "Bearer open-sesame-123456");
    let post = async |path: &str, body: Value| {
        let headers = [own, ("content-type", "application/json")];
        api.send(Method::POST, path, &headers, Some(body.to_string())).await
    };
    post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let made = post("/v1/schedules", schedule("s", &json!({}))).await.expect(201).json();
    let key = post("/v1/keys", json!({"name": "reader", "scopes": ["read"]})).await.expect(201);
    let bearer = format!("Bearer {}", key.json()["key"].as_str().unwrap());
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    for (bearer, may) in [(bearer.as_str(), false), (own.1, true)] {
        let headers = [HTML, ("authorization", bearer)];
        let view = api.send(Method::GET, &path, &headers, None).await.expect(200);
        assert_eq!(view.text.contains("/fire\""), may, "{bearer}");
        assert_eq!(view.text.contains("href=\"/webhooks\""), may, "{bearer}");
        let webhooks = api.send(Method::GET, "/webhooks", &headers, None).await;
        assert_eq!(webhooks.status, if may { 200 } else { 403 });
        let fired = api.send(Method::POST, &format!("{path}/fire"), &headers, None).await;
        assert_eq!(fired.status, if may { 303 } else { 403 });
    }
}
