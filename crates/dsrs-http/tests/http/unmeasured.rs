//! A failure of the provider is no score: in evaluations, comparisons and optimizations, an example
//! without a score is tried once more, counted, and left out; if that is too much, the work fails and says why.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use dsrs::lm::{LmErrorKind, LmRequest, Role, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, one_node, test_database};

fn question(request: &LmRequest) -> String {
    let said = request.chat.messages().last().unwrap().content.to_string();
    let asked = said.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
    asked.lines().next().unwrap_or_default().to_owned()
}

fn answer(text: &str) -> ScriptedAnswer {
    format!("[[ ## answer ## ]]\n{text}").into()
}

/// A refusal of the key: no request is repeated for it.
fn refused() -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Refused, "the key is not valid").status(401)
}

fn down() -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Provider, "the provider is down").status(503)
}

/// Knows `qN?` once it is shown demos; before that, the provider does what `before` says.
fn learns(before: fn(&str) -> ScriptedAnswer) -> ScriptedLm {
    ScriptedLm::by(move |request| {
        let asked = question(request);
        let is_shown = request.chat.messages().any(|turn| turn.role == Role::Assistant);
        match is_shown {
            true => answer(&asked.replace('q', "a").replace('?', "")),
            false => before(&asked),
        }
    })
}

async fn api(lm: ScriptedLm, questions: std::ops::Range<usize>) -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(lm);
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let example = |n| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    let examples: Vec<Value> = questions.map(example).collect();
    api.post("/v1/datasets", json!({"name": "easy", "examples": examples})).await.expect(201);
    (api, lm)
}

async fn ended(api: &Api, kind: &str, body: Value) -> Value {
    let accepted = api.post(&format!("/v1/graphs/q/{kind}"), body).await.expect(202);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(accepted.header("location"), done).await.expect(200).json()
}

