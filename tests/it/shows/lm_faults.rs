//! A provider that refuses, stalls, disconnects or answers nonsense: the response, the record, and
//! the number of requests.

use std::time::Duration;

use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Remote, ServerSetup, sections, test_database};

/// What one execution against a misbehaving provider led to.
struct Outcome {
    answer: Answer,
    /// The run as it was recorded.
    run: Value,
    /// How often the provider was asked.
    asked: usize,
}

impl Outcome {
    /// The failure answered: status and code, with a look at what each of them names.
    #[track_caller]
    fn failure(&self) -> (u16, String) {
        let problem = self.answer.json();
        let named = ["node", "predictor", "run_id"].map(|member| text(&problem, member));
        assert_eq!(named, ["ask", "ask", text(&self.run, "id")]);
        assert_eq!(text(&self.run, "status"), "failed");
        assert_eq!(text(&self.run["nodes"]["ask"], "status"), "failed");
        assert_eq!(self.run["error"], problem, "the record has what was answered");
        assert_eq!(self.attempts().len(), self.asked, "every request has its span");
        (self.answer.status, self.answer.code())
    }

    #[track_caller]
    fn outputs(&self) -> Value {
        assert_eq!(self.answer.status, 200, "{}", self.answer.text);
        assert_eq!(self.attempts().len(), self.asked, "every request has its span");
        self.run["outputs"].clone()
    }

    /// The status of every request in the trace.
    fn attempts(&self) -> Vec<&str> {
        let spans = self.run["trace"]["spans"].as_array().unwrap();
        let lm = spans.iter().filter(|span| span["kind"] == "lm");
        lm.map(|span| text(span, "status")).collect()
    }

    fn detail(&self) -> String {
        text(&self.answer.json(), "detail").to_owned()
    }
}

/// A node with these settings over this provider.
async fn asking(lm: &FakeLm, settings: Value, body: Value) -> Outcome {
    executed(on(&test_database().await, lm), lm, settings, body).await
}

async fn executed(setup: ServerSetup, lm: &FakeLm, settings: Value, mut body: Value) -> Outcome {
    let server = setup.start();
    let api = Remote::new(&server.url);
    let graph = one_node("q", "question -> score: float", settings);
    api.post("/v1/graphs", graph).await.expect(201);
    body["inputs"] = json!({"question": "?"});
    let answer = api.post("/v1/graphs/q/execute", body).await;
    let id = text(&answer.json(), "run_id").to_owned();
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    Outcome { answer, run, asked: lm.asked().len() }
}

fn good() -> Does {
    Does::Say(sections([("score", "0.5")]))
}

fn busy(wait: &str) -> Does {
    Does::Answer(429, vec![("retry-after", wait.to_owned())], "{}".to_owned())
}

