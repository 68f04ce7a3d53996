//! `/v1/graphs/{graph}/online-evaluation`: a share of the runs is judged in the background, within a budget.

use std::sync::Arc;

use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, Receiver, found, one_node, test_database};

const PATH: &str = "/v1/graphs/q/online-evaluation";

/// Answers the graph, and judges.
async fn api() -> Api {
    let lm = ScriptedLm::by(|request| {
        let asked = request.chat.messages().map(|turn| turn.content.to_string());
        let asked: String = asked.collect();
        match asked.contains("[[ ## score ## ]]") {
            true => ScriptedAnswer::from("[[ ## score ## ]]\n0.25"),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\nan answer"),
        }
    });
    let settings = [("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")];
    let api = Api::start(&test_database().await, Some(Arc::new(lm)), &settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

async fn execute(api: &Api) -> String {
    let body = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
    run["id"].as_str().unwrap().to_owned()
}

async fn waiting(api: &Api) -> i64 {
    let mut database = PgConnection::connect(&api.database).await.unwrap();
    let count = sqlx::query_scalar("select count(*) from online_samples");
    count.fetch_one(&mut database).await.unwrap()
}

async fn settled(api: &Api) {
    found("no run that waits", async || (waiting(api).await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_every_kind_get_scores_that_are_shown_counted_and_reported() {
    let api = api().await;
    let receiver = Receiver::friendly().await;
    let hook = json!({"name": "low", "url": receiver.url, "events": ["score.below"],
                      "score": {"metric": "polite", "below": 0.5}});
    api.post("/v1/webhooks", hook).await.expect(201);
    execute(&api).await;
    let judge =
        json!({"judge": {"signature": "question, answer -> score: float", "score": "score"}});
    let metrics = json!({"polite": judge, "short": {"expression": "outputs.answer|length < 5"}});
    let set = api.put(PATH, json!({"metrics": metrics, "sample": 1})).await.expect(200).json();
    assert_eq!((&set["enabled"], &set["sample"]), (&json!(true), &json!(1.0)));
    let executed = execute(&api).await;
    let body = json!({"inputs": {"question": "later"}});
    let queued = api.post("/v1/graphs/q/runs", body).await.expect(202).json();
    let queued = queued["id"].as_str().unwrap();
    api.ended(queued).await;
    for run in [executed.as_str(), queued] {
        let path = format!("/v1/runs/{run}");
        let is_scored = |answer: &Answer| answer.json()["feedback"]["count"] == 2;
        let found = api.until(&path, is_scored).await.json();
        let scores: Vec<Value> = found["feedback"]["scores"]
            .as_array()
            .unwrap()
            .iter()
            .map(|score| json!([score["name"], score["score"]]))
            .collect();
        assert_eq!(scores, [json!(["polite", 0.25]), json!(["short", 0.0])]);
        let given = api.get(&format!("{path}/feedback")).await.expect(200).json();
        assert_eq!(given["items"][0]["source"], "online");
    }
    receiver.arrived(2).await;
    let listed = api.get("/v1/runs?score=polite&max_score=0.3").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "the first run is older");
    let usage = api.get("/v1/usage?by=work").await.expect(200).json();
    assert_eq!(usage["items"][0]["work"], "judging");
    assert_eq!(usage["items"][0]["usage"]["lm_calls"], 2);
    let text = api.get("/metrics").await.expect(200).text;
    let series = r#"dsrs_run_score_sum{graph="q",score="polite",source="online"} 0.5"#;
    assert!(text.contains(series), "{text}");
    assert_eq!(api.get(PATH).await.expect(200).json()["spent_calls"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_of_a_day_a_pause_and_the_share_limit_what_is_judged() {
    let api = api().await;
    let judge = json!({"polite": {"judge": {"signature": "question, answer -> score: float", "score": "score"}}});
    let body = json!({"metrics": judge, "sample": 1, "calls_per_day": 1});
    api.put(PATH, body.clone()).await.expect(200);
    for _ in 0..3 {
        execute(&api).await;
        settled(&api).await;
    }
    assert_eq!(api.get(PATH).await.expect(200).json()["spent_calls"], 1);
    let mut paused = body;
    paused["enabled"] = json!(false);
    api.put(PATH, paused).await.expect(200);
    execute(&api).await;
    assert_eq!(waiting(&api).await, 0);
    let never = json!({"metrics": judge, "sample": 0.000_000_001});
    api.put(PATH, never).await.expect(200);
    for _ in 0..5 {
        execute(&api).await;
    }
    assert_eq!(waiting(&api).await, 0);
    let listed = api.get("/v1/runs?score=polite").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    api.delete(PATH).await.expect(204);
    assert_eq!(api.get(PATH).await.expect(404).code(), "not_found");
    api.delete(PATH).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_an_online_evaluation_is_reported_at_once() {
    let api = api().await;
    let body = json!({"metrics": {"a b": "exact", "judge": {"judge": {"signature": "answer -> score: float", "score": 1}}},
                      "sample": 0, "calls_per_day": 0, "more": 1});
    let errors = api.put(PATH, body).await.expect(422).errors();
    for place in
        ["/metrics/a b", "/metrics/judge/judge/score", "/sample", "/calls_per_day", "/more"]
    {
        assert!(errors.iter().any(|error| error.starts_with(place)), "{place}: {errors:?}");
    }
    assert_eq!(api.get(PATH).await.expect(404).code(), "not_found");
    api.put("/v1/graphs/none/online-evaluation", json!({"metrics": {"m": "exact"}, "sample": 1}))
        .await
        .expect(404);
}