async fn optimized(api: &Api, more: Value) -> Value {
    let mut body = json!({"optimizer": "labeled_few_shot", "trainset": "easy", "metric": "exact",
                          "seed": 3, "activate": "if_better"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ended(api, "optimizations", body).await
}

async fn evaluated(api: &Api, more: Value) -> Value {
    let mut body = json!({"dataset": "easy", "metric": "exact"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ended(api, "evaluations", body).await
}

async fn active_state(api: &Api) -> Value {
    api.get("/v1/graphs/q/state").await.expect(200).json()["version"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_baseline_that_met_an_outage_activates_nothing() {
    let (api, _) = api(learns(|_| down()), 0..40).await;
    let found = optimized(&api, json!({})).await;
    assert_eq!((&found["status"], &found["result"]), (&json!("failed"), &Value::Null), "{found}");
    assert_eq!(found["error"]["code"], "optimization_failed");
    let why = found["error"]["detail"].as_str().unwrap();
    for part in ["10 of 10", "max_unmeasured", "the provider is down"] {
        assert!(why.contains(part), "{part} in {why}");
    }
    assert_eq!((active_state(&api).await, &found["activation"]), (json!(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_measured_pair_means_no_activation() {
    let (api, _) = api(learns(|_| refused()), 0..40).await;
    let found = optimized(&api, json!({"max_unmeasured": 1})).await;
    assert_eq!((&found["status"], &found["max_unmeasured"]), (&json!("succeeded"), &json!(1.0)));
    let result = &found["result"];
    assert_eq!((&result["baseline"], &result["comparison"]), (&Value::Null, &Value::Null));
    assert_eq!((&result["best"]["candidate"], &result["best"]["score"]), (&json!(1), &json!(1.0)));
    let activation = &found["activation"];
    assert_eq!((&activation["activated"], active_state(&api).await), (&json!(false), json!(1)));
    assert!(activation["reason"].as_str().unwrap().contains("has a score of both"), "{activation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_with_an_unmeasured_side_are_left_out_and_counted() {
    // A part of the ten held-out examples, whichever they are.
    let before = |asked: &str| match ["0?", "3?", "6?"].iter().any(|end| asked.ends_with(end)) {
        true => refused(),
        false => answer("?"),
    };
    let (api, _) = api(learns(before), 0..40).await;
    let found = optimized(&api, json!({"max_unmeasured": 0.5})).await;
    let compared = &found["result"]["comparison"];
    let counts = ["n", "unmeasured"].map(|name| compared[name].as_i64().unwrap());
    assert!(counts[1] > 0 && counts[0] + counts[1] == 10, "{compared}");
    assert_eq!((&compared["gain"], &found["activation"]["activated"]), (&json!(1.0), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_without_a_single_proposal_has_failed() {
    let lm = ScriptedLm::by(|request| match question(request).starts_with('q') {
        true => answer("?"),
        false => refused(),
    });
    let (api, _) = api(lm, 0..40).await;
    let found = optimized(&api, json!({"optimizer": "copro"})).await;
    let why = found["error"]["detail"].as_str().unwrap_or_default();
    assert_eq!(found["status"], "failed", "{found}");
    assert!(why.contains("requests for proposals failed"), "{why}");
    assert!(why.contains("the key is not valid"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_says_why_its_examples_have_no_score() {
    let lm = ScriptedLm::by(|request| {
        let is_shown = request.chat.messages().any(|turn| turn.role == Role::Assistant);
        if is_shown { refused() } else { answer("?") }
    });
    let (api, _) = api(lm, 0..40).await;
    let found = optimized(&api, json!({})).await;
    assert_eq!(found["status"], "failed", "{found}");
    let candidates = api.get(found["links"]["candidates"].as_str().unwrap()).await.expect(200);
    let taught = &candidates.json()["items"][1];
    assert_eq!((&taught["full"]["n"], &taught["full"]["unmeasured"]), (&json!(0), &json!(10)));
    let cause = json!({"code": "lm_error", "detail": taught["cause"]["detail"], "n": 10, "unmeasured": true});
    assert_eq!(taught["cause"], cause);
    assert!(cause["detail"].as_str().unwrap().contains("the key is not valid"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_during_an_outage_fails_and_has_no_mean() {
    let (api, _) = api(learns(|_| down()), 0..10).await;
    let found = evaluated(&api, json!({})).await;
    assert_eq!(
        (&found["status"], &found["mean_score"]),
        (&json!("failed"), &Value::Null),
        "{found}"
    );
    let error = &found["error"];
    assert_eq!((&error["code"], &error["status"]), (&json!("too_many_unmeasured"), &json!(422)));
    let why = error["detail"].as_str().unwrap();
    assert!(why.contains("of 10 examples") && why.contains("the provider is down"), "{why}");
    assert_eq!(
        (&found["counts"]["failed"], found["counts"]["unmeasured"].as_i64() > Some(0)),
        (&json!(0), true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unmeasured_example_does_not_count_and_is_listed() {
    let before = |asked: &str| match asked {
        "q3?" => refused(),
        "q4?" => answer("wrong"),
        asked => answer(&asked.replace('q', "a").replace('?', "")),
    };
    let (api, lm) = api(learns(before), 0..10).await;
    let found = evaluated(&api, json!({"max_unmeasured": 0.1})).await;
    assert_eq!((&found["status"], &found["max_unmeasured"]), (&json!("succeeded"), &json!(0.1)));
    assert_eq!(found["counts"], json!({"total": 10, "done": 10, "failed": 0, "unmeasured": 1}));
    assert_eq!((&found["mean_score"], lm.requests().len()), (&json!(8.0 / 9.0), 11));

    let results = format!("/v1/evaluations/{}/results", found["id"].as_str().unwrap());
    let open = api.get(&format!("{results}?unmeasured=true")).await.expect(200).json();
    let open = &open["items"];
    assert_eq!((open.as_array().unwrap().len(), &open[0]["position"]), (1, &json!(3)));
    assert_eq!((&open[0]["score"], &open[0]["unmeasured"]), (&Value::Null, &json!(true)));
    assert_eq!(open[0]["error"]["code"], "lm_error");
    let failed = api.get(&format!("{results}?failed=true")).await.expect(200).json();
    assert_eq!(failed["items"], json!([]));
    let worst = api.get(&format!("{results}?order=worst")).await.expect(200).json();
    assert_eq!(
        (&worst["items"][0]["position"], worst["items"].as_array().unwrap().len()),
        (&json!(4), 9)
    );

    // Shown demos, it is right about all.
    let demo = json!({"input": {"question": "q99?"}, "output": {"answer": "a99"}});
    let state = json!({"predictors": {"ask": {"demos": [demo]}}});
    api.put("/v1/graphs/q/state", state).await.expect(200);
    let after = evaluated(&api, json!({})).await;
    assert_eq!(after["mean_score"], 1.0);
    let ids = [&after, &found].map(|row| row["id"].as_str().unwrap().to_owned());
    let compared = format!("/v1/evaluations/{}/comparison?against={}", ids[0], ids[1]);
    let compared = api.get(&compared).await.expect(200).json();
    assert_eq!(
        (&compared["n"], &compared["unmeasured"], &compared["wins"]),
        (&json!(9), &json!(1), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_example_that_met_an_outage_is_tried_again_at_the_end() {
    let met = Mutex::new(HashSet::new());
    let lm = ScriptedLm::by(move |request| {
        let asked = question(request);
        match met.lock().unwrap().insert(asked.clone()) {
            true => refused(),
            false => answer(&asked.replace('q', "a").replace('?', "")),
        }
    });
    let (api, lm) = api(lm, 0..10).await;
    let found = evaluated(&api, json!({})).await;
    assert_eq!(
        (&found["status"], &found["mean_score"]),
        (&json!("succeeded"), &json!(1.0)),
        "{found}"
    );
    assert_eq!(found["counts"], json!({"total": 10, "done": 10, "failed": 0, "unmeasured": 0}));
    assert_eq!(
        (&found["usage"]["lm_calls"], lm.requests().len()),
        (&json!(10), 20),
        "a request that is refused is none that is paid"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_is_from_0_to_1() {
    let (api, _) = api(learns(|_| down()), 0..10).await;
    let body = json!({"dataset": "easy", "metric": "exact", "max_unmeasured": 1.5});
    let refused = api.post("/v1/graphs/q/evaluations", body).await.expect(422);
    assert_eq!(refused.errors(), ["/max_unmeasured invalid_value"]);
    let body =
        json!({"optimizer": "copro", "trainset": "easy", "metric": "exact", "max_unmeasured": -1});
    let refused = api.post("/v1/graphs/q/optimizations", body).await.expect(422);
    assert_eq!(refused.errors(), ["/max_unmeasured invalid_value"]);
}

/// A note on each question, and an answer from it. Each request costs a token of output.
fn two_steps() -> Value {
    json!({"name": "steps", "nodes": {
            "first": {"strategy": "predict", "signature": "question -> note"},
            "second": {"strategy": "predict", "signature": "question, note -> answer"}},
        "edges": [{"from": "first.note", "to": "second.note"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn both_tries_of_an_example_are_paid() {
    let met = Mutex::new(HashSet::new());
    let lm = ScriptedLm::by(move |request| {
        let asked = question(request);
        let is_second =
            request.chat.messages().last().unwrap().content.contains("[[ ## note ## ]]\n");
        match is_second && met.lock().unwrap().insert(asked.clone()) {
            true => refused(),
            false if is_second => answer(&asked.replace('q', "a").replace('?', "")),
            false => "[[ ## note ## ]]\nhm".into(),
        }
    });
    let (api, lm) = api(lm, 0..4).await;
    api.post("/v1/graphs", two_steps()).await.expect(201);
    let body = json!({"dataset": "easy", "metric": "exact"});
    let accepted = api.post("/v1/graphs/steps/evaluations", body).await.expect(202);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    let found = api.until(accepted.header("location"), done).await.expect(200).json();
    assert_eq!((&found["mean_score"], &found["counts"]["unmeasured"]), (&json!(1.0), &json!(0)));
    // The first step of the first try, and both steps of the second.
    assert_eq!((lm.requests().len(), &found["usage"]["lm_calls"]), (16, &json!(12)), "{found}");
    let results = format!("/v1/evaluations/{}/results", found["id"].as_str().unwrap());
    let results = api.get(&results).await.expect(200).json();
    for result in results["items"].as_array().unwrap() {
        assert_eq!(result["usage"]["lm_calls"], 3, "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_writes_no_score_gives_none() {
    let lm = ScriptedLm::by(|request| {
        let said = request.chat.messages().map(|turn| turn.content.to_string());
        match said.last().unwrap_or_default().contains("[[ ## answer ## ]]\n") {
            true => "[[ ## score ## ]]\nrather good".into(),
            false => answer("a"),
        }
    });
    let (api, _) = api(lm, 0..4).await;
    let judge =
        json!({"judge": {"signature": "question, answer -> score: float", "score": "score"}});
    let found = evaluated(&api, json!({"metric": judge})).await;
    assert_eq!(found["error"]["code"], "too_many_unmeasured", "{found}");
    assert_eq!(found["mean_score"], Value::Null);
}
