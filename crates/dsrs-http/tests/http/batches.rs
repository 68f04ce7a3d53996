//! `/v1/graphs/{graph}/batches` and `/v1/batches`: accepted, run, read out, cancelled.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, Remote, found, holds, one_node, test_database};

const BATCHES: &str = "/v1/graphs/q/batches";
const LINES: (&str, &str) = ("content-type", "application/jsonl");
const NO_WORKER: [(&str, &str); 1] = [("DSRS_WORKER_ENABLED", "false")];

/// Answers the question, but fails for `bad` and never answers `slow`.
fn echo() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked = request.chat.turns.iter().map(|turn| turn.content.to_string()).next_back();
        let asked = asked.unwrap_or_default();
        let question = asked.split("[[ ## question ## ]]\n").nth(1).unwrap_or_default();
        let question = question.lines().next().unwrap_or_default();
        match question {
            "bad" => ScriptedAnswer::fail(LmErrorKind::Refused, "no"),
            "slow" => ScriptedAnswer::from("").after(Duration::from_secs(3600)),
            _ => ScriptedAnswer::from(format!("[[ ## answer ## ]]\nre: {question}")),
        }
    })
}

async fn api_on(database: &str, settings: &[(&str, &str)]) -> (Api, Arc<ScriptedLm>) {
    let lm = Arc::new(echo());
    (Api::start(database, Some(lm.clone()), settings).await, lm)
}

async fn api() -> (Api, Arc<ScriptedLm>) {
    let (api, lm) = api_on(&test_database().await, &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    (api, lm)
}

fn questions<'q>(asked: impl IntoIterator<Item = &'q str>) -> Vec<Value> {
    asked.into_iter().map(|question| json!({"question": question})).collect()
}

fn numbered(count: usize) -> Vec<Value> {
    (0..count).map(|number| json!({"question": format!("number {number}")})).collect()
}

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| item.to_string() + "\n").collect()
}

async fn ended(api: &Api, accepted: &Answer) -> Value {
    let path = format!("/v1/batches/{}", accepted.json()["id"].as_str().unwrap());
    assert_eq!(accepted.header("location"), path);
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(&path, done).await.expect(200).json()
}

/// Every result, page by page.
async fn results(api: &Api, batch: &Value, limit: usize) -> Vec<Value> {
    let path = format!("/v1/batches/{}/results", batch["id"].as_str().unwrap());
    api.pages(&path, "items", limit).await
}

