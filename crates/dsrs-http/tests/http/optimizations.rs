//! `/v1/optimizers`, `/v1/graphs/{graph}/optimizations` and `/v1/optimizations`: refused with all that
//! is wrong, worked on, followed, cancelled, promoted.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Role, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, found, holds, one_node, test_database};

const START: &str = "/v1/graphs/q/optimizations";
const STATE: &str = "/v1/graphs/q/state";
const NO_WORKER: [(&str, &str); 1] = [("DSRS_WORKER_ENABLED", "false")];

/// Knows the answer to `qN?`, which is `aN`, once it is shown any worked example; says `?` before.
/// Never answers `slow`.
fn learns_from_demos() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let turns: Vec<_> = request.chat.messages().collect();
        let asked = turns.last().map(|turn| turn.content.to_string()).unwrap_or_default();
        let question = asked.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
        let number = question.trim_start_matches('q').split('?').next().unwrap_or_default();
        match turns.iter().any(|turn| turn.role == Role::Assistant) {
            _ if question.starts_with("slow") => {
                ScriptedAnswer::from("").after(Duration::from_secs(3600))
            }
            true => ScriptedAnswer::from(format!("[[ ## answer ## ]]\na{number}")),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\n?"),
        }
    })
}

fn examples(range: std::ops::Range<usize>) -> Vec<Value> {
    let example = |n| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    range.map(example).collect()
}

