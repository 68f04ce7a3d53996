//! `/v1/graphs/{graph}/evaluations` and `/v1/evaluations`: accepted, scored, read out, compared,
//! cancelled.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, http_client, one_node, test_database, within};

const EVALUATIONS: &str = "/v1/graphs/q/evaluations";

/// Repeats the question, in capitals if the instruction says so; fails for `bad` and hangs for `slow`.
fn echo() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked = request.chat.turns.iter().map(|turn| turn.content.to_string()).next_back();
        let asked = asked.unwrap_or_default();
        let question = asked.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
        let question = question.lines().next().unwrap_or_default();
        let loud = request.chat.messages().any(|turn| turn.content.to_string().contains("Shout."));
        match question {
            "bad" => ScriptedAnswer::fail(LmErrorKind::Refused, "no"),
            "slow" => ScriptedAnswer::from("").after(Duration::from_secs(3600)),
            _ if loud => {
                ScriptedAnswer::from(format!("[[ ## answer ## ]]\n{}", question.to_uppercase()))
            }
            _ => ScriptedAnswer::from(format!("[[ ## answer ## ]]\n{question}")),
        }
    })
}

async fn api_with(settings: &[(&str, &str)]) -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(echo());
    let api = Api::start(&test_database().await, Some(lm.clone()), settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    (api, lm)
}

/// Examples with questions and expected answers.
async fn upload(api: &Api, name: &str, examples: &[(&str, &str)]) {
    let examples: Vec<Value> = examples
        .iter()
        .map(|(asked, answer)| json!({"inputs": {"question": asked}, "expected": {"answer": answer}}))
        .collect();
    let body = json!({"name": name, "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
}

async fn upload_many(api: &Api, name: &str, count: usize) {
    let numbers: Vec<String> = (0..count).map(|number| format!("number {number}")).collect();
    let examples: Vec<(&str, &str)> = numbers.iter().map(|text| (&**text, &**text)).collect();
    upload(api, name, &examples).await;
}

fn path_of(evaluation: &Value) -> String {
    format!("/v1/evaluations/{}", evaluation["id"].as_str().unwrap())
}

async fn ended(api: &Api, body: Value) -> Value {
    let accepted = api.post(EVALUATIONS, body).await.expect(202);
    let path = path_of(&accepted.json());
    assert_eq!(accepted.header("location"), path);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(&path, done).await.expect(200).json()
}

fn texts<'v>(items: &'v [Value], member: &str) -> Vec<&'v str> {
    items.iter().map(|item| item[member].as_str().unwrap_or("null")).collect()
}

fn scores(items: &[Value]) -> Vec<f64> {
    items.iter().map(|item| item["score"].as_f64().unwrap()).collect()
}

