//! The limits of keys, on one server and over several.

use std::sync::Arc;
use std::time::Instant;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, found, one_node, test_database, within};
use dsrs_test_api::friendly_lm;

const ROOT: [(&str, &str); 1] = [("DSRS_API_KEYS", "root")];

async fn send(api: &Api, key: &str, path: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {key}");
    let method = if body.is_some() { Method::POST } else { Method::GET };
    api.send(method, path, &[("authorization", &bearer)], body.map(|body| body.to_string())).await
}

/// A key with these limits.
async fn key(api: &Api, name: &str, limits: Value) -> String {
    let body = json!({"name": name, "scopes": ["read", "execute"], "limits": limits});
    let created = send(api, "root", "/v1/keys", Some(body)).await.expect(201).json();
    created["key"].as_str().unwrap().to_owned()
}

async fn with_graph(api: &Api) {
    let graph = one_node("ask", "question -> answer");
    send(api, "root", "/v1/graphs", Some(graph)).await.expect(201);
}

fn question() -> Option<Value> {
    Some(json!({"inputs": {"question": "why?"}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_over_its_requests_is_refused_until_the_minute_ends() {
    let api = Api::with_settings(&ROOT).await;
    let limited = key(&api, "slow", json!({"requests_per_minute": 5})).await;
    let (mut admitted, begun) = (0, Instant::now());
    let refused = within("a refusal", async {
        loop {
            let answer = send(&api, &limited, "/v1/graphs", None).await;
            assert_eq!(answer.header("ratelimit-policy"), "\"requests\";q=5;w=60");
            let left = answer.header("ratelimit").to_owned();
            assert!(left.starts_with("\"requests\";r=") && left.contains(";t="), "{left}");
            if answer.status != 200 {
                break answer.expect(429);
            }
            admitted += 1;
        }
    });
    let refused = refused.await;
    assert_eq!(refused.code(), "rate_limited");
    assert!(refused.text.contains("5 requests in a minute"), "{}", refused.text);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // Minutes end in between: one, or more on a slow machine.
    let minutes = 2 + begun.elapsed().as_secs() / 60;
    assert!((5..=5 * minutes).contains(&admitted), "{admitted} in {minutes} minutes");
    let free = send(&api, "root", "/v1/graphs", None).await.expect(200);
    assert_eq!(free.header("ratelimit"), "", "a key without limits is not counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_all_servers_count_together() {
    let database = test_database().await;
    let one = Api::start(&database, None, &ROOT).await;
    let other = Api::start(&database, None, &ROOT).await;
    let limited = key(&one, "both", json!({"requests_per_minute": 1000})).await;
    let is_counted = async || {
        // Only the first server is asked often; the other one learns of it. A minute may end in between.
        for _ in 0..50 {
            send(&one, &limited, "/v1/graphs", None).await;
        }
        let answer = send(&other, &limited, "/v1/graphs", None).await;
        let left = answer.header("ratelimit").split([';', '=']).nth(2).map(str::parse::<i64>);
        left.and_then(Result::ok).filter(|left| *left < 950)
    };
    found("the count of the other server", is_counted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_runs_only_as_many_at_a_time_as_it_may() {
    let database = test_database().await;
    let settings = [("DSRS_API_KEYS", "root"), ("DSRS_WORKER_ENABLED", "false")];
    let api = Api::start(&database, Some(Arc::new(friendly_lm())), &settings).await;
    with_graph(&api).await;
    let limited = key(&api, "single", json!({"concurrent_runs": 1})).await;
    // Without workers a background run stays queued.
    let run = send(&api, &limited, "/v1/graphs/ask/runs", question()).await.expect(202).json();
    for path in ["/v1/graphs/ask/execute", "/v1/graphs/ask/runs"] {
        let refused = send(&api, &limited, path, question()).await.expect(429);
        assert!(refused.text.contains("1 runs at a time"), "{}", refused.text);
    }
    let path = format!("/v1/runs/{}/cancel", run["id"].as_str().unwrap());
    send(&api, &limited, &path, Some(json!({}))).await.expect(200);
    admitted(&api, &limited).await;
    send(&api, &limited, "/v1/graphs/ask/execute", question()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_tokens_are_spent_reads_but_runs_nothing() {
    let database = test_database().await;
    let lm: Arc<ScriptedLm> = Arc::new(friendly_lm());
    let api = Api::start(&database, Some(lm), &ROOT).await;
    with_graph(&api).await;
    let limited = key(&api, "thrifty", json!({"tokens_per_day": 1})).await;
    let run = send(&api, &limited, "/v1/graphs/ask/execute", question()).await.expect(200).json();
    assert!(run["usage"]["output_tokens"].as_i64() > Some(0), "{run}");
    // What was spent is read about every second.
    let refused = refused(&api, &limited).await;
    assert_eq!(refused.code(), "budget_exhausted");
    assert!(refused.text.contains("1 tokens in a day"), "{}", refused.text);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=86_400).contains(&wait), "{wait}");
    assert!(refused.header("ratelimit").contains("\"tokens\";r=0;t="), "{:?}", refused.headers);
    send(&api, &limited, "/v1/runs", None).await.expect(200);
    // Another server reads it before it admits the first request.
    let other = Api::start(&database, None, &ROOT).await;
    send(&other, &limited, "/v1/graphs/ask/execute", question()).await.expect(402);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_starts_only_so_many_runs_in_a_minute() {
    let database = test_database().await;
    let api = Api::start(&database, Some(Arc::new(friendly_lm())), &ROOT).await;
    with_graph(&api).await;
    let limited = key(&api, "steady", json!({"runs_per_minute": 2})).await;
    // A minute may end in between: then more are admitted.
    let asked = async || {
        let answer = send(&api, &limited, "/v1/graphs/ask/execute", question()).await;
        assert_eq!(answer.header("ratelimit-policy"), "\"runs\";q=2;w=60");
        (answer.status != 200).then_some(answer)
    };
    let refused = found("a refusal", asked).await.expect(429);
    assert_eq!(refused.code(), "rate_limited");
    assert!(refused.text.contains("2 runs in a minute"), "{}", refused.text);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // Reading is no run, and neither are the runs of other keys.
    send(&api, &limited, "/v1/runs", None).await.expect(200);
    send(&api, "root", "/v1/graphs/ask/execute", question()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_money_is_spent_runs_nothing_until_the_next_day() {
    let database = test_database().await;
    let api = Api::start(&database, Some(Arc::new(friendly_lm())), &ROOT).await;
    with_graph(&api).await;
    let limited = key(&api, "thrifty", json!({"cost_per_day": 0.5})).await;
    send(&api, &limited, "/v1/graphs/ask/execute", question()).await.expect(200);
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let pay = "update key_spending set cost = 0.5 where actor like 'thrifty-%'";
    assert_eq!(sqlx::query(pay).execute(&mut connection).await.unwrap().rows_affected(), 1);
    let refused = refused(&api, &limited).await;
    assert!(refused.text.contains("0.5 of money in a day"), "{}", refused.text);
    // What was spent on another day does not count.
    let yesterday = "update key_spending set day = day - 1";
    sqlx::query(yesterday).execute(&mut connection).await.unwrap();
    admitted(&api, &limited).await;
}

/// Waits until an execution is admitted.
async fn admitted(api: &Api, key: &str) {
    let asked = async || {
        let answer = send(api, key, "/v1/graphs/ask/execute", question()).await;
        (answer.status == 200).then_some(())
    };
    found("an admission", asked).await;
}

/// The refusal of an execution, once what was spent is read.
async fn refused(api: &Api, key: &str) -> Answer {
    let asked = async || {
        let answer = send(api, key, "/v1/graphs/ask/execute", question()).await;
        (answer.status != 200).then_some(answer)
    };
    found("a refusal", asked).await.expect(402)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_spends_on_a_later_day_counts_then_and_for_the_key_that_resumes_it() {
    let database = test_database().await;
    let calls = std::sync::atomic::AtomicU32::new(0);
    let lm =
        ScriptedLm::by(move |_| match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => ScriptedAnswer::fail(LmErrorKind::Refused, "not today"),
            _ => ScriptedAnswer::from("[[ ## answer ## ]]\nfine"),
        });
    let api = Api::start(&database, Some(Arc::new(lm)), &ROOT).await;
    with_graph(&api).await;
    let first = key(&api, "first", json!({"tokens_per_day": 1})).await;
    let second = key(&api, "second", json!({"tokens_per_day": 1})).await;
    let run = send(&api, &first, "/v1/graphs/ask/runs", question()).await.expect(202).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    until_run(&api, &path, "failed").await;
    // The run is of a day before yesterday.
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let ago = "update runs set created_at = created_at - interval '2 days'";
    sqlx::query(ago).execute(&mut connection).await.unwrap();
    sqlx::query("update key_spending set day = day - 2").execute(&mut connection).await.unwrap();
    send(&api, &second, &format!("{path}/resume"), Some(json!({}))).await.expect(202);
    until_run(&api, &path, "succeeded").await;
    refused(&api, &second).await;
    let spent: i64 = sqlx::query_scalar(
        "select coalesce(sum(tokens), 0)::int8 from key_spending where actor like 'first-%'
           and day = (clock_timestamp() at time zone 'UTC')::date",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(spent, 0, "the key that started the run pays nothing for the resume");
}

async fn until_run(api: &Api, path: &str, status: &str) {
    let has_status = async || {
        let run = send(api, "root", path, None).await.expect(200).json();
        (run["status"] == status).then_some(())
    };
    found(status, has_status).await;
}
