//! `/v1/runs/{id}/feedback`: scores, comments and corrected outputs, in lists, averages, metrics and datasets.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Api;
use dsrs_test::{Answer, one_node, test_database};

async fn executed(api: &Api, graph: &str) -> String {
    let body = json!({"inputs": {"question": Uuid::now_v7().to_string()}});
    let run = api.post(&format!("/v1/graphs/{graph}/execute"), body).await.json();
    run["run_id"].as_str().unwrap().to_owned()
}

async fn api() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

async fn give(api: &Api, run: &str, feedback: Value) -> Answer {
    api.post(&format!("/v1/runs/{run}/feedback"), feedback).await
}

async fn listed(api: &Api, query: &str) -> Vec<String> {
    let list = api.get(&format!("/v1/runs{query}")).await.expect(200).json();
    let items = list["items"].as_array().unwrap();
    items.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_of_many_sources_is_listed_and_summed_with_its_run() {
    let api = api().await;
    let run = executed(&api, "q").await;
    let first = json!({"name": "helpful", "score": 1, "comment": "good \u{0}", "user_id": "ann"});
    let first = give(&api, &run, first).await.expect(201).json();
    assert_eq!((&first["source"], &first["score"]), (&json!("user"), &json!(1.0)));
    assert_eq!(first["comment"], "good \u{0}");
    give(&api, &run, json!({"name": "helpful", "score": 0.5, "source": "reviewer"}))
        .await
        .expect(201);
    give(&api, &run, json!({"name": "tone", "category": "rude"})).await.expect(201);
    give(&api, &run, json!({"comment": "one"})).await.expect(201);
    give(&api, &run, json!({"comment": "two", "outputs": {"answer": "no"}})).await.expect(201);
    let path = format!("/v1/runs/{run}/feedback");
    let page = api.get(&format!("{path}?limit=3")).await.expect(200).json();
    assert_eq!(page["items"][0]["comment"], "two");
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = api.get(&format!("{path}?limit=3&cursor={cursor}")).await.expect(200).json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (2, &Value::Null));
    assert_eq!(rest["items"][1]["id"], first["id"]);
    let scores = json!([
        {"name": "helpful", "score": 0.75, "category": null, "count": 2},
        {"name": "tone", "score": null, "category": "rude", "count": 1}
    ]);
    let detail = api.get(&format!("/v1/runs/{run}")).await.expect(200).json();
    let summary = json!({"count": 5, "comments": 3, "corrections": 1, "scores": scores});
    assert_eq!(detail["feedback"], summary);
    let list = api.get("/v1/runs").await.expect(200).json();
    assert_eq!(list["items"][0]["scores"], scores);
    let metrics = api.get("/metrics").await.expect(200).text;
    let series = r#"dsrs_run_score_sum{graph="q",score="helpful",source="reviewer"} 0.5"#;
    assert!(metrics.contains(series), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_score_replaces_that_of_the_same_name_source_and_giver() {
    let api = api().await;
    let run = executed(&api, "q").await;
    let thumb = |score: f64, user: &str| json!({"name": "thumb", "score": score, "user_id": user});
    let up = give(&api, &run, thumb(1.0, "ann")).await.expect(201).json();
    give(&api, &run, thumb(1.0, "bob")).await.expect(201);
    let down = give(&api, &run, thumb(0.0, "ann")).await.expect(200).json();
    assert_eq!((&down["id"], &down["created_at"]), (&up["id"], &up["created_at"]));
    assert_eq!(down["score"], 0.0);
    let other = json!({"name": "thumb", "score": 1, "user_id": "ann", "source": "reviewer"});
    give(&api, &run, other).await.expect(201);
    let path = format!("/v1/runs/{run}/feedback");
    assert_eq!(api.get(&path).await.json()["items"].as_array().unwrap().len(), 3);
    let own = format!("{path}/{}", up["id"].as_str().unwrap());
    api.delete(&own).await.expect(204);
    api.delete(&own).await.expect(404);
    assert_eq!(api.get(&path).await.json()["items"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_with_an_idempotency_key_gives_feedback_once() {
    let api = api().await;
    let run = executed(&api, "q").await;
    let path = format!("/v1/runs/{run}/feedback");
    let give = async || {
        let headers = [("idempotency-key", "once")];
        api.send(Method::POST, &path, &headers, Some(json!({"comment": "hm"}).to_string())).await
    };
    let (first, again) = (give().await.expect(201), give().await.expect(201));
    assert_eq!(first.text, again.text);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(api.get(&path).await.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_of_feedback_are_reported_at_once() {
    let api = api().await;
    let run = executed(&api, "q").await;
    let wrong = json!({"score": 1.5, "category": "x\ny", "comment": "", "source": "online", "odd": 1,
        "outputs": {"answer": 3, "anser": "x"}});
    let refused = give(&api, &run, wrong).await.expect(422);
    let mut errors = refused.errors();
    errors.sort();
    let wanted = [
        "/category invalid_value",
        "/category invalid_value",
        "/comment invalid_value",
        "/name missing_field",
        "/odd unknown_field",
        "/outputs/anser unknown_field",
        "/outputs/answer wrong_type",
        "/score invalid_value",
        "/source invalid_value",
    ];
    assert_eq!(errors, wanted);
    assert!(refused.text.contains("did you mean `answer`"), "{}", refused.text);
    assert_eq!(give(&api, &run, json!({})).await.expect(422).errors(), [" missing_field"]);
    let nameless = give(&api, &run, json!({"name": "x", "comment": "y"})).await.expect(422);
    assert_eq!(nameless.errors(), ["/name invalid_value"]);
    give(&api, &Uuid::now_v7().to_string(), json!({"comment": "y"})).await.expect(404);
    give(&api, "chatcmpl-x", json!({"comment": "y"})).await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_filtered_by_their_scores() {
    let api = api().await;
    api.post("/v1/graphs", one_node("other", "question -> answer")).await.expect(201);
    let mut runs = Vec::new();
    for graph in ["q", "q", "other", "q"] {
        runs.insert(0, executed(&api, graph).await);
    }
    let score = |score: f64, source: &str| json!({"name": "s", "score": score, "source": source});
    give(&api, &runs[0], score(0.9, "user")).await.expect(201);
    give(&api, &runs[0], score(0.8, "reviewer")).await.expect(201);
    give(&api, &runs[1], score(0.2, "reviewer")).await.expect(201);
    give(&api, &runs[2], json!({"name": "s", "category": "bad"})).await.expect(201);
    give(&api, &runs[3], json!({"outputs": {"answer": "x"}})).await.expect(201);
    assert_eq!(listed(&api, "?score=s").await, runs[..3]);
    assert_eq!(listed(&api, "?score=s&min_score=0.8").await, runs[..1]);
    assert_eq!(listed(&api, "?score=s&max_score=0.5").await, runs[1..2]);
    assert_eq!(listed(&api, "?score=s&category=bad").await, runs[2..3]);
    assert_eq!(listed(&api, "?score=s&source=reviewer").await, runs[..2]);
    assert_eq!(listed(&api, "?score=s&graph=q&status=succeeded").await, [&*runs[0], &*runs[2]]);
    assert_eq!(listed(&api, "?corrected=true").await, runs[3..]);
    assert!(listed(&api, "?score=t").await.is_empty());
    let page = api.get("/v1/runs?score=s&limit=2").await.expect(200).json();
    let rest = format!("?score=s&limit=2&cursor={}", page["next_cursor"].as_str().unwrap());
    assert_eq!(listed(&api, &rest).await, runs[2..3]);
    for wrong in
        ["min_score=0.5", "score=s&min_score=2", "score=a%20b", "source=user", "corrected=no"]
    {
        let refused = api.get(&format!("/v1/runs?{wrong}")).await.expect(400);
        assert_eq!(refused.code(), "invalid_parameter", "{wrong}");
    }
    let means = api.get("/v1/graphs/q/scores").await.expect(200).json();
    let row = |source: &str, category: Value, mean: Value, count: u32| json!({"version": 1, "name": "s", "source": source, "category": category, "mean": mean, "count": count});
    let wanted = json!([
        row("reviewer", Value::Null, json!(0.8), 1),
        row("user", json!("bad"), Value::Null, 1),
        row("user", Value::Null, json!(0.9), 1)
    ]);
    assert_eq!(means["items"], wanted);
    let none = api.get("/v1/graphs/q/scores?until=2020-01-01T00:00:00Z").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_names_a_run_by_the_id_of_an_openai_answer() {
    let api = api().await;
    let chat = json!({"model": "q", "messages": [{"role": "user", "content": "?"}]});
    let chat = api.post("/openai/v1/chat/completions", chat).await.expect(200).json();
    let response = api.post("/openai/v1/responses", json!({"model": "q", "input": "?"})).await;
    let response = response.expect(200).json();
    for answer in [&chat["id"], &response["id"], &response["output"][0]["id"]] {
        let id = answer.as_str().unwrap();
        let given = give(&api, id, json!({"comment": "seen"})).await.expect(201).json();
        assert!(id.ends_with(given["run_id"].as_str().unwrap()), "{id}");
    }
    let id = chat["id"].as_str().unwrap();
    let list = api.get(&format!("/v1/runs/{id}/feedback")).await.expect(200).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_not_ended_takes_feedback() {
    let api = Api::with_settings(&[("DSRS_WORKER_ENABLED", "false")]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let run = api.post("/v1/graphs/q/runs", json!({"inputs": {"question": "?"}})).await;
    let run = run.expect(202).json()["id"].as_str().unwrap().to_owned();
    give(&api, &run, json!({"name": "s", "score": 0, "outputs": {"answer": "x"}}))
        .await
        .expect(201);
    let detail = api.get(&format!("/v1/runs/{run}")).await.expect(200).json();
    assert_eq!((&detail["status"], &detail["feedback"]["count"]), (&json!("queued"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn corrected_outputs_become_examples_that_name_their_run() {
    let api = api().await;
    api.post("/v1/graphs", one_node("bad", "question -> unanswered")).await.expect(201);
    let (one, two, bare) =
        (executed(&api, "q").await, executed(&api, "q").await, executed(&api, "q").await);
    give(&api, &one, json!({"outputs": {"answer": "old"}})).await.expect(201);
    give(&api, &one, json!({"outputs": {"answer": "new"}, "source": "reviewer"})).await.expect(201);
    give(&api, &two, json!({"outputs": {"answer": "two"}})).await.expect(201);
    let path = "/v1/datasets/corrected/from-runs";
    let body = json!({"runs": [one, two], "expected": "corrected"});
    let made = api.post(path, &body).await.expect(201).json();
    assert_eq!(made["added"], 2);
    let examples = api.get("/v1/datasets/corrected/examples").await.expect(200).json();
    let said =
        |place: usize| (&examples["items"][place]["id"], &examples["items"][place]["expected"]);
    assert_eq!(said(0), (&json!(one), &json!({"answer": "new"})));
    assert_eq!(said(1), (&json!(two), &json!({"answer": "two"})));
    let same = api.post(path, &body).await.expect(200).json();
    assert_eq!((&same["added"], &same["duplicates"]), (&json!(0), &json!(2)));
    let refused = api.post(path, json!({"runs": [one, bare], "expected": "corrected"})).await;
    assert_eq!(refused.expect(422).errors(), ["/runs/1 invalid_value"]);
    let failed = executed(&api, "bad").await;
    give(&api, &failed, json!({"outputs": {"unanswered": "yes"}})).await.expect(201);
    let body = json!({"runs": [failed], "expected": "corrected"});
    api.post("/v1/datasets/failures/from-runs", body).await.expect(201);
    let examples = api.get("/v1/datasets/failures/examples").await.expect(200).json();
    assert_eq!(examples["items"][0]["expected"], json!({"unanswered": "yes"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_is_removed_with_its_run() {
    let url = test_database().await;
    let lm = dsrs_test_api::friendly_lm();
    let api = Api::start(&url, Some(std::sync::Arc::new(lm)), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let run = executed(&api, "q").await;
    give(&api, &run, json!({"name": "s", "score": 1})).await.expect(201);
    let _forgets = Api::start(&url, None, &[("DSRS_RETENTION_RUNS", "1s")]).await;
    api.until(&format!("/v1/runs/{run}"), |answer| answer.status == 404).await;
    api.get(&format!("/v1/runs/{run}/feedback")).await.expect(404);
    let means = api.get("/v1/graphs/q/scores").await.expect(200).json();
    assert_eq!(means["items"], json!([]));
}