async fn rows(api: &Api, table: &str) -> i64 {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_is_scored_example_by_example_and_a_better_state_is_seen_to_be_better() {
    let (api, lm) = api_with(&[]).await;
    let examples = [("red", "RED"), ("Blue", "BLUE"), ("GREEN", "GREEN"), ("small", "small")];
    upload(&api, "shouts", &examples).await;
    let body = json!({"dataset": "shouts", "metric": "exact", "concurrency": 2});
    let before = ended(&api, body.clone()).await;
    assert_eq!((&before["status"], &before["error"]), (&json!("succeeded"), &Value::Null));
    assert_eq!((&before["graph"], &before["state_version"]), (&json!("q"), &json!(1)));
    assert_eq!(before["counts"], json!({"total": 4, "done": 4, "failed": 0, "unmeasured": 0}));
    assert_eq!((&before["mean_score"], &before["usage"]["lm_calls"]), (&json!(0.5), &json!(4)));
    assert_eq!(
        (&before["dataset"]["dataset"], &before["dataset"]["version"]),
        (&json!("shouts"), &json!(1))
    );
    assert_eq!(before["metric"], json!({"exact": {}}));

    let results = api.pages(&(path_of(&before) + "/results"), "items", 3).await;
    assert_eq!(scores(&results), [0.0, 0.0, 1.0, 1.0], "in the order of the dataset");
    assert_eq!(
        (&results[0]["outputs"], &results[0]["error"]),
        (&json!({"answer": "red"}), &Value::Null)
    );
    assert_eq!(
        (&results[0]["usage"]["lm_calls"], &results[0]["run_id"]),
        (&json!(1), &Value::Null)
    );
    assert!(results[0]["feedback"].is_string(), "{}", results[0]);
    assert_eq!(rows(&api, "runs").await, 0);

    let state = json!({"predictors": {"ask": {"instruction": "Shout."}}});
    api.put("/v1/graphs/q/state", state).await.expect(200);
    let after = ended(&api, body.clone()).await;
    assert_eq!((&after["state_version"], &after["mean_score"]), (&json!(2), &json!(0.75)));
    let again = json!({"dataset": "shouts", "metric": "exact", "state_version": 1});
    assert_eq!(ended(&api, again).await["mean_score"], 0.5, "the state before can be had again");
    assert_eq!(lm.requests().len(), 12);

    let compare =
        format!("{}/comparison?against={}", path_of(&after), before["id"].as_str().unwrap());
    let compared = api.get(&compare).await.expect(200).json();
    assert_eq!((&compared["n"], &compared["gain"]), (&json!(4), &json!(0.25)));
    assert_eq!(
        (&compared["before"]["mean_score"], &compared["after"]["mean_score"]),
        (&json!(0.5), &json!(0.75))
    );
    assert_eq!(
        (&compared["wins"], &compared["ties"], &compared["losses"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert!(
        compared["low"].as_f64() < Some(0.0) && Some(0.25) < compared["high"].as_f64(),
        "{compared}"
    );
    assert_eq!(api.get(&compare).await.expect(200).json(), compared, "the same each time");
    let pairs = api.pages(&compare, "pairs", 3).await;
    let gains: Vec<f64> = pairs.iter().map(|pair| pair["gain"].as_f64().unwrap()).collect();
    assert_eq!(gains, [-1.0, 0.0, 1.0, 1.0], "the greatest losses first");
    assert_eq!(pairs[0]["example_id"], results[3]["example_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_example_scores_zero_and_is_listed() {
    let (api, _) = api_with(&[]).await;
    upload(&api, "mixed", &[("a", "a"), ("bad", "bad"), ("b", "x"), ("c", "c")]).await;
    let evaluation = ended(&api, json!({"dataset": "mixed", "metric": "exact"})).await;
    assert_eq!(
        (&evaluation["status"], &evaluation["mean_score"]),
        (&json!("succeeded"), &json!(0.5))
    );
    assert_eq!(evaluation["counts"], json!({"total": 4, "done": 4, "failed": 1, "unmeasured": 0}));
    let results = path_of(&evaluation) + "/results";
    let failed = api.pages(&format!("{results}?failed=true"), "items", 50).await;
    assert_eq!(
        (failed.len(), &failed[0]["score"], &failed[0]["position"]),
        (1, &json!(0.0), &json!(1))
    );
    assert_eq!(
        (&failed[0]["outputs"], &failed[0]["error"]["code"]),
        (&Value::Null, &json!("lm_error"))
    );
    assert_eq!(
        (&failed[0]["error"]["status"], &failed[0]["error"]["node"]),
        (&json!(502), &json!("ask"))
    );
    let others = api.pages(&format!("{results}?failed=false"), "items", 50).await;
    assert_eq!(scores(&others), [1.0, 0.0, 1.0]);
    let worst = api.pages(&format!("{results}?order=worst"), "items", 1).await;
    let positions: Vec<_> = worst.iter().map(|item| item["position"].as_i64().unwrap()).collect();
    assert_eq!(positions, [1, 2, 0, 3], "the worst first, page by page");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_failures_end_an_evaluation_with_its_results() {
    let (api, lm) = api_with(&[]).await;
    // Their answers differ, so that they are two examples. The third would never end.
    let examples = [("a", "a"), ("bad", "1"), ("bad", "2"), ("slow", ""), ("b", "b")];
    upload(&api, "many", &examples).await;
    let body = json!({"dataset": "many", "metric": "exact", "max_errors": 1, "concurrency": 1});
    let stopped = ended(&api, body).await;
    assert_eq!((&stopped["status"], &stopped["error"]["status"]), (&json!("failed"), &json!(422)));
    assert_eq!(stopped["error"]["code"], "too_many_errors");
    assert_eq!(stopped["counts"], json!({"total": 5, "done": 3, "failed": 2, "unmeasured": 0}));
    let results = api.pages(&(path_of(&stopped) + "/results"), "items", 50).await;
    assert_eq!(scores(&results), [1.0, 0.0, 0.0]);
    assert_eq!(lm.requests().len(), 4, "it did not go on to the end");

    let few = json!({"dataset": "many", "limit": 3});
    let allowed = ended(&api, json!({"dataset": few, "metric": "exact", "max_errors": 2})).await;
    let counts = json!({"total": 3, "done": 3, "failed": 2, "unmeasured": 0});
    assert_eq!((&allowed["status"], &allowed["counts"]), (&json!("succeeded"), &counts));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_evaluation_stops_at_once_and_keeps_its_scores() {
    let (api, _) = api_with(&[]).await;
    upload(&api, "stuck", &[("a", "a"), ("slow", ""), ("b", "b"), ("c", "c")]).await;
    let body = json!({"dataset": "stuck", "metric": "exact", "concurrency": 2});
    let accepted = api.post(EVALUATIONS, body).await.expect(202).json();
    let path = path_of(&accepted);
    api.until(&path, |answer| answer.json()["counts"]["done"] == 3).await;
    api.post(&format!("{path}/cancel"), Value::Null).await.expect(200);
    let cancelled =
        api.until(&path, |answer| answer.json()["finished_at"].is_string()).await.json();
    assert_eq!(
        (&cancelled["status"], &cancelled["mean_score"]),
        (&json!("cancelled"), &json!(1.0))
    );
    assert_eq!(cancelled["counts"], json!({"total": 4, "done": 3, "failed": 0, "unmeasured": 0}));
    assert_eq!(
        api.post(&format!("{path}/cancel"), Value::Null).await.expect(409).code(),
        "run_finished"
    );
    let results = api.pages(&format!("{path}/results"), "items", 50).await;
    assert_eq!(results.len(), 3, "what was stopped has no result");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_evaluation_is_cancelled_at_once() {
    let (api, _) = api_with(&[("DSRS_WORKER_ENABLED", "false")]).await;
    upload_many(&api, "few", 3).await;
    let body = json!({"dataset": "few", "metric": "exact"});
    let accepted = api.post(EVALUATIONS, body.clone()).await.expect(202).json();
    assert_eq!((&accepted["status"], &accepted["mean_score"]), (&json!("queued"), &Value::Null));
    let cancelled =
        api.post(&(path_of(&accepted) + "/cancel"), Value::Null).await.expect(200).json();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(rows(&api, "jobs").await, 0);
    let other = api.post(EVALUATIONS, body).await.expect(202).json();
    let compare =
        format!("{}/comparison?against={}", path_of(&other), cancelled["id"].as_str().unwrap());
    let refused = api.get(&compare).await.expect(422);
    assert_eq!(refused.code(), "not_comparable");
    assert!(refused.text.contains("has a score (cancelled)"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_are_recorded_as_runs_on_request() {
    let (api, _) = api_with(&[]).await;
    upload(&api, "mixed", &[("a", "a"), ("bad", "bad")]).await;
    let body = json!({"dataset": "mixed", "metric": "exact", "record": true});
    let evaluation = ended(&api, body).await;
    let results = api.pages(&(path_of(&evaluation) + "/results"), "items", 50).await;
    let run = api.get(&format!("/v1/runs/{}", results[0]["run_id"].as_str().unwrap())).await;
    let run = run.expect(200).json();
    assert_eq!(
        (&run["inputs"], &run["outputs"]),
        (&json!({"question": "a"}), &json!({"answer": "a"}))
    );
    assert_eq!(run["trace"]["spans"].as_array().unwrap().len(), 3, "it can be looked into");
    let failed = api.get(&format!("/v1/runs/{}", results[1]["run_id"].as_str().unwrap())).await;
    assert_eq!(failed.expect(200).json()["status"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_dataset_is_evaluated_over_several_pages() {
    let (api, lm) = api_with(&[]).await;
    upload_many(&api, "many", 700).await;
    let part = json!({"dataset": "many", "seed": 3, "fractions": {"val": 0.5, "train": 0.5}, "split": "val"});
    let body = json!({"dataset": part, "metric": "exact"});
    let evaluation = ended(&api, body).await;
    let total = evaluation["counts"]["total"].as_u64().unwrap();
    assert!((250..450).contains(&total), "{total}");
    assert_eq!(
        (&evaluation["counts"]["done"], &evaluation["mean_score"]),
        (&json!(total), &json!(1.0))
    );
    assert_eq!(lm.requests().len() as u64, total);
    let results = api.pages(&(path_of(&evaluation) + "/results"), "items", 200).await;
    let positions: Vec<i64> =
        results.iter().map(|item| item["position"].as_i64().unwrap()).collect();
    assert!(positions.is_sorted() && positions.len() as u64 == total);
    let limited = json!({"dataset": {"dataset": "many", "limit": 5}, "metric": "exact"});
    let limited = ended(&api, limited).await;
    assert_eq!((&limited["counts"]["done"], &limited["dataset"]["limit"]), (&json!(5), &json!(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_of_a_request_are_reported_at_once() {
    let (api, lm) = api_with(&[]).await;
    upload_many(&api, "fine", 2).await;
    let odd = json!({"name": "odd", "examples": [
        {"inputs": {"question": "?"}, "expected": {"answer": "!"}},
        {"inputs": {"qestion": "?"}}, {"inputs": {"question": 7}, "expected": {"answer": []}}]});
    api.post("/v1/datasets", odd).await.expect(201);
    let cases = [
        (json!({"dataset": "fine"}), vec!["/metric missing_field"]),
        (json!({"metric": "exact"}), vec!["/dataset missing_field"]),
        (json!([]), vec![" wrong_type"]),
        (
            json!({"dataset": "fine", "metric": "exact", "concurrency": 65, "max_errors": -1,
                "timeout_ms": 0, "record": "yes", "colour": 1}),
            vec![
                "/timeout_ms invalid_value",
                "/concurrency invalid_value",
                "/max_errors invalid_value",
                "/record wrong_type",
                "/colour unknown_field",
            ],
        ),
        (
            json!({"dataset": "none", "metric": {"exact": {"field": "anser"}}}),
            vec!["/metric/exact/field unknown_field", "/dataset invalid_value"],
        ),
        (
            json!({"dataset": {"dataset": "fine", "split": "val"}, "metric": "exact"}),
            vec!["/dataset invalid_value"],
        ),
    ];
    for (body, errors) in cases {
        let refused = api.post(EVALUATIONS, body.clone()).await.expect(422);
        assert_eq!(
            (refused.code().as_str(), refused.errors()),
            ("invalid_request", errors.iter().map(|error| (*error).to_owned()).collect::<Vec<_>>()),
            "{body}"
        );
    }
    let refused =
        api.post(EVALUATIONS, json!({"dataset": "odd", "metric": "exct"})).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    let errors = refused.errors();
    for expected in [
        "/dataset/examples/1/inputs/question missing_field",
        "/dataset/examples/1/inputs/qestion unknown_field",
        "/dataset/examples/2/inputs/question wrong_type",
        "/dataset/examples/2/expected/answer wrong_type",
    ] {
        assert!(errors.iter().any(|error| error == expected), "no {expected} in {errors:?}");
    }
    assert!(errors[0].starts_with("/metric"), "{errors:?}");
    let nowhere = json!({"dataset": "fine", "metric": "exact"});
    assert_eq!(
        api.post("/v1/graphs/none/evaluations", nowhere).await.expect(404).code(),
        "not_found"
    );
    for table in ["evaluations", "jobs"] {
        assert_eq!(rows(&api, table).await, 0, "{table}");
    }
    assert_eq!(lm.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_waits_for_people_cannot_be_evaluated() {
    let (api, _) = api_with(&[]).await;
    upload_many(&api, "fine", 1).await;
    let node = json!({"strategy": "await", "signature": "question -> answer"});
    api.post("/v1/graphs", json!({"name": "w", "nodes": {"ask": node}})).await.expect(201);
    let body = json!({"dataset": "fine", "metric": "exact"});
    let refused = api.post("/v1/graphs/w/evaluations", body).await.expect(422);
    assert!(refused.text.contains("an example of an evaluation cannot"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_are_listed_and_unknown_ones_are_not_found() {
    let (api, _) = api_with(&[]).await;
    upload_many(&api, "fine", 2).await;
    upload(&api, "other", &[("a", "a")]).await;
    let body = json!({"dataset": "fine", "metric": "exact"});
    let first = ended(&api, body.clone()).await;
    let second = ended(&api, json!({"dataset": "other", "metric": "exact"})).await;
    let listed = api.pages("/v1/evaluations?graph=q", "items", 1).await;
    assert_eq!(
        texts(&listed, "id"),
        [second["id"].as_str().unwrap(), first["id"].as_str().unwrap()]
    );
    assert_eq!(api.pages("/v1/evaluations?graph=none", "items", 9).await.len(), 0);
    let compare =
        format!("{}/comparison?against={}", path_of(&second), first["id"].as_str().unwrap());
    let refused = api.get(&compare).await.expect(422);
    assert_eq!(refused.code(), "not_comparable");
    assert!(refused.text.contains("no example in common"), "{}", refused.text);

    let unknown = "/v1/evaluations/01a1fff2-a012-77fb-a882-dde992d84293";
    let against = format!("{}/comparison?against={}", path_of(&first), &unknown[16..]);
    for path in [unknown.to_owned(), format!("{unknown}/results"), against] {
        assert_eq!(api.get(&path).await.expect(404).code(), "not_found", "{path}");
    }
    assert_eq!(
        api.post(&format!("{unknown}/cancel"), Value::Null).await.expect(404).code(),
        "not_found"
    );
    for query in [
        "/results?order=best",
        "/results?failed=1",
        "/results?cursor=x",
        "/comparison",
        "/comparison?against=x",
    ] {
        let path = path_of(&first) + query;
        assert_eq!(api.get(&path).await.expect(400).code(), "invalid_parameter", "{path}");
    }
    let key = [("idempotency-key", "once")];
    let sent = || api.send(reqwest::Method::POST, EVALUATIONS, &key, Some(body.to_string()));
    let (one, same) = (sent().await, sent().await);
    assert_eq!(one.expect(202).json()["id"], same.expect(202).json()["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_receives_progress_and_the_end() {
    let (api, _) = api_with(&[]).await;
    upload(&api, "stuck", &[("a", "a"), ("slow", ""), ("b", "c")]).await;
    let body = json!({"dataset": "stuck", "metric": "exact", "concurrency": 2});
    let path = path_of(&api.post(EVALUATIONS, body).await.expect(202).json());
    api.until(&path, |answer| answer.json()["counts"]["done"] == 2).await;
    let follow = format!("{path}/events");
    let takes = [("accept", "text/event-stream")];
    let mut following = http_client().get(format!("{}{follow}", api.url)).send().await.unwrap();
    let mut events = following.chunk().await.unwrap().unwrap().to_vec();
    api.post(&format!("{path}/cancel"), Value::Null).await.expect(200);
    let reading = async {
        while let Some(chunk) = following.chunk().await.unwrap() {
            events.extend(chunk);
        }
    };
    within("the end of the events", reading).await;
    let events = String::from_utf8(events).unwrap();
    let cancelled = api.get(&path).await.expect(200);
    let progress =
        r#"{"status":"running","total":3,"done":2,"failed":0,"unmeasured":0,"mean_score":0.5}"#;
    let ended = cancelled.text;
    assert_eq!(
        events,
        format!(
            "event: evaluation.progress\ndata: {progress}\n\nevent: evaluation.cancelled\ndata: {ended}\n\n"
        )
    );
    let late = api.send(reqwest::Method::GET, &follow, &takes, None).await.expect(200).text;
    assert_eq!(late, format!("event: evaluation.cancelled\ndata: {ended}\n\n"));
    let json = [("accept", "application/json")];
    let refused = api.send(reqwest::Method::GET, &follow, &json, None).await.expect(406);
    assert_eq!(refused.code(), "not_acceptable");
}

#[tokio::test(flavor = "multi_thread")]
async fn parse_reports_are_part_of_results() {
    let lm = Arc::new(ScriptedLm::by(|_| ScriptedAnswer::from("[[ ## count ## ]]\n1,200")));
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> count: int")).await.expect(201);
    let example = json!({"inputs": {"question": "how many"}, "expected": {"count": 1200}});
    let body = json!({"name": "counts", "examples": [example]});
    api.post("/v1/datasets", body).await.expect(201);
    let evaluation = ended(&api, json!({"dataset": "counts", "metric": "exact"})).await;
    assert_eq!(evaluation["mean_score"], 1.0, "{evaluation}");
    let results = api.pages(&(path_of(&evaluation) + "/results"), "items", 3).await;
    let reports = &results[0]["parse_reports"];
    assert_eq!(reports["ask"][0]["field"], "count", "{reports}");
    assert!(reports["ask"][0]["kind"].is_string(), "{reports}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_that_cannot_store_results_stops_early() {
    let settings = [("DSRS_WORKER_LEASE", "1s"), ("DSRS_WORKER_ATTEMPTS", "2")];
    let (api, lm) = api_with(&settings).await;
    upload_many(&api, "many", 1500).await;
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    sqlx::raw_sql("alter table evaluation_results add check (position < 0)")
        .execute(&mut connection)
        .await
        .unwrap();
    let body = json!({"dataset": "many", "metric": "exact", "concurrency": 4});
    let evaluation = ended(&api, body).await;
    assert_eq!(evaluation["error"]["code"], "run_abandoned", "{evaluation}");
    assert!(lm.requests().len() < 1500, "{} requests", lm.requests().len());
}