fn broken(status: u16) -> Does {
    let body = json!({"error": {"message": "out of order"}});
    Does::Answer(status, vec![], body.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_provider_is_retried_after_its_wait() {
    let lm = FakeLm::doing([busy("1"), good()]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.outputs(), json!({"score": 0.5}));
    assert_eq!(outcome.attempts(), ["failed", "succeeded"]);
    let asked = lm.asked();
    let waited = asked[1].at - asked[0].at;
    assert!(waited >= Duration::from_millis(950), "{waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_beyond_the_deadline_is_rate_limited_at_once() {
    let lm = FakeLm::doing([busy("3600")]).await;
    // Longer than this test waits for an answer.
    let (half_an_hour, setup) = (1_800_000, on(&test_database().await, &lm));
    let setup = setup.env("DSRS_LIMITS_RUN_TIMEOUT_MS", &half_an_hour.to_string());
    let outcome = executed(setup, &lm, json!({"timeout_ms": half_an_hour}), json!({})).await;
    assert_eq!(outcome.failure(), (429, "rate_limited".to_owned()));
    assert_eq!((outcome.answer.header("retry-after"), outcome.asked), ("3600", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_stays_busy_is_rate_limited_after_the_retries() {
    let lm = FakeLm::doing([busy("0")]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.failure(), (429, "rate_limited".to_owned()));
    assert_eq!(outcome.asked, 3);
    assert!(outcome.answer.header("retry-after").parse::<u64>().unwrap() >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_failure_of_the_provider_is_retried() {
    let lm = FakeLm::doing([broken(500), Does::HangUp, Does::BreakOff, broken(503), good()]).await;
    let outcome = asking(&lm, json!({"retries": 4}), json!({})).await;
    assert_eq!(outcome.outputs(), json!({"score": 0.5}));
    assert_eq!(outcome.attempts(), ["failed", "failed", "failed", "failed", "succeeded"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_provider_is_an_lm_error_with_its_message() {
    let lm = FakeLm::doing([broken(500)]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.failure(), (502, "lm_error".to_owned()));
    assert_eq!(outcome.asked, 3);
    assert!(outcome.detail().contains("out of order"), "{}", outcome.detail());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_provider_with_a_long_wait_is_not_retried() {
    let later = vec![("retry-after", "3600".to_owned())];
    let lm = FakeLm::doing([Does::Answer(503, later, "{}".to_owned())]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.failure(), (502, "lm_error".to_owned()));
    assert_eq!(outcome.asked, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_neither_retried_nor_shown() {
    let echo = json!({"error": {"message": "no access with sk-very-secret"}});
    let lm = FakeLm::doing([Does::Answer(401, vec![], echo.to_string())]).await;
    let setup = on(&test_database().await, &lm).env("OPENAI_API_KEY", "sk-very-secret");
    let outcome = executed(setup, &lm, json!({}), json!({})).await;
    assert_eq!(outcome.failure(), (502, "lm_error".to_owned()));
    assert_eq!(outcome.asked, 1);
    assert!(outcome.detail().contains("no access with"), "{}", outcome.detail());
    let shown = outcome.answer.text + &outcome.run.to_string();
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_drops_connections_is_an_lm_error() {
    for does in [Does::HangUp, Does::BreakOff] {
        let lm = FakeLm::doing([does]).await;
        let outcome = asking(&lm, json!({"retries": 1}), json!({})).await;
        assert_eq!(outcome.failure(), (502, "lm_error".to_owned()));
        assert_eq!(outcome.asked, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_provider_is_an_lm_error() {
    let lm = FakeLm::doing([good()]).await;
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let setup = ServerSetup::new().database(&test_database().await);
    let setup = setup.env("OPENAI_BASE_URL", &nowhere);
    let outcome = executed(setup, &lm, json!({"retries": 1}), json!({})).await;
    assert_eq!((outcome.answer.status, outcome.answer.code().as_str()), (502, "lm_error"));
    assert_eq!((outcome.asked, outcome.attempts().len()), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalling_provider_is_a_timeout_and_its_connection_closes() {
    for does in [Does::Stall, Does::Drip] {
        let lm = FakeLm::doing([does]).await;
        let outcome = asking(&lm, json!({"timeout_ms": 400}), json!({})).await;
        assert_eq!(outcome.failure(), (504, "timeout".to_owned()));
        assert_eq!((outcome.asked, outcome.attempts()), (1, vec!["failed"]));
        assert!(outcome.detail().contains("the time limit passed"), "{}", outcome.detail());
        lm.abandoned(1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_of_a_run_limits_its_nodes() {
    let lm = FakeLm::doing([Does::Stall]).await;
    let outcome = asking(&lm, json!({}), json!({"timeout_ms": 300})).await;
    assert_eq!(outcome.answer.status, 504, "{}", outcome.answer.text);
    assert_eq!(outcome.answer.code(), "timeout");
    assert_eq!(outcome.run["error"], outcome.answer.json());
    lm.abandoned(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_the_timeout_of_its_model_is_retried() {
    let lm = FakeLm::doing([Does::Stall, good()]).await;
    let setup = ServerSetup::new().database(&test_database().await);
    let setup = setup.env("DSRS_MODELS__SLOW__BASE_URL", &lm.url);
    let setup = setup.env("DSRS_MODELS__SLOW__MODEL", "slow-1");
    let setup = setup.env("DSRS_MODELS__SLOW__TIMEOUT_MS", "1000");
    // More than one request takes too long if the machine is slow.
    let node = json!({"lm": {"model": "slow"}, "retries": 10});
    let outcome = executed(setup, &lm, node, json!({})).await;
    assert_eq!(outcome.outputs(), json!({"score": 0.5}));
    let attempts = outcome.attempts();
    let (last, before) = attempts.split_last().unwrap();
    assert_eq!((*last, before[0]), ("succeeded", "failed"));
    lm.abandoned(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_chat_completion_is_an_lm_error() {
    for body in ["<html>welcome</html>", r#"{"greeting": "hello"}"#, r#"{"choices": []}"#] {
        let lm = FakeLm::doing([Does::Answer(200, vec![], body.to_owned())]).await;
        let outcome = asking(&lm, json!({"retries": 1}), json!({})).await;
        assert_eq!(outcome.failure(), (502, "lm_error".to_owned()), "{body}");
        assert_eq!(outcome.asked, 2, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_misfits_are_a_parse_error_with_the_raw_text() {
    let raw = "[[ ## score ## ]]\nquite \u{0} good\n\n[[ ## completed ## ]]";
    let lm = FakeLm::doing([Does::Say("no idea".to_owned()), Does::Say(raw.to_owned())]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.failure(), (422, "parse_error".to_owned()));
    let problem = outcome.answer.json();
    assert_eq!((text(&problem, "raw"), text(&problem, "field")), (raw, "score"));
    let again = lm.asked()[1].messages();
    assert_eq!(again[again.len() - 2], json!({"role": "assistant", "content": "no idea"}));
    let lm_spans = outcome.run["trace"]["spans"].as_array().unwrap().iter();
    let raws: Vec<_> = lm_spans.filter(|s| s["kind"] == "lm").map(|s| text(s, "raw")).collect();
    assert_eq!(raws, ["no idea", raw]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fitting_second_answer_succeeds() {
    let lm = FakeLm::doing([Does::Say("no idea".to_owned()), good()]).await;
    let outcome = asking(&lm, json!({}), json!({})).await;
    assert_eq!(outcome.outputs(), json!({"score": 0.5}));
    assert_eq!((outcome.asked, &outcome.run["usage"]["lm_calls"]), (2, &json!(2)));
}