async fn rows(api: &Api, table: &str) -> i64 {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_run_separately_and_are_paged_in_order() {
    let (api, lm) = api().await;
    let body = json!({"items": numbered(23), "concurrency": 4, "timeout_ms": 60000});
    let accepted = api.post(BATCHES, body).await.expect(202);
    let queued = accepted.json();
    assert_eq!((&queued["status"], &queued["graph"]), (&json!("queued"), &json!("q")));
    assert_eq!((&queued["version"], &queued["concurrency"]), (&json!(1), &json!(4)));
    let batch = ended(&api, &accepted).await;
    assert_eq!((&batch["status"], &batch["error"]), (&json!("succeeded"), &Value::Null));
    let counts = json!({"total": 23, "pending": 0, "succeeded": 23, "failed": 0, "cancelled": 0});
    assert_eq!((&batch["counts"], &batch["usage"]["lm_calls"]), (&counts, &json!(23)));
    let found = results(&api, &batch, 7).await;
    for (number, result) in found.iter().enumerate() {
        assert_eq!((&result["index"], &result["status"]), (&json!(number), &json!("succeeded")));
        assert_eq!(result["outputs"]["answer"], format!("re: number {number}"));
        assert_eq!((&result["error"], &result["usage"]["lm_calls"]), (&Value::Null, &json!(1)));
    }
    assert_eq!((found.len(), lm.requests().len()), (23, 23));
    let run = api.get(&format!("/v1/runs/{}", found[5]["run_id"].as_str().unwrap())).await;
    let run = run.expect(200).json();
    assert_eq!(run["inputs"], json!({"question": "number 5"}));
    assert_eq!(run["trace"]["spans"].as_array().unwrap().len(), 3, "it can be looked into");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_item_does_not_affect_the_others() {
    let (api, _) = api().await;
    let items = questions(["one", "bad", "two"]);
    let accepted = api.post(BATCHES, json!({"items": items})).await.expect(202);
    let batch = ended(&api, &accepted).await;
    assert_eq!(batch["status"], "succeeded");
    assert_eq!((&batch["counts"]["succeeded"], &batch["counts"]["failed"]), (&json!(2), &json!(1)));
    let found = results(&api, &batch, 50).await;
    let statuses: Vec<_> = found.iter().map(|result| result["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["succeeded", "failed", "succeeded"]);
    let failed = &found[1];
    assert_eq!((&failed["outputs"], &failed["error"]["code"]), (&Value::Null, &json!("lm_error")));
    assert_eq!(
        (&failed["error"]["status"], &failed["error"]["node"]),
        (&json!(502), &json!("ask"))
    );
    assert_eq!(failed["error"]["run_id"], failed["run_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_uploaded_with_query_options_and_downloaded() {
    let (api, _) = api().await;
    let path = format!("{BATCHES}?version=1&concurrency=2");
    let items = lines(&numbered(120)) + "\n  \n" + r#"{"question": "bad"}"#;
    for content_type in ["application/jsonl", "application/x-ndjson; charset=utf-8"] {
        let headers = [("content-type", content_type)];
        let accepted = api.send(Method::POST, &path, &headers, Some(items.clone())).await;
        let batch = ended(&api, &accepted.expect(202)).await;
        assert_eq!((&batch["counts"]["total"], &batch["concurrency"]), (&json!(121), &json!(2)));
        let download = format!("/v1/batches/{}/results", batch["id"].as_str().unwrap());
        for accept in ["application/jsonl", "application/x-ndjson"] {
            let answer = api.send(Method::GET, &download, &[("accept", accept)], None).await;
            let answer = answer.expect(200);
            assert_eq!(answer.header("content-type"), "application/jsonl");
            let downloaded: Vec<Value> =
                answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(downloaded, results(&api, &batch, 200).await);
        }
    }
    let refused = api.get("/v1/runs").await.expect(200);
    assert_eq!(refused.header("content-type"), "application/json");
    let lines_only = [("accept", "application/jsonl")];
    assert_eq!(api.send(Method::GET, "/v1/runs", &lines_only, None).await.status, 406);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_items_are_refused_with_their_places_and_nothing_is_stored() {
    let (api, lm) = api().await;
    let mut items = numbered(1200);
    items[3] = json!({"qestion": "?"});
    items[700] = json!({"question": 7});
    items[1199] = json!(["?"]);
    let body = json!({"items": items, "timeout_ms": 0, "concurency": 3});
    let refused = api.post(BATCHES, body).await.expect(422);
    assert_eq!(refused.code(), "invalid_input");
    assert_eq!(
        refused.errors(),
        [
            "/timeout_ms invalid_value",
            "/concurency unknown_field",
            "/items/3/question missing_field",
            "/items/3/qestion unknown_field",
            "/items/700/question wrong_type",
            "/items/1199 wrong_type",
        ]
    );
    let text =
        "{\"question\": \"fine\"}\n\n{\"question\": \n{\"question\": \"a\", \"question\": 1}\n";
    let refused = api.send(Method::POST, BATCHES, &[LINES], Some(text.to_owned())).await;
    let errors = [
        "/items/1 invalid_value",
        "/items/2/question duplicate_name",
        "/items/2/question wrong_type",
    ];
    assert_eq!(refused.expect(422).errors(), errors);
    for table in ["batches", "batch_items", "batch_results", "jobs", "runs"] {
        assert_eq!(rows(&api, table).await, 0, "{table}");
    }
    assert_eq!(lm.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_batch_are_refused() {
    let (api, _) = api().await;
    let cases = [
        (json!({"items": []}), 422, vec!["/items invalid_value"]),
        (json!({"items": {"question": "?"}}), 422, vec!["/items wrong_type"]),
        (json!({"version": 1}), 422, vec!["/items missing_field"]),
        (json!([{"question": "?"}]), 422, vec![" wrong_type"]),
        (
            json!({"items": [{"question": "?"}], "concurrency": 33}),
            422,
            vec!["/concurrency invalid_value"],
        ),
        (json!({"items": [{"question": "?"}], "version": 7}), 404, vec![]),
    ];
    for (body, status, errors) in cases {
        let refused = api.post(BATCHES, &body).await.expect(status);
        assert_eq!(refused.errors(), errors, "{body}");
    }
    let broken = api.post(BATCHES, r#"{"items": [{"question": "?"}"#).await.expect(400);
    assert_eq!(broken.code(), "invalid_json");
    assert_eq!(
        api.post(&format!("{BATCHES}?version=1"), "{}").await.expect(400).code(),
        "invalid_parameter"
    );
    let query = format!("{BATCHES}?concurrency=33");
    let refused = api.send(Method::POST, &query, &[LINES], Some("{}".to_owned())).await;
    assert_eq!(refused.expect(400).code(), "invalid_parameter");
    let csv = [("content-type", "text/csv")];
    let refused = api.send(Method::POST, BATCHES, &csv, Some("a,b".to_owned())).await;
    assert_eq!(refused.expect(415).code(), "unsupported_media_type");
    let waits = json!({"name": "waits", "nodes": {
        "approve": {"strategy": "await", "signature": "question -> approved: bool"}}});
    api.post("/v1/graphs", waits).await.expect(201);
    let items = json!({"items": numbered(1)});
    let refused = api.post("/v1/graphs/waits/batches", items).await.expect(422);
    assert!(refused.json()["detail"].as_str().unwrap().contains("`approve` waits"));
    let many = json!({"items": vec![json!({}); 150]});
    let refused = api.post(BATCHES, many).await.expect(422).errors();
    assert_eq!((refused.len(), refused[100].as_str()), (101, "/items too_large"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_items_and_counts_have_separate_limits() {
    let limits = [
        ("DSRS_LIMITS_BODY_BYTES", "1KiB"),
        ("DSRS_LIMITS_BATCH_BYTES", "100KiB"),
        ("DSRS_LIMITS_BATCH_ITEMS", "60"),
    ];
    let (api, _) = api_on(&test_database().await, &limits).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let fifty = json!({"items": numbered(50)});
    assert!(fifty.to_string().len() > 1 << 10);
    ended(&api, &api.post(BATCHES, &fifty).await.expect(202)).await;
    let refused = api.post(BATCHES, json!({"items": numbered(61)})).await.expect(422);
    assert_eq!(refused.errors(), ["/items too_large"]);
    let long = questions(["fine", &"x".repeat(2000)]);
    let refused = api.post(BATCHES, json!({"items": long})).await.expect(422);
    assert_eq!(refused.errors(), ["/items/1 too_large"]);
    let refused = api.send(Method::POST, BATCHES, &[LINES], Some(lines(&long))).await.expect(422);
    assert_eq!(refused.errors(), ["/items/1 too_large"]);
    let refused = api.post(BATCHES, json!({"items": ["x".repeat(200 << 10)]})).await.expect(413);
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.batch_bytes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_with_the_same_key_is_the_same_batch() {
    let (api, lm) = api().await;
    let headers = [("idempotency-key", "k"), LINES];
    let start = |items: &[Value]| {
        let body = Some(lines(items));
        let api = &api;
        async move { api.send(Method::POST, BATCHES, &headers, body).await }
    };
    let (first, again) = (start(&numbered(3)).await.expect(202), start(&numbered(3)).await);
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&first.text, "true"));
    ended(&api, &first).await;
    assert_eq!(lm.requests().len(), 3);
    assert_eq!(start(&numbered(4)).await.expect(422).code(), "idempotency_key_reused");
    assert_eq!(
        api.get("/v1/batches").await.expect(200).json()["items"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_batch_retains_results_and_starts_no_more_items() {
    let database = test_database().await;
    let (back, lm) = api_on(&database, &[]).await;
    let (front, _) = api_on(&database, &NO_WORKER).await;
    front.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let items = questions(["one", "two", "slow", "slow", "never", "never"]);
    let body = json!({"items": items, "concurrency": 2});
    let accepted = front.post(BATCHES, body).await.expect(202).json();
    let path = format!("/v1/batches/{}", accepted["id"].as_str().unwrap());
    let two = |answer: &Answer| answer.json()["counts"]["succeeded"] == 2;
    let running = front.until(&path, two).await.json();
    assert_eq!((&running["status"], &running["counts"]["pending"]), (&json!("running"), &json!(4)));
    holds("four requests", || lm.requests().len() == 4).await;
    let wrong_noun = path.replace("batches", "runs") + "/cancel";
    assert_eq!(front.post(&wrong_noun, "").await.status, 404);
    front.post(&format!("{path}/cancel"), "").await.expect(200);
    let cancelled =
        front.until(&path, |answer| answer.json()["status"] == "cancelled").await.json();
    let counts = json!({"total": 6, "pending": 0, "succeeded": 2, "failed": 0, "cancelled": 4});
    assert_eq!(cancelled["counts"], counts);
    let found = results(&front, &cancelled, 50).await;
    let statuses: Vec<_> = found.iter().map(|result| result["status"].as_str().unwrap()).collect();
    assert_eq!(
        statuses,
        ["succeeded", "succeeded", "cancelled", "cancelled", "cancelled", "cancelled"]
    );
    assert_eq!((found[3]["run_id"].is_string(), &found[4]["run_id"]), (true, &Value::Null));
    let again = front.post(&format!("{path}/cancel"), "").await.expect(409);
    assert_eq!((again.code().as_str(), lm.requests().len()), ("run_finished", 4));
    back.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_batch_is_cancelled_at_once_and_listed() {
    let (front, _) = api_on(&test_database().await, &NO_WORKER).await;
    front.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let accepted = front.post(BATCHES, json!({"items": numbered(2)})).await.expect(202).json();
        ids.insert(0, accepted["id"].clone());
    }
    let path = format!("/v1/batches/{}", ids[1].as_str().unwrap());
    let waiting = results(&front, &json!({"id": ids[1]}), 1).await;
    let pending = json!({"index": 1, "status": "pending", "outputs": null, "error": null,
        "usage": null, "run_id": null});
    assert_eq!(waiting[1], pending);
    front.post(&format!("{path}/cancel"), "").await.expect(200);
    let first = front.get("/v1/batches?limit=2").await.expect(200).json();
    let next = format!("/v1/batches?cursor={}", first["next_cursor"].as_str().unwrap());
    let rest = front.get(&next).await.expect(200).json();
    let listed: Vec<_> = [&first, &rest]
        .iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|batch| (batch["id"].clone(), batch["status"].as_str().unwrap().to_owned()))
        .collect();
    let words = ["queued", "cancelled", "queued"].map(str::to_owned);
    assert_eq!(listed, ids.into_iter().zip(words).collect::<Vec<_>>());
    let missing = "/v1/batches/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    for path in [missing.to_owned(), format!("{missing}/results")] {
        assert_eq!(front.get(&path).await.expect(404).code(), "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_records_of_runs_there_are_results_all_the_same() {
    let (api, _) = api_on(&test_database().await, &[("DSRS_RUNS_RECORD", "off")]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let accepted = api.post(BATCHES, json!({"items": numbered(2)})).await.expect(202);
    let found = results(&api, &ended(&api, &accepted).await, 50).await;
    assert_eq!(found[1]["outputs"]["answer"], "re: number 1");
    assert_eq!((&found[1]["run_id"], rows(&api, "runs").await), (&Value::Null, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_dedupe_the_same_work_runs_once() {
    let (api, lm) = api().await;
    // Two nodes that differ only in their names, and another one.
    let node =
        |signature: &str| json!({"strategy": "predict", "signature": signature, "retries": 0});
    let graph = json!({
        "name": "q2",
        "nodes": {"a": node("question -> answer"), "b": node("question -> answer"),
            "c": node("question -> answer: str, note: str?")},
        "outputs": {"a": "a.answer", "b": "b.answer"}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let items = questions(["one", "two", "one", "one", "two", "bad", "bad", "one"]);
    let path = "/v1/graphs/q2/batches?dedupe=true&concurrency=8";
    let accepted = api.send(Method::POST, path, &[LINES], Some(lines(&items))).await.expect(202);
    assert_eq!(accepted.json()["dedupe"], true);
    let batch = ended(&api, &accepted).await;
    assert_eq!((&batch["counts"]["succeeded"], &batch["counts"]["failed"]), (&json!(6), &json!(2)));
    let asked = |question: &str| {
        let question = format!("[[ ## question ## ]]\n{question}\n");
        let text = |request: &dsrs::lm::LmRequest| -> String {
            request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
        };
        lm.requests().iter().filter(|request| text(request).contains(&question)).count()
    };
    assert_eq!((asked("one"), asked("two")), (2, 2), "once for `a` and `b`, once for `c`");
    assert_eq!(batch["usage"]["lm_calls"], 4, "work that is shared is paid once");
    let found = results(&api, &batch, 50).await;
    for (item, result) in items.iter().zip(&found).filter(|(item, _)| item["question"] != "bad") {
        let answer = format!("re: {}", item["question"].as_str().unwrap());
        assert_eq!(result["outputs"], json!({"a": answer, "b": answer}));
    }
    let mut shared = 0;
    for result in found.iter().filter(|result| result["status"] == "succeeded") {
        let run = api.get(&format!("/v1/runs/{}", result["run_id"].as_str().unwrap())).await.json();
        let spans = run["trace"]["spans"].as_array().unwrap().clone();
        shared += spans.iter().filter(|span| span["cached"] == true).count();
    }
    assert_eq!((shared, rows(&api, "batch_shares").await), (6 * 3 - 4, 0));
    let again = json!({"items": questions(["one", "one"])});
    ended(&api, &api.post("/v1/graphs/q2/batches", again).await.expect(202)).await;
    assert_eq!(asked("one"), 2 + 2 * 3, "what is not asked for is not done");
}

/// The database's clock is ahead of that of the server, as if the server's were wrong.
const CLOCK_AHEAD: &str = "
    create schema ahead; grant usage on schema ahead to public;
    create function ahead.clock_timestamp() returns timestamptz language sql
    as $$ select pg_catalog.clock_timestamp() + interval '100 days' $$;
    do $$ begin
        execute format('alter database %I set search_path = ahead, pg_catalog, public',
                       current_database());
    end $$";

#[tokio::test(flavor = "multi_thread")]
async fn the_age_of_a_run_is_measured_by_the_clock_of_the_database() {
    let database = test_database().await;
    let (api, _) = api_on(&database, &[("DSRS_RETENTION_RUNS", "90d")]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let executed = api.post("/v1/graphs/q/execute", json!({"inputs": {"question": "?"}})).await;
    let run = format!("/v1/runs/{}", executed.expect(200).json()["id"].as_str().unwrap());
    api.get(&run).await.expect(200);
    let mut connection = PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(CLOCK_AHEAD).execute(&mut connection).await.unwrap();
    let (ahead, _) = api_on(&database, &[("DSRS_RETENTION_RUNS", "90d")]).await;
    ahead.until(&run, |answer| answer.status == 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_are_removed_in_the_background() {
    let database = test_database().await;
    let (keeps, _) = api_on(&database, &[]).await;
    keeps.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let accepted = keeps.post(BATCHES, json!({"items": numbered(3)})).await.expect(202);
    ended(&keeps, &accepted).await;
    let executed = keeps.post("/v1/graphs/q/execute", json!({"inputs": {"question": "?"}})).await;
    let run = format!("/v1/runs/{}", executed.expect(200).json()["id"].as_str().unwrap());
    keeps.get(&run).await.expect(200);
    let (forgets, _) = api_on(&database, &[("DSRS_RETENTION_RUNS", "1s")]).await;
    for path in [run.as_str(), accepted.header("location")] {
        forgets.until(path, |answer| answer.status == 404).await;
    }
    for table in ["runs", "batches", "batch_items", "batch_results"] {
        found("no row", async || (rows(&keeps, table).await == 0).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_of_every_workspace_are_removed() {
    let database = test_database().await;
    let root = ("DSRS_API_KEYS", "root");
    let (api, _) = api_on(&database, &[root]).await;
    let admin = Remote::with_key(&api.url, "root");
    admin.post("/v1/workspaces", json!({"name": "second"})).await.expect(201);
    let key = json!({"name": "k", "scopes": ["admin"], "workspace": "second"});
    let key = admin.post("/v1/keys", key).await.expect(201).json();
    let key = key["key"].as_str().unwrap();
    let second = Remote::with_key(&api.url, key);
    second.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    let run = second.post("/v1/graphs/q/execute", asked).await.expect(200).json();
    let run = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    second.get(&run).await.expect(200);
    let (forgets, _) = api_on(&database, &[root, ("DSRS_RETENTION_RUNS", "1s")]).await;
    Remote::with_key(&forgets.url, key).until(&run, |answer| answer.status == 404).await;
    second.get("/v1/graphs/q").await.expect(200);
}