async fn dataset(api: &Api, name: &str, examples: Vec<Value>) {
    let body = json!({"name": name, "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
}

async fn api_with(settings: &[(&str, &str)]) -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(learns_from_demos());
    let api = Api::start(&test_database().await, Some(lm.clone()), settings).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    dataset(&api, "easy", examples(0..40)).await;
    (api, lm)
}

async fn api() -> (Api, Arc<ScriptedLm>) {
    api_with(&[]).await
}

fn few_shot(more: Value) -> Value {
    let mut body =
        json!({"optimizer": "labeled_few_shot", "trainset": "easy", "metric": "exact", "seed": 3});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn ended(api: &Api, accepted: &Answer) -> Value {
    let path = format!("/v1/optimizations/{}", accepted.json()["id"].as_str().unwrap());
    assert_eq!(accepted.header("location"), path);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(&path, done).await.expect(200).json()
}

async fn optimized(api: &Api, more: Value) -> Value {
    let accepted = api.post(START, few_shot(more)).await.expect(202);
    ended(api, &accepted).await
}

async fn active_state(api: &Api) -> i64 {
    api.get(STATE).await.expect(200).json()["version"].as_i64().unwrap()
}

async fn rows(api: &Api, table: &str) -> i64 {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn optimizers_are_listed_with_the_schemas_of_their_configs() {
    let api = Api::new().await;
    let page = api.get("/v1/optimizers?limit=200").await.expect(200).json();
    let names: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|found| found["name"].clone()).collect();
    assert!(names.contains(&json!("labeled_few_shot")), "{names:?}");
    let found = api.get("/v1/optimizers/labeled_few_shot").await.expect(200).json();
    assert_eq!(found["config_schema"]["properties"]["k"]["default"], 16);
    assert_eq!((&found["changes_graph"], found["description"].is_string()), (&json!(false), true));
    let missing = api.get("/v1/optimizers/labelled").await.expect(404);
    assert_eq!(missing.code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_candidate_is_measured_on_held_out_examples_and_stored_inactive() {
    let (api, lm) = api().await;
    let accepted = api.post(START, few_shot(json!({"config": {"k": 4}}))).await.expect(202);
    let queued = accepted.json();
    assert_eq!((&queued["status"], &queued["graph"]), (&json!("queued"), &json!("q")));
    assert_eq!(queued["examples"], json!({"train": 20, "val": 10, "held_out": 10}));
    assert_eq!(
        (&queued["metric"], &queued["trainset"]["version"]),
        (&json!({"exact": {}}), &json!(1))
    );
    let found = ended(&api, &accepted).await;
    assert_eq!((&found["status"], &found["error"]), (&json!("succeeded"), &Value::Null), "{found}");
    let result = &found["result"];
    assert_eq!(
        (&result["stopped"], &result["baseline"]),
        (&Value::Null, &json!({"score": 0.0, "n": 10}))
    );
    let best = &result["best"];
    assert_eq!(
        (&best["candidate"], &best["score"], &best["n"]),
        (&json!(1), &json!(1.0), &json!(10))
    );
    assert_eq!((&best["val"]["score"], &best["changes_graph"]), (&json!(1.0), &json!(false)));
    let gain = &result["comparison"];
    assert_eq!(
        (&gain["gain"], &gain["low"], &gain["wins"]),
        (&json!(1.0), &json!(1.0), &json!(10))
    );
    assert!(result["diff"]["text"].as_str().unwrap().contains("ask"), "{}", result["diff"]);
    assert_eq!(found["usage"]["lm_calls"], lm.requests().len());
    assert_eq!(lm.requests().len(), 30, "10 as it was, 10 to choose by, 10 of the best");

    assert_eq!((&found["found_state_version"], active_state(&api).await), (&json!(2), 1));
    assert_eq!(found["activation"]["activated"], false);
    let state = api.get(&format!("{STATE}/versions/2")).await.expect(200).json();
    assert_eq!(state["predictors"]["ask"]["demos"].as_array().unwrap().len(), 4);
    assert_eq!(state["author"], json!({"kind": "optimization", "id": found["id"]}));
    assert_eq!((&state["score"], &state["parent"]), (&json!(1.0), &json!(1)));
    assert_eq!(state["dataset_hash"], found["trainset"]["content_hash"]);
    // The worker removes the records once the end is stored.
    for table in ["optimization_purchases", "optimization_rollouts", "jobs"] {
        dsrs_test::found(table, async || (rows(&api, table).await == 0).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_are_listed_with_state_and_diff() {
    let (api, _) = api().await;
    let found = optimized(&api, json!({"config": {"k": 2}})).await;
    let path = found["links"]["candidates"].as_str().unwrap();
    let page = api.get(&format!("{path}?limit=1")).await.expect(200).json();
    assert_eq!(
        (&page["items"][0]["number"], &page["items"][0]["origin"]),
        (&json!(0), &json!("as it was"))
    );
    let next = page["next_cursor"].as_str().unwrap();
    let page = api.get(&format!("{path}?limit=1&cursor={next}")).await.expect(200).json();
    let item = &page["items"][0];
    assert_eq!((&item["number"], &item["parents"]), (&json!(1), &json!([0])));
    assert_eq!((&item["full"]["score"], &item["full"]["n"]), (&json!(1.0), &json!(10)));
    assert_eq!(page["next_cursor"], Value::Null);
    let one = api.get(&format!("{path}/1")).await.expect(200).json();
    assert_eq!(one["predictors"]["ask"]["demos"].as_array().unwrap().len(), 2);
    assert_eq!(
        one["diff"]["predictors"]["ask"]["demos"].as_array().map(Vec::len),
        Some(2),
        "{one}"
    );
    assert_eq!((&one["definition"], &one["diff"]["graph"]), (&Value::Null, &Value::Null));
    assert_eq!(api.get(&format!("{path}/7")).await.expect(404).code(), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certain_gain_is_activated_if_requested() {
    let (api, _) = api().await;
    let found = optimized(&api, json!({"activate": "if_better"})).await;
    let activation = &found["activation"];
    assert_eq!((&activation["activated"], &activation["state_version"]), (&json!(true), &json!(2)));
    assert_eq!(active_state(&api).await, 2);
    let moves = api.get(&format!("{STATE}/activations")).await.expect(200).json();
    assert_eq!(moves["items"][0]["author"], json!({"kind": "optimization", "id": found["id"]}));

    // It already answers everything, so no other can be certainly better.
    let again = optimized(&api, json!({"activate": "if_better", "seed": 4})).await;
    assert_eq!((&again["activation"]["activated"], active_state(&api).await), (&json!(false), 2));
    let why = again["activation"]["reason"].as_str().unwrap();
    assert!(why.contains("does not exclude"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_activates_the_result_unless_another_state_is_active() {
    let (api, _) = api().await;
    let first = optimized(&api, json!({})).await;
    let other = json!({"predictors": {"ask": {"instruction": "Be brief."}}});
    let tag = api.put(STATE, other).await.expect(200).header("etag").to_owned();
    let path = format!("{}/activate", first["links"]["self"].as_str().unwrap());
    let refused = api.post(&path, "").await.expect(412);
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("state version 3"),
        "{}",
        refused.text
    );
    let stale = [("if-match", "\"another\"")];
    api.send(Method::POST, &path, &stale, None).await.expect(412);
    let seen = [("if-match", tag.as_str())];
    let put = api.send(Method::POST, &path, &seen, None).await.expect(200).json();
    assert_eq!(put["activation"]["reason"], "a client activated it");
    assert_eq!((&put["activation"]["state_version"], active_state(&api).await), (&json!(2), 2));

    let graph = one_node("q", "question -> answer: str, sure: bool");
    api.put("/v1/graphs/q", graph).await.expect(200);
    let moved = api.send(Method::POST, &path, &seen, None).await.expect(412);
    assert!(moved.json()["detail"].as_str().unwrap().contains("version 2"), "{}", moved.text);
}

/// Knows the answer to `qN?` where it may think first.
fn thinks() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let turns: Vec<_> = request.chat.messages().collect();
        let asked = turns.last().map(|turn| turn.content.to_string()).unwrap_or_default();
        let question = asked.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
        let number = question.trim_start_matches('q').split('?').next().unwrap_or_default();
        match turns.iter().any(|turn| turn.content.contains("[[ ## reasoning ## ]]")) {
            true => format!("[[ ## reasoning ## ]]\nWell.\n\n[[ ## answer ## ]]\na{number}"),
            false => "[[ ## answer ## ]]\n?".to_owned(),
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_better_graph_becomes_a_version_when_activated() {
    let lm = Arc::new(thinks());
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    dataset(&api, "easy", examples(0..40)).await;
    let config = json!({"strategies": ["chain_of_thought"], "moves": ["strategy"], "rounds": 1});
    let search = |activate: &str| {
        json!({"optimizer": "strategy_search", "config": config, "trainset": "easy",
               "metric": "exact", "seed": 3, "activate": activate})
    };
    let accepted = api.post(START, search("never")).await.expect(202);
    let found = ended(&api, &accepted).await;
    assert_eq!((&found["status"], &found["error"]), (&json!("succeeded"), &Value::Null), "{found}");
    assert_eq!(found["result"]["best"]["changes_graph"], true, "{}", found["result"]);
    assert_eq!(found["found_state_version"], Value::Null);
    assert!(found["result"]["diff"].to_string().contains("chain_of_thought"));
    let graph = api.get("/v1/graphs/q").await.expect(200).json();
    assert_eq!(
        (&graph["version"], &graph["nodes"]["ask"]["strategy"]),
        (&json!(1), &json!("predict"))
    );

    let put = format!("/v1/optimizations/{}/activate", found["id"].as_str().unwrap());
    let put = api.post(&put, json!({})).await.expect(200).json();
    assert_eq!(put["activation"]["graph_version"], 2, "{put}");
    let graph = api.get("/v1/graphs/q").await.expect(200).json();
    let strategy = &graph["nodes"]["ask"]["strategy"];
    assert_eq!((&graph["version"], strategy), (&json!(2), &json!("chain_of_thought")));
    let state = api.get(STATE).await.expect(200).json();
    assert_eq!(state["author"], json!({"kind": "optimization", "id": found["id"]}), "{state}");
    let run = api.post("/v1/graphs/q/execute", json!({"inputs": {"question": "q7?"}})).await;
    assert_eq!(run.expect(200).json()["outputs"]["answer"], "a7");

    let plain = api.put("/v1/graphs/q", one_node("q", "question -> answer")).await;
    assert_eq!(plain.expect(200).json()["version"], 3);
    let accepted = api.post(START, search("if_better")).await.expect(202);
    let again = ended(&api, &accepted).await;
    assert_eq!(again["activation"]["activated"], true, "{}", again["activation"]);
    let graph = api.get("/v1/graphs/q").await.expect(200).json();
    let strategy = &graph["nodes"]["ask"]["strategy"];
    assert_eq!((&graph["version"], strategy), (&json!(4), &json!("chain_of_thought")));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_of_a_request_are_reported_and_nothing_is_stored() {
    let (api, _) = api().await;
    dataset(&api, "few", examples(0..3)).await;
    let wrong = json!([{"inputs": {"answer": "q1?"}, "expected": {"answer": "a1"}}]);
    dataset(&api, "wrong", wrong.as_array().unwrap().clone()).await;
    let body = json!({
        "optimizer": "labeled_fewshot", "trainset": {"dataset": "none"}, "valset": "wrong",
        "metric": {"exact": {"field": "anser"}}, "config": {}, "budget": {"lm_calls": 0, "cost": -1},
        "activate": "always", "concurrency": 100_000, "prompt_model": "huge", "sed": 1
    });
    let refused = api.post(START, body).await.expect(422);
    let errors = refused.errors();
    for wanted in [
        "/budget/lm_calls invalid_value",
        "/budget/cost invalid_value",
        "/activate invalid_value",
        "/concurrency invalid_value",
        "/sed unknown_field",
        "/optimizer invalid_value",
        "/prompt_model unknown_model",
        "/trainset invalid_value",
    ] {
        assert!(errors.iter().any(|error| error == wanted), "{wanted} is not in {errors:?}");
    }
    assert!(errors.iter().any(|error| error.starts_with("/metric/exact")), "{errors:?}");
    assert!(errors.iter().any(|error| error.starts_with("/valset/examples/0")), "{errors:?}");
    let missing = api.post(START, json!({"config": {"k": 0}})).await.expect(422).errors();
    for name in ["optimizer", "metric", "trainset"] {
        assert!(missing.contains(&format!("/{name} missing_field")), "{missing:?}");
    }
    let few = api.post(START, few_shot(json!({"trainset": "few"}))).await.expect(422);
    assert_eq!(few.errors(), ["/trainset invalid_value"]);
    let config = api.post(START, few_shot(json!({"config": {"k": 0, "n": 1}}))).await.expect(422);
    assert!(config.errors().contains(&"/config/k invalid_config".to_owned()), "{}", config.text);
    let cost = api.post(START, few_shot(json!({"budget": {"cost": 1.5}}))).await.expect(422);
    assert_eq!(cost.errors(), ["/budget/cost invalid_value"]);
    assert_eq!(rows(&api, "optimizations").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_ends_with_the_best_candidate_so_far() {
    let (api, lm) = api().await;
    let found = optimized(&api, json!({"budget": {"lm_calls": 16}})).await;
    assert_eq!((&found["status"], lm.requests().len() <= 16), (&json!("succeeded"), true));
    assert_eq!(found["usage"]["lm_calls"], lm.requests().len());
    let stopped = &found["result"]["stopped"];
    assert_eq!((&stopped["reason"], &stopped["limit"]), (&json!("budget"), &json!("lm_calls")));
    assert_eq!(found["result"]["best"]["candidate"], 0, "it was not tried on all examples");
    let path = format!("{}/activate", found["links"]["self"].as_str().unwrap());
    assert_eq!(api.post(&path, "").await.expect(409).code(), "nothing_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_can_be_followed_from_any_event() {
    let (api, _) = api().await;
    let found = optimized(&api, json!({})).await;
    let path = found["links"]["events"].as_str().unwrap();
    let read = async |headers: &[(&str, &str)]| {
        api.send(Method::GET, path, headers, None).await.expect(200).text
    };
    let events = ["started", "phase", "candidate", "scored", "progress", "completed"];
    let all = read(&[("accept", "text/event-stream")]).await;
    for event in events {
        assert!(all.contains(&format!("event: optimization.{event}\n")), "{event} is not in {all}");
    }
    let last = all.rsplit("data: ").next().unwrap().trim();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["id"], found["id"]);
    let seen = all.split("\n\n").find(|event| event.contains("optimization.scored")).unwrap();
    let id = seen.split("id: ").nth(1).unwrap().lines().next().unwrap();
    let rest = read(&[("accept", "text/event-stream"), ("last-event-id", id)]).await;
    assert!(all.ends_with(&rest) && rest.len() < all.len(), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_optimization_retains_its_best_candidate() {
    let (api, lm) = api().await;
    let slow = json!({"inputs": {"question": "slow"}, "expected": {"answer": "never"}});
    dataset(&api, "slow", [vec![slow], examples(50..60)].concat()).await;
    let more = json!({"testset": "slow", "valset": {"dataset": "easy", "limit": 10}});
    let accepted = api.post(START, few_shot(more)).await.expect(202);
    let own = accepted.header("location").to_owned();
    // All but the slow one have ended.
    let have_ended = async || (rows(&api, "optimization_rollouts").await == 10).then_some(());
    found("ten rollouts", have_ended).await;
    holds("the slow request", || lm.requests().len() == 11).await;
    api.post(&format!("{own}/cancel"), "").await.expect(200);
    let cancelled = ended(&api, &accepted).await;
    assert_eq!((&cancelled["status"], &cancelled["error"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(cancelled["result"]["stopped"]["reason"], "cancelled");
    assert_eq!(cancelled["result"]["baseline"]["n"], 10);
    assert_eq!(api.post(&format!("{own}/cancel"), "").await.expect(409).code(), "run_finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_optimization_is_cancelled_at_once() {
    let (api, lm) = api_with(&NO_WORKER).await;
    let first = api.post(START, few_shot(json!({}))).await.expect(202).json();
    let second = api.post(START, few_shot(json!({"seed": 4}))).await.expect(202).json();
    let own = second["links"]["self"].as_str().unwrap();
    let unfinished = api.post(&format!("{own}/activate"), "").await.expect(409);
    assert_eq!(unfinished.code(), "run_unfinished");
    let cancelled = api.post(&format!("{own}/cancel"), "").await.expect(200).json();
    assert_eq!(
        (&cancelled["status"], &cancelled["found_state_version"]),
        (&json!("cancelled"), &Value::Null)
    );
    let page = api.get("/v1/optimizations?graph=q").await.expect(200).json();
    let ids: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect();
    assert_eq!((ids, lm.requests().len()), (vec![second["id"].clone(), first["id"].clone()], 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_with_the_same_key_starts_nothing() {
    let (api, _) = api_with(&NO_WORKER).await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let body = || Some(few_shot(json!({})).to_string());
    let first = api.send(Method::POST, START, &headers, body()).await.expect(202).json();
    let again = api.send(Method::POST, START, &headers, body()).await.expect(202).json();
    assert_eq!((again["id"].clone(), rows(&api, "optimizations").await), (first["id"].clone(), 1));
}

async fn sql(api: &Api, statements: &'static str) {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    sqlx::raw_sql(statements).execute(&mut connection).await.unwrap();
}

/// The number of activations by optimizations.
async fn put_by_optimizations(api: &Api) -> usize {
    let moves = api.get(&format!("{STATE}/activations")).await.expect(200).json();
    let moves = moves["items"].as_array().unwrap().iter();
    moves.filter(|found| found["author"]["kind"] == "optimization").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_attempt_does_not_revert_a_rollback() {
    let settings = [("DSRS_WORKER_LEASE", "1s"), ("DSRS_WORKER_ATTEMPTS", "100")];
    let (api, _) = api_with(&settings).await;
    // As if every server were killed between the activation and the end of the optimization.
    sql(
        &api,
        "create function no_end() returns trigger language plpgsql as
         $$ begin raise exception 'not now'; end $$;
         create trigger no_end before update on optimizations for each row
             when (new.status = 'succeeded') execute function no_end();",
    )
    .await;
    let accepted = api.post(START, few_shot(json!({"activate": "if_better"}))).await.expect(202);
    api.until(STATE, |answer| answer.json()["version"] == 2).await;
    api.post(&format!("{STATE}/versions/1/activate"), "").await.expect(200);
    sql(&api, "drop trigger no_end on optimizations").await;
    let found = ended(&api, &accepted).await;
    assert_eq!((active_state(&api).await, put_by_optimizations(&api).await), (1, 1), "{found}");
    let activation = &found["activation"];
    assert_eq!((&activation["activated"], &activation["state_version"]), (&json!(true), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_without_the_lease_activates_nothing() {
    let (api, _) = api_with(&[("DSRS_WORKER_LEASE", "1s")]).await;
    // Another worker takes the lease once the result is stored, and a client cancels: an engine that makes the next attempt
    // at once finds it cancelled.
    sql(
        &api,
        "create function steal() returns trigger language plpgsql as $$ begin
             update jobs set holder = gen_random_uuid(), cancelled = true,
                             lease_until = clock_timestamp() + interval '1 hour'
             where id = new.optimization_id;
             return new;
         end $$;
         create trigger steal after insert on state_versions for each row
             when (new.optimization_id is not null) execute function steal();",
    )
    .await;
    let accepted = api.post(START, few_shot(json!({"activate": "if_better"}))).await.expect(202);
    api.until(&format!("{STATE}/versions/2"), |answer| answer.status == 200).await;
    sql(&api, "update jobs set lease_until = clock_timestamp()").await;
    let found = ended(&api, &accepted).await;
    assert_eq!(found["status"], "cancelled");
    assert_eq!((active_state(&api).await, put_by_optimizations(&api).await), (1, 0), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_of_an_invalid_graph_can_be_cancelled() {
    let (api, _) = api_with(&NO_WORKER).await;
    let accepted = api.post(START, few_shot(json!({}))).await.expect(202).json();
    sql(&api, "update graph_versions set definition = '{}', content_hash = 'another'").await;
    let cancel = format!("{}/cancel", accepted["links"]["self"].as_str().unwrap());
    let cancelled = api.post(&cancel, "").await.expect(200).json();
    assert_eq!((&cancelled["status"], &cancelled["result"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(rows(&api, "jobs").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gain_on_a_handful_of_examples_is_not_certain() {
    let (api, _) = api().await;
    dataset(&api, "few", examples(0..20)).await;
    let found = optimized(&api, json!({"trainset": "few", "activate": "if_better"})).await;
    let result = &found["result"];
    assert_eq!(
        (&result["comparison"]["n"], &result["comparison"]["low"]),
        (&json!(5), &json!(1.0))
    );
    assert_eq!((&found["activation"]["activated"], active_state(&api).await), (&json!(false), 1));
    let why = found["activation"]["reason"].as_str().unwrap();
    assert!(why.contains("fewer than 6 examples"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_no_longer_fit_into_memory_are_not_paid_for_again() {
    // Six of these exceed the available amount.
    let long = "x".repeat(12 << 20);
    let lm = Arc::new(ScriptedLm::by(move |request| {
        let turns: Vec<_> = request.chat.messages().collect();
        let system = turns.first().map(|turn| turn.content.to_string()).unwrap_or_default();
        let shown = turns.iter().any(|turn| turn.role == Role::Assistant);
        match (system.contains("[[ ## note ## ]]"), shown) {
            (true, _) => ScriptedAnswer::from(format!("[[ ## note ## ]]\n{long}")),
            (false, true) => ScriptedAnswer::from("[[ ## answer ## ]]\nyes"),
            (false, false) => ScriptedAnswer::from("[[ ## answer ## ]]\nno"),
        }
    }));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    let nodes = json!({"name": "q", "nodes": {
        "ask": {"strategy": "predict", "signature": "question -> answer"},
        "jot": {"strategy": "predict", "signature": "question -> note"}
    }});
    api.post("/v1/graphs", nodes).await.expect(201);
    let yes = |n| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": "yes"}});
    dataset(&api, "easy", (0..3).map(yes).collect()).await;
    dataset(&api, "test", (10..16).map(yes).collect()).await;
    let more = json!({"testset": "test", "metric": {"exact": {"field": "answer"}}});
    let found = optimized(&api, more).await;
    assert_eq!(found["result"]["best"]["candidate"], 1, "{found}");
    let asked = lm.requests();
    let distinct: std::collections::HashSet<_> =
        asked.iter().map(|request| format!("{:?}", request.chat)).collect();
    assert_eq!(asked.len(), distinct.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_an_unknown_kind_waits_and_does_not_block_others() {
    let (api, lm) = api_with(&NO_WORKER).await;
    let unknown = api.post(START, few_shot(json!({}))).await.expect(202);
    let dream = "alter table jobs drop constraint jobs_kind_check; update jobs set kind = 'dream'";
    sql(&api, dream).await;
    let known = api.post(START, few_shot(json!({}))).await.expect(202);
    let settings = [("DSRS_WORKER_ATTEMPTS", "1"), ("DSRS_WORKER_CONCURRENCY", "1")];
    let worker = Api::start(&api.database, Some(lm), &settings).await;
    let found = ended(&worker, &known).await;
    assert_eq!(found["status"], "succeeded", "{found}");
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let untouched = "select count(*) from jobs
                     where kind = 'dream' and holder is null and attempts = 0";
    let count: i64 = sqlx::query_scalar(untouched).fetch_one(&mut connection).await.unwrap();
    assert_eq!(count, 1, "no worker has claimed it");
    sql(&api, "update jobs set kind = 'optimization'").await;
    let found = ended(&worker, &unknown).await;
    assert_eq!(found["status"], "succeeded", "{found}");
}
