//! The log of a server: one line a request, with the ids that lead to its run, and never what was asked or
//! answered.

use reqwest::Method;
use serde_json::{Value, json};

use dsrs_test::{Does, FakeLm, Remote, ServerSetup, one_node, test_database};

/// A key of the settings.
const KEY: &str = "the-secret-key-of-ops";

/// What the model answers if it does not refuse.
const ANSWER: &str = "[[ ## answer ## ]]\nan-answer-of-the-model";

async fn lm() -> std::sync::Arc<FakeLm> {
    FakeLm::by(|_, asked| match asked.text().contains("refuse-me") {
        true => Does::Answer(400, vec![], json!({"error": {"message": "no"}}).to_string()),
        false => Does::Say(ANSWER.to_owned()),
    })
    .await
}

async fn setup(lm: &FakeLm) -> ServerSetup {
    ServerSetup::new()
        .database(&test_database().await)
        .env("DSRS_MODELS__DEFAULT__MODEL", "small")
        .env("DSRS_MODELS__DEFAULT__BASE_URL", &lm.url)
        .env("DSRS_API_KEYS", KEY)
        .env("DSRS_LOG_FORMAT", "json")
}

fn lines(setup: &ServerSetup) -> Vec<Value> {
    let text = std::fs::read_to_string(setup.log()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_route<'l>(lines: &'l [Value], route: &str) -> Vec<&'l Value> {
    let of_route = |line: &&Value| line["message"] == "answered" && line["route"] == route;
    lines.iter().filter(of_route).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_one_json_line_with_its_run_and_key_and_without_contents() {
    let lm = lm().await;
    let setup = setup(&lm).await;
    let server = setup.start();
    let remote = Remote::with_key(&server.url, KEY);
    let graph = one_node("qa", "question -> answer");
    remote.post("/v1/graphs", graph).await.expect(201);
    let asked = json!({"inputs": {"question": "what-was-asked"}});
    let run = remote.post("/v1/graphs/qa/execute", &asked).await.expect(200).json();
    let queued = remote.post("/v1/graphs/qa/runs", &asked).await.expect(202).json();
    remote.ended(queued["id"].as_str().unwrap()).await;
    remote.get("/healthz").await.expect(200);
    assert!(server.stop().success());

    let lines = lines(&setup);
    let executed = of_route(&lines, "/v1/graphs/{graph}/execute");
    assert_eq!(executed.len(), 1, "{lines:?}");
    let line = executed[0];
    assert_eq!(
        (&line["level"], &line["method"], &line["status"], &line["run"]),
        (&json!("INFO"), &json!("POST"), &json!(200), &run["id"])
    );
    assert!(line["key"].as_str().unwrap().starts_with("key-"), "{line}");
    assert!(line["ms"].is_u64() && line["id"].is_string(), "{line}");
    let started = of_route(&lines, "/v1/graphs/{graph}/runs");
    assert_eq!((started.len(), &started[0]["run"]), (1, &queued["id"]));
    assert!(of_route(&lines, "/healthz").is_empty());
    let text = std::fs::read_to_string(setup.log()).unwrap();
    for content in ["what-was-asked", "an-answer-of-the-model", "the-secret-key"] {
        assert!(!text.contains(content), "the log contains {content}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_a_warning_with_its_reason() {
    let lm = lm().await;
    let setup = setup(&lm).await;
    let server = setup.start();
    let remote = Remote::with_key(&server.url, KEY);
    let graph = one_node("qa", "question -> answer");
    remote.post("/v1/graphs", graph).await.expect(201);
    let asked = json!({"inputs": {"question": "refuse-me"}}).to_string();
    let id = [("x-request-id", "r-1")];
    let path = "/v1/graphs/qa/execute";
    let failed = remote.send(Method::POST, path, &id, Some(asked.clone())).await.expect(502).json();
    let queued = remote.post("/v1/graphs/qa/runs", asked).await.expect(202).json();
    remote.ended(queued["id"].as_str().unwrap()).await;
    assert!(server.stop().success());

    let lines = lines(&setup);
    for run in [&failed["run_id"], &queued["id"]] {
        let warning = |line: &&Value| line["message"] == "a run failed" && line["run"] == *run;
        let found: Vec<_> = lines.iter().filter(warning).collect();
        assert_eq!(found.len(), 1, "{lines:?}");
        let line = found[0];
        assert_eq!((&line["level"], &line["graph"]), (&json!("WARN"), &json!("qa")));
        assert_eq!((&line["code"], &line["node"]), (&json!("lm_error"), &json!("ask")));
        assert_eq!((&line["lm_error"], &line["lm_status"]), (&json!("refused"), &json!(400)));
    }
    let answered = of_route(&lines, "/v1/graphs/{graph}/execute");
    assert_eq!((&answered[0]["id"], &answered[0]["run"]), (&json!("r-1"), &failed["run_id"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_request_is_a_warning_that_says_for_what_it_waited() {
    let late = std::time::Duration::from_millis(50);
    let lm = FakeLm::doing([Does::SayLate(late, ANSWER.to_owned())]).await;
    let setup = setup(&lm).await.env("DSRS_LOG_SLOW_REQUEST", "50ms");
    let server = setup.start();
    let remote = Remote::with_key(&server.url, KEY);
    remote.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    remote.post("/v1/graphs/qa/execute", asked).await.expect(200);
    assert!(server.stop().success());
    let lines = lines(&setup);
    let line = of_route(&lines, "/v1/graphs/{graph}/execute")[0];
    assert_eq!(line["level"], "WARN");
    let reason = line["reason"].as_str().unwrap();
    assert!(reason.starts_with("the run waited longest for "), "{reason}");
}

#[tokio::test]
async fn the_log_can_be_set_as_a_table_of_the_file() {
    let setup = ServerSetup::new().database(&test_database().await);
    let file = setup.directory().join("dsrs.toml");
    std::fs::write(file, "[log]\nfilter = 'warn'\nformat = 'json'\n").unwrap();
    let server = setup.start();
    let remote = Remote::new(&server.url);
    remote.get("/v1/graphs").await.expect(200);
    assert!(server.stop().success());
    assert!(lines(&setup).iter().all(|line| line["level"] != "INFO"));
}
