//! A server with something of everything: graphs, runs that succeeded, failed and wait, states, examples, an
//! evaluation and an optimization.

use std::sync::Arc;

use dsrs::lm::{Role, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, one_node, support_reply, test_database};

/// The server, and the ids of what it has.
pub struct World {
    pub api: Api,
    pub run: String,
    pub failed_run: String,
    pub waiting_run: String,
    pub evaluations: [String; 2],
    pub optimization: String,
    pub schedule: String,
    pub webhook: String,
}

/// Answers tickets; knows the answer to `qN?` once it is shown a demo; answers `explode` with nothing that fits.
pub fn lm() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let turns: Vec<_> = request.chat.messages().collect();
        let asked = turns.last().map(|turn| turn.content.to_string()).unwrap_or_default();
        if let Some(question) = asked.split("[[ ## question ## ]]\n").nth(1) {
            let number =
                question.trim_start_matches('q').split('?').next().unwrap_or_default().to_owned();
            return match turns.iter().any(|turn| turn.role == Role::Assistant) {
                true => ScriptedAnswer::from(format!("[[ ## answer ## ]]\na{number}")),
                false => ScriptedAnswer::from("[[ ## answer ## ]]\n?"),
            };
        }
        if asked.contains("explode") {
            return ScriptedAnswer::from("I <b>cannot</b> say <script>alert(1)</script>");
        }
        match asked.contains("[[ ## mood ## ]]\n") {
            true => ScriptedAnswer::from(
                "[[ ## reasoning ## ]]\nThey wait.\n\n[[ ## answer ## ]]\nDear customer, it is on its way.",
            ),
            false => ScriptedAnswer::from(
                "[[ ## mood ## ]]\nCalm\n\n[[ ## topics ## ]]\n- parcel\n- delay",
            ),
        }
    })
}

/// A server with an LM, and nothing else.
pub async fn server() -> Api {
    let settings = [("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")];
    Api::start(&test_database().await, Some(Arc::new(lm())), &settings).await
}

impl World {
    /// Creates it.
    pub async fn new() -> Self {
        let api = server().await;
        let mut graph = support_reply();
        graph["description"] = json!("Reads a ticket and drafts a reply");
        api.post("/v1/graphs", graph).await.expect(201);
        api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
        let approve =
            json!({"strategy": "await", "signature": "letter -> approved: bool, note: str"});
        let letter = json!({"name": "letter", "nodes": {"approve": approve}});
        api.post("/v1/graphs", letter).await.expect(201);
        let run = execute(&api, "support-reply", json!({"ticket": "Where is my parcel?"})).await;
        let failed_run = execute(&api, "support-reply", json!({"ticket": "Let it explode"})).await;
        let waiting_run = execute(&api, "letter", json!({"letter": "Dear all"})).await;
        let state = json!({"predictors": {"triage": {
            "instruction": "Read the ticket. Name the mood of its author and at most three topics.",
            "demos": [{"input": {"ticket": "Thanks!"}, "output": {"mood": "calm", "topics": ["praise"]}}]
        }}});
        api.put("/v1/graphs/support-reply/state", state).await.expect(200);
        let example = |n: usize| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
        let examples: Vec<Value> = (0..40).map(example).collect();
        api.post("/v1/datasets", json!({"name": "questions", "examples": examples}))
            .await
            .expect(201);
        let before = ended(
            &api,
            "/v1/graphs/ask/evaluations",
            json!({"dataset": "questions", "metric": "exact"}),
        )
        .await;
        let search = json!({
            "optimizer": "bootstrap_few_shot", "trainset": "questions", "metric": "exact", "seed": 3, "activate": "if_better"
        });
        let optimization = ended(&api, "/v1/graphs/ask/optimizations", search).await;
        let after = ended(
            &api,
            "/v1/graphs/ask/evaluations",
            json!({"dataset": "questions", "metric": "exact"}),
        )
        .await;
        let (schedule, webhook) = (schedule(&api).await, webhook(&api).await);
        let evaluations = [before, after];
        Self { api, run, failed_run, waiting_run, evaluations, optimization, schedule, webhook }
    }
}

/// The id of a run that was recorded.
pub async fn execute(api: &Api, graph: &str, inputs: Value) -> String {
    let answer =
        api.post(&format!("/v1/graphs/{graph}/execute"), json!({"inputs": inputs})).await.json();
    let id = [&answer["id"], &answer["run_id"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned();
    api.until(&format!("/v1/runs/{id}"), |answer: &Answer| answer.status == 200).await;
    id
}

/// The id of a schedule that has fired twice, the second time without success.
async fn schedule(api: &Api) -> String {
    let body = json!({
        "name": "nightly-check", "description": "Scores the answers before the office opens", "cron": "30 2 * * 1-5",
        "time_zone": "Europe/Berlin", "catch_up": "one", "graph": "ask", "target": "evaluation",
        "request": {"dataset": "questions", "metric": "exact"}
    });
    let id =
        api.post("/v1/schedules", body).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    let (path, ended) = (format!("/v1/schedules/{id}"), |answer: &Answer| {
        answer.json()["items"][0]["finished_at"].is_string()
    });
    api.post(&format!("{path}/fire"), "").await.expect(202);
    api.until(&format!("{path}/firings"), ended).await;
    let gone = json!({"name": "gone", "examples": [{"inputs": {"question": "q1?"}, "expected": {"answer": "a1"}}]});
    api.post("/v1/datasets", gone).await.expect(201);
    let request = json!({"request": {"dataset": "gone", "metric": "exact"}});
    api.patch(&path, request).await.expect(200);
    api.delete("/v1/datasets/gone").await.expect(204);
    api.post(&format!("{path}/fire"), "").await.expect(202);
    api.until(&format!("{path}/firings"), ended).await;
    id
}

/// The id of a webhook whose test message did not arrive.
async fn webhook(api: &Api) -> String {
    let url = "http://127.0.0.1:9/hooks/dsrs";
    let body =
        json!({"name": "on-call", "url": url, "events": ["run.failed", "evaluation.finished"]});
    let id =
        api.post("/v1/webhooks", body).await.expect(201).json()["id"].as_str().unwrap().to_owned();
    api.post(&format!("/v1/webhooks/{id}/test"), "").await.expect(202);
    let tried = |answer: &Answer| answer.json()["items"][0]["log"][0].is_object();
    api.until(&format!("/v1/webhooks/{id}/deliveries"), tried).await;
    id
}

/// The id of a job that has ended.
async fn ended(api: &Api, path: &str, body: Value) -> String {
    let accepted = api.post(path, body).await.expect(202);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    let job = api.until(accepted.header("location"), done).await.json();
    assert_eq!(job["status"], "succeeded", "{job}");
    job["id"].as_str().unwrap().to_owned()
}
