//! `/v1/runs/{id}/resume`: runs that failed or were cancelled resume from their completed nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{support_reply, test_database};
use dsrs_test_api::friendly_lm;

/// An LM that fails at the second node until it is switched to succeed.
struct Broken {
    lm: Arc<ScriptedLm>,
    repaired: Arc<AtomicBool>,
}

fn asked(request: &LmRequest) -> String {
    request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
}

fn broken() -> Broken {
    let repaired = Arc::new(AtomicBool::new(false));
    let flag = repaired.clone();
    let lm = ScriptedLm::by(move |request| {
        if asked(request).contains("[[ ## mood ## ]]\ncalm") && !flag.load(Ordering::SeqCst) {
            return ScriptedAnswer::fail(LmErrorKind::Provider, "out of order").status(500);
        }
        ScriptedAnswer::from(
            "[[ ## mood ## ]]\ncalm\n\n[[ ## topics ## ]]\n[]\n\n\
             [[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\nDear customer\n\n[[ ## completed ## ]]",
        )
    });
    Broken { lm: Arc::new(lm), repaired }
}

impl Broken {
    fn repair(&self) {
        self.repaired.store(true, Ordering::SeqCst);
    }
}

/// A failed run, started with this request.
async fn failed(lm: &Broken, way: &str) -> (Api, Value) {
    let api = Api::start(&test_database().await, Some(lm.lm.clone()), &[]).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = json!({"inputs": {"ticket": "Where is it?"}});
    let begun = api.post(&format!("/v1/graphs/support-reply/{way}"), body).await.json();
    let id = begun["run_id"].as_str().or(begun["id"].as_str()).unwrap().to_owned();
    let run = api.ended(&id).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("failed"), &json!("lm_error")));
    (api, run)
}

fn resume(run: &Value) -> String {
    format!("/v1/runs/{}/resume", run["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_resumes_from_its_completed_nodes() {
    for way in ["runs", "execute"] {
        let lm = broken();
        let (api, run) = failed(&lm, way).await;
        lm.repair();
        let accepted = api.post(&resume(&run), "{}").await.expect(202);
        let place = format!("/v1/runs/{}", run["id"].as_str().unwrap());
        assert_eq!(accepted.header("location"), place);
        let resumed = accepted.json();
        assert_eq!(resumed["status"], "queued");
        assert_eq!(
            resumed["resumed"],
            json!({
                "triage": {"verdict": "kept", "reason": null},
                "reply": {"verdict": "again", "reason": "it had not completed"}
            })
        );
        let done = api.ended(run["id"].as_str().unwrap()).await;
        assert_eq!((&done["status"], &done["error"]), (&json!("succeeded"), &Value::Null));
        assert_eq!(done["outputs"], json!({"answer": "Dear customer", "mood": "calm"}));
        assert_eq!(done["nodes"]["triage"], run["nodes"]["triage"], "{way}");
        let spans = done["trace"]["spans"].as_array().unwrap();
        assert_eq!(spans[..6], run["trace"]["spans"].as_array().unwrap()[..6]);
        let ids: Vec<_> = spans.iter().map(|span| span["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (1..=9).collect::<Vec<_>>());
        assert_eq!(spans[7]["parent_id"], 7);
        assert_eq!(done["usage"]["lm_calls"], 2);
        let triages = lm.lm.requests().iter().filter(|r| !asked(r).contains("\ncalm")).count();
        assert_eq!(triages, 1, "the first node is not asked again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_resumes_with_another_version_where_nodes_are_equal() {
    let lm = broken();
    let (api, run) = failed(&lm, "runs").await;
    lm.repair();
    let mut graph = support_reply();
    graph["nodes"]["reply"]["strategy"] = json!("predict");
    api.put("/v1/graphs/support-reply", &graph).await.expect(200);
    graph["nodes"]["triage"]["signature"] = json!("ticket -> mood: Mood, topics: list[str], why");
    api.put("/v1/graphs/support-reply", &graph).await.expect(200);
    let resumed = api.post(&resume(&run), json!({"version": 3})).await.expect(202).json();
    assert_eq!((&resumed["version"], &resumed["status"]), (&json!(3), &json!("queued")));
    assert_eq!(resumed["resumed"]["triage"]["reason"], "its signature changed");
    let again = api.ended(run["id"].as_str().unwrap()).await;
    assert_eq!(again["status"], "failed", "this LM gives no `why`");
    let resumed = api.post(&resume(&run), json!({"version": 2})).await.expect(202).json();
    assert_eq!(resumed["resumed"]["triage"]["verdict"], "again", "what failed is not kept");
    let done = api.ended(run["id"].as_str().unwrap()).await;
    assert_eq!((&done["status"], &done["version"]), (&json!("succeeded"), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_resume_is_refused() {
    let api = Api::with_lm(friendly_lm()).await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let body = json!({"inputs": {"ticket": "Where is it?"}});
    let run = api.post("/v1/graphs/support-reply/execute", body).await.expect(200).json();
    assert_eq!(api.post(&resume(&run), "{}").await.expect(409).code(), "run_finished");
    let missing = json!({"id": "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f"});
    assert_eq!(api.post(&resume(&missing), "{}").await.expect(404).code(), "not_found");

    let lm = broken();
    let (api, run) = failed(&lm, "runs").await;
    let misread = api.post(&resume(&run), json!({"versoin": 1, "timeout_ms": 0})).await.expect(422);
    assert_eq!(misread.errors(), ["/timeout_ms invalid_value", "/versoin unknown_field"]);
    let other = api.post(&resume(&run), json!({"version": 9})).await.expect(404);
    assert_eq!(other.code(), "not_found");
    let mut graph = support_reply();
    graph["inputs"] = json!({"ticket": "str", "tone": "str"});
    graph["nodes"]["reply"]["signature"] = json!("ticket, tone, mood: Mood -> answer");
    api.put("/v1/graphs/support-reply", graph).await.expect(200);
    let lacking = api.post(&resume(&run), json!({"version": 2})).await.expect(422);
    assert_eq!(lacking.code(), "invalid_input");
    assert_eq!(lacking.errors(), ["/inputs/tone missing_field"]);
    let stands = api.get(&format!("/v1/runs/{}", run["id"].as_str().unwrap())).await.json();
    assert_eq!(stands, run, "a refusal changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_resumptions_succeeds() {
    let lm = broken();
    let (api, run) = failed(&lm, "runs").await;
    lm.repair();
    let path = resume(&run);
    let (one, other) = tokio::join!(api.post(&path, "{}"), api.post(&path, "{}"));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409], "{} {}", one.text, other.text);
    assert_eq!(api.ended(run["id"].as_str().unwrap()).await["status"], "succeeded");
    assert_eq!(lm.lm.requests().iter().filter(|r| asked(r).contains("\ncalm")).count(), 2);
}
