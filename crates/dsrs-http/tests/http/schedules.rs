//! `/v1/schedules`: created, checked, changed, fired; their firings.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, found, one_node, test_database};

/// Answers, and hangs for `slow`.
fn lm() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let asked = request.chat.messages().map(|turn| turn.content.to_string());
        match asked.last().unwrap_or_default().contains("slow") {
            true => ScriptedAnswer::from("").after(Duration::from_secs(3600)),
            false => ScriptedAnswer::from("[[ ## answer ## ]]\na"),
        }
    })
}

async fn api_with(settings: &[(&str, &str)]) -> Api {
    let api = Api::start(&test_database().await, Some(Arc::new(lm())), settings).await;
    let key = settings.iter().find(|(name, _)| *name == "DSRS_API_KEYS");
    if key.is_none() {
        api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    }
    api
}

fn schedule(name: &str, more: Value) -> Value {
    let mut body = json!({
        "name": name, "cron": "0 0 1 1 *", "graph": "q", "target": "run",
        "request": {"inputs": {"question": "?"}}
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn create(api: &Api, name: &str, more: Value) -> Value {
    api.post("/v1/schedules", schedule(name, more)).await.expect(201).json()
}

fn path_of(schedule: &Value) -> String {
    format!("/v1/schedules/{}", schedule["id"].as_str().unwrap())
}

/// Pretends that the next time of every schedule was some time ago.
async fn set_back(api: &Api, ago: &str) {
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let sql =
        format!("update schedules set next_at = date_trunc('second', now() - interval '{ago}')");
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

/// The firings of a schedule, newest first, once there are some and a condition holds.
async fn firings(api: &Api, schedule: &Value, done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let path = format!("{}/firings", path_of(schedule));
    let items = |answer: &Answer| answer.json()["items"].as_array().unwrap().clone();
    items(&api.until(&path, |answer| done(&items(answer))).await)
}

fn none_waits(firings: &[Value]) -> bool {
    !firings.is_empty() && firings.iter().all(|firing| firing["status"] != "pending")
}

/// A time in an answer.
fn time_of(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_time_zones_in_postgres_decide_nothing() {
    let database = test_database().await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let name = database.rsplit('/').next().unwrap().split('?').next().unwrap();
    let sql = format!(r#"alter database "{name}" set timezone to 'America/Vancouver'"#);
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    let api = Api::start(&database, Some(Arc::new(lm())), &[]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    let zone = json!({"cron": "0 0 * * *", "time_zone": "America/Vancouver"});
    let schedule = create(&api, "midnight", zone).await;
    let next: Vec<DateTime<Utc>> =
        schedule["next"].as_array().unwrap().iter().map(time_of).collect();
    assert!(next.iter().all(|time| time.format("%T").to_string() == "07:00:00"), "{next:?}");
    let body = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/q/execute", body).await.expect(200).json();
    let created = time_of(&run["created_at"]);
    let day = created.format("%FT00:00:00").to_string();
    // The day of the schedule, from its instants, and the day of UTC.
    let begin = if created < next[0] { next[0] - TimeDelta::days(1) } else { next[0] };
    let instant = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
    let path = format!(
        "/v1/usage?interval=day&since={}&until={}",
        instant(begin),
        instant(begin + TimeDelta::days(1))
    );
    let items = api.get(&path).await.expect(200).json()["items"].clone();
    assert_eq!((items.as_array().unwrap().len(), &items[0]["runs"]), (1, &json!(1)), "{items}");
    assert!(items[0]["start"].as_str().unwrap().starts_with(&day), "{items} is not of {day}");
    let before =
        format!("/v1/usage?since={}&until={}", instant(begin - TimeDelta::days(1)), instant(begin));
    assert_eq!(api.get(&before).await.expect(200).json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_starts_work_of_every_kind_at_its_time() {
    let api = api_with(&[]).await;
    let example = |question| json!({"inputs": {"question": question}, "expected": {"answer": "a"}});
    let examples: Vec<Value> = ["a", "b", "c", "d", "e", "f"].map(example).into();
    api.post("/v1/datasets", json!({"name": "easy", "examples": examples})).await.expect(201);
    let work = [
        ("run", "runs", json!({"inputs": {"question": "?"}})),
        ("batch", "batches", json!({"items": [{"question": "a"}, {"question": "b"}]})),
        ("evaluation", "evaluations", json!({"dataset": "easy", "metric": "exact"})),
        (
            "optimization",
            "optimizations",
            json!({"optimizer": "labeled_few_shot", "trainset": "easy", "metric": "exact"}),
        ),
    ];
    let mut schedules = Vec::new();
    for (target, _, request) in &work {
        let more = json!({"target": target, "request": request});
        schedules.push(create(&api, target, more).await);
    }
    for (target, collection, _) in &work {
        let rows = api.get(&format!("/v1/{collection}")).await.expect(200).json();
        assert_eq!(rows["items"], json!([]), "checking a {target} stores none");
    }
    set_back(&api, "1 second").await;
    for ((target, collection, _), schedule) in work.iter().zip(&schedules) {
        let fired = firings(&api, schedule, none_waits).await;
        assert_eq!(
            (fired.len(), &fired[0]["status"]),
            (1, &json!("succeeded")),
            "{target}: {fired:?}"
        );
        let started = format!("/v1/{collection}/{}", fired[0]["work_id"].as_str().unwrap());
        let ended =
            |answer: &Answer| answer.status == 200 && answer.json()["finished_at"].is_string();
        assert_eq!(api.until(&started, ended).await.json()["status"], "succeeded", "{target}");
        let rows = api.get(&format!("/v1/{collection}")).await.expect(200).json();
        if *collection != "runs" {
            assert_eq!(rows["items"].as_array().unwrap().len(), 1);
        }
    }
    let counted = r#"dsrs_schedule_firings_total{outcome="started"} 4"#;
    api.until("/metrics", |answer: &Answer| answer.text.contains(counted)).await;
    let read = api.get(&path_of(&schedules[0])).await.expect(200).json();
    assert_eq!(read["next"].as_array().unwrap().len(), 5);
    assert!(read["next"][0].as_str().unwrap().ends_with("-01-01T00:00:00Z"), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_checked_as_its_request_is_and_stores_nothing_invalid() {
    let api = api_with(&[]).await;
    let wrong = json!({"cron": "61 * * * *", "time_zone": "Mars/Base", "overlap": "x", "catch_up": 1,
                       "request": {"inputs": {"question": 1}, "x": 1}, "more": 1});
    let mut errors = api.post("/v1/schedules", schedule("a b", wrong)).await.expect(422).errors();
    errors.sort();
    assert_eq!(
        errors,
        [
            "/catch_up wrong_type",
            "/cron invalid_value",
            "/more unknown_field",
            "/name invalid_name",
            "/overlap invalid_value",
            "/request/inputs/question wrong_type",
            "/request/x unknown_field",
            "/time_zone invalid_value",
        ]
    );
    let wrong = json!({"cron": "61 * * * *", "target": "walk", "graph": "none", "request": []});
    let mut errors = api.post("/v1/schedules", schedule("s", wrong)).await.expect(422).errors();
    errors.sort();
    let expected = [
        "/cron invalid_value",
        "/graph invalid_value",
        "/request wrong_type",
        "/target invalid_value",
    ];
    assert_eq!(errors, expected);
    let mut errors = api.post("/v1/schedules", json!({})).await.expect(422).errors();
    errors.sort();
    let expected = ["cron", "graph", "name", "request", "target"];
    assert_eq!(errors, expected.map(|member| format!("/{member} missing_field")));
    for (more, code, error) in [
        (json!({"cron": "0 0 30 2 *"}), "invalid_request", "/cron invalid_value"),
        (
            json!({"request": {"inputs": {}}}),
            "invalid_input",
            "/request/inputs/question missing_field",
        ),
        (
            json!({"request": {"inputs": {"question": "?"}, "x": 1}}),
            "invalid_request",
            "/request/x unknown_field",
        ),
        (
            json!({"target": "evaluation", "request": {"dataset": "none", "metric": "exact"}}),
            "invalid_request",
            "/request/dataset invalid_value",
        ),
    ] {
        let refused = api.post("/v1/schedules", schedule("s", more)).await.expect(422);
        assert_eq!((refused.code(), refused.errors()), (code.to_owned(), vec![error.to_owned()]));
    }
    let refused = api.post(
        "/v1/schedules",
        schedule("s", json!({"request": {"inputs": {"question": "?"}, "version": 9}})),
    );
    refused.await.expect(404);
    let one = create(&api, "s", json!({})).await;
    assert_eq!(
        api.post("/v1/schedules", schedule("s", json!({}))).await.expect(409).code(),
        "already_exists"
    );
    let refused = api
        .patch(&path_of(&one), json!({"request": {"inputs": {"question": 1}}}))
        .await
        .expect(422);
    assert_eq!(refused.errors(), ["/request/inputs/question wrong_type"]);
    let zone = json!({"cron": "30 2 * * *", "time_zone": "Europe/Berlin", "overlap": "queue", "catch_up": "all"});
    let changed = api.patch(&path_of(&one), zone.clone()).await.expect(200).json();
    for member in ["cron", "time_zone", "overlap", "catch_up"] {
        assert_eq!(changed[member], zone[member]);
    }
    let paused = api.patch(&path_of(&one), json!({"enabled": false})).await.expect(200).json();
    assert_eq!((&paused["enabled"], &paused["next"]), (&json!(false), &json!([])));
    // One that is paused is checked, too.
    let paused = json!({"enabled": false, "request": {"inputs": {}}});
    let refused = api.post("/v1/schedules", schedule("p", paused)).await.expect(422);
    assert_eq!(refused.errors(), ["/request/inputs/question missing_field"]);
    api.delete(&path_of(&one)).await.expect(204);
    api.get(&path_of(&one)).await.expect(404);
    api.get(&format!("{}/firings", path_of(&one))).await.expect(404);
    assert_eq!(api.get("/v1/runs").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_names_the_revision_that_it_saw() {
    let api = api_with(&[]).await;
    let one = create(&api, "s", json!({})).await;
    let path = path_of(&one);
    let tag = api.get(&path).await.expect(200).header("etag").to_owned();
    let with = async |method: Method, tag: &str, body: Option<Value>| {
        let headers = [("if-match", tag), ("content-type", "application/json")];
        api.send(method, &path, &headers, body.map(|body| body.to_string())).await
    };
    let changed = with(Method::PATCH, &tag, Some(json!({"description": "a"}))).await.expect(200);
    assert_ne!(changed.header("etag"), tag);
    let stale = with(Method::PATCH, &tag, Some(json!({"description": "b"}))).await.expect(412);
    assert_eq!(stale.code(), "precondition_failed");
    with(Method::DELETE, &tag, None).await.expect(412);
    // Times do not count as changes.
    set_back(&api, "1 second").await;
    firings(&api, &one, none_waits).await;
    with(Method::DELETE, changed.header("etag"), None).await.expect(204);
    let audit = api.get("/v1/audit").await.expect(200).json();
    let of_schedule = |entry: &&Value| entry["kind"] == "schedule";
    let actions: Vec<&str> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_schedule)
        .map(|entry| entry["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["delete", "change", "create"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_the_same_time_create_no_more_schedules_than_a_workspace_may_have() {
    let api = api_with(&[]).await;
    let one = create(&api, "first", json!({})).await;
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let copies = "insert into schedules select gen_random_uuid(), workspace_id, 'copy-' || n, description, cron,
        time_zone, overlap, catch_up, graph_id, graph_name, target, request, enabled, disabled_because, runs_as,
        next_at, revision, created_at, updated_at, created_by from schedules, generate_series(1, 97) n";
    sqlx::query(copies).execute(&mut connection).await.unwrap();
    let more = (0..6).map(|number| {
        let (api, name) = (&api, format!("more-{number}"));
        async move { api.post("/v1/schedules", schedule(&name, json!({}))).await.status }
    });
    let mut answers = futures_util::future::join_all(more).await;
    answers.sort_unstable();
    assert_eq!(answers, [201, 201, 422, 422, 422, 422]);
    api.delete(&path_of(&one)).await.expect(204);
    create(&api, "last", json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_whose_record_was_lost_starts_nothing_new_although_the_schedule_has_changed() {
    let api = api_with(&[]).await;
    let one = create(&api, "one", json!({})).await;
    set_back(&api, "1 second").await;
    let first = firings(&api, &one, none_waits).await;
    // What a server leaves that is killed between the start of the work and its record.
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let lost = "update schedule_firings firing
        set status = 'pending', work_id = null, finished_at = null, next_attempt_at = now() + interval '1 hour',
            request = schedule.request from schedules schedule where schedule.id = firing.schedule_id";
    sqlx::query(lost).execute(&mut connection).await.unwrap();
    api.post("/v1/graphs", one_node("other", "question -> answer")).await.expect(201);
    let other = json!({"graph": "other", "request": {"inputs": {"question": "another one"}}});
    api.patch(&path_of(&one), other).await.expect(200);
    let due = "update schedule_firings set next_attempt_at = now() where status = 'pending'";
    sqlx::query(due).execute(&mut connection).await.unwrap();
    let again = firings(&api, &one, none_waits).await;
    assert_eq!((again.len(), &again[0]["attempts"]), (1, &json!(2)), "{again:?}");
    assert_eq!(again[0]["work_id"], first[0]["work_id"]);
    assert_eq!(api.get("/v1/runs").await.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_schedule_fires_by_hand_only_and_leaves_out_what_waited() {
    let api = api_with(&[]).await;
    let slow = json!({"overlap": "queue", "request": {"inputs": {"question": "slow"}}});
    let one = create(&api, "one", slow).await;
    set_back(&api, "1 second").await;
    let first = firings(&api, &one, none_waits).await;
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let moved = "update schedule_firings set scheduled_at = scheduled_at - interval '1 day'";
    sqlx::query(moved).execute(&mut connection).await.unwrap();
    set_back(&api, "1 second").await;
    firings(&api, &one, |fired| fired.len() == 2 && fired[0]["status"] == "pending").await;
    // By hand, although another time waits for its turn.
    api.post(&format!("{}/fire", path_of(&one)), "").await.expect(202);
    firings(&api, &one, |fired| fired.len() == 3 && fired[0]["status"] == "succeeded").await;
    api.patch(&path_of(&one), json!({"enabled": false})).await.expect(200);
    let paused = firings(&api, &one, none_waits).await;
    assert_eq!((paused.len(), &paused[1]["status"]), (3, &json!("skipped")));
    let run = first[0]["work_id"].as_str().unwrap();
    api.post(&format!("/v1/runs/{run}/cancel"), "").await.expect(200);
    api.post(&format!("{}/fire", path_of(&one)), "").await.expect(202);
    let by_hand = firings(&api, &one, |fired| fired.len() == 4 && none_waits(fired)).await;
    assert_eq!(by_hand[0]["status"], "succeeded");
    let resumed = api.patch(&path_of(&one), json!({"enabled": true})).await.expect(200).json();
    assert_eq!(resumed["next"].as_array().unwrap().len(), 5, "nothing is caught up: {resumed}");
    assert_eq!(firings(&api, &one, none_waits).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_workspace_sees_neither_schedules_nor_firings() {
    let api = api_with(&[("DSRS_API_KEYS", "root")]).await;
    let with = async |key: &str, method: Method, path: &str, body: Option<Value>| {
        let bearer = format!("Bearer {key}");
        let body = body.map(|body| body.to_string());
        api.send(method, path, &[("authorization", &bearer)], body).await
    };
    let graph = one_node("q", "question -> answer");
    with("root", Method::POST, "/v1/graphs", Some(graph)).await.expect(201);
    let body = Some(schedule("s", json!({})));
    let created = with("root", Method::POST, "/v1/schedules", body).await.expect(201).json();
    let body = Some(json!({"name": "acme"}));
    with("root", Method::POST, "/v1/workspaces", body).await.expect(201);
    let body = Some(json!({"name": "other", "scopes": ["admin"], "workspace": "acme"}));
    let other = with("root", Method::POST, "/v1/keys", body).await.expect(201).json();
    let other = other["key"].as_str().unwrap();
    let path = path_of(&created);
    let listed = with(other, Method::GET, "/v1/schedules", None).await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
    for (method, path, body) in [
        (Method::GET, path.clone(), None),
        (Method::PATCH, path.clone(), Some(json!({"enabled": false}))),
        (Method::DELETE, path.clone(), None),
        (Method::POST, format!("{path}/fire"), None),
        (Method::GET, format!("{path}/firings"), None),
    ] {
        let refused = with(other, method.clone(), &path, body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (404, "not_found".to_owned()),
            "{method} {path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_work_in_progress_skips_delays_or_allows_a_firing() {
    let api = api_with(&[]).await;
    let slow = json!({"inputs": {"question": "slow"}});
    let of = |overlap: &str| json!({"overlap": overlap, "request": slow});
    let skip = create(&api, "skip", of("skip")).await;
    let queue = create(&api, "queue", of("queue")).await;
    let allow = create(&api, "allow", of("allow")).await;
    set_back(&api, "1 second").await;
    for schedule in [&skip, &queue, &allow] {
        firings(&api, schedule, none_waits).await;
    }
    // The same time fires once only.
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let moved = "update schedule_firings set scheduled_at = scheduled_at - interval '1 day'";
    sqlx::query(moved).execute(&mut connection).await.unwrap();
    set_back(&api, "1 second").await;
    let two = |fired: &[Value]| fired.len() == 2 && none_waits(fired);
    assert_eq!(firings(&api, &skip, two).await[0]["status"], "skipped");
    assert_eq!(firings(&api, &allow, two).await[0]["status"], "succeeded");
    let waiting = firings(&api, &queue, |fired| fired.len() == 2).await;
    assert_eq!(waiting[0]["status"], "pending");
    let run = waiting[1]["work_id"].as_str().unwrap();
    api.post(&format!("/v1/runs/{run}/cancel"), "").await.expect(200);
    assert_eq!(firings(&api, &queue, two).await[0]["status"], "succeeded");
    // By hand, whatever is in progress.
    let fired = api.post(&format!("{}/fire", path_of(&skip)), "").await.expect(202).json();
    assert_eq!((&fired["by_hand"], &fired["status"]), (&json!(true), &json!("pending")));
    let three = |fired: &[Value]| fired.len() == 3 && none_waits(fired);
    assert_eq!(firings(&api, &skip, three).await[0]["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn times_without_a_server_are_left_out_or_caught_up() {
    let api = api_with(&[]).await;
    let of =
        |catch_up: &str| json!({"cron": "* * * * *", "catch_up": catch_up, "overlap": "allow"});
    let one = create(&api, "one", of("one")).await;
    let all = create(&api, "all", of("all")).await;
    set_back(&api, "5 minutes").await;
    let caught_up = firings(&api, &one, none_waits).await;
    let oldest = caught_up.last().unwrap();
    assert!(oldest["missed"].as_i64().unwrap() >= 4, "{oldest}");
    let caught_up = firings(&api, &all, |fired| fired.len() >= 5 && none_waits(fired)).await;
    let mut times: Vec<&str> =
        caught_up.iter().map(|firing| firing["scheduled_at"].as_str().unwrap()).collect();
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), caught_up.len(), "each time fires once");
    assert!(caught_up.iter().all(|firing| firing["status"] == "succeeded"), "{caught_up:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_that_the_graph_no_longer_accepts_is_recorded_with_its_problem() {
    let api = api_with(&[]).await;
    let one = create(&api, "one", json!({})).await;
    let other = one_node("q", "topic -> answer");
    api.put("/v1/graphs/q", other).await.expect(200);
    api.post(&format!("{}/fire", path_of(&one)), "").await.expect(202);
    let failed = firings(&api, &one, none_waits).await;
    assert_eq!((&failed[0]["status"], &failed[0]["work_id"]), (&json!("failed"), &Value::Null));
    assert_eq!(failed[0]["error"]["code"], "invalid_input");
    api.delete("/v1/graphs/q").await.expect(204);
    api.post(&format!("{}/fire", path_of(&one)), "").await.expect(202);
    let failed = firings(&api, &one, |fired| fired.len() == 2 && none_waits(fired)).await;
    assert_eq!(failed[0]["error"]["code"], "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_runs_as_its_key_and_ends_with_it_until_another_key_changes_it() {
    let api = api_with(&[("DSRS_API_KEYS", "root")]).await;
    let with = async |key: &str, method: Method, path: &str, body: Option<Value>| {
        let bearer = format!("Bearer {key}");
        let body = body.map(|body| body.to_string());
        api.send(method, path, &[("authorization", &bearer)], body).await
    };
    let graph = one_node("q", "question -> answer");
    with("root", Method::POST, "/v1/graphs", Some(graph)).await.expect(201);
    let body = json!({"name": "ci", "scopes": ["read", "execute"]});
    let key = with("root", Method::POST, "/v1/keys", Some(body)).await.expect(201).json();
    let text = key["key"].as_str().unwrap();
    let body = json!({"name": "reader", "scopes": ["read"]});
    let reader = with("root", Method::POST, "/v1/keys", Some(body)).await.expect(201).json();
    let reader = reader["key"].as_str().unwrap();
    with(reader, Method::POST, "/v1/schedules", Some(schedule("s", json!({})))).await.expect(403);
    let created = with(text, Method::POST, "/v1/schedules", Some(schedule("s", json!({}))));
    let created = created.await.expect(201).json();
    assert_eq!(created["runs_as"], key["actor"]);
    let path = path_of(&created);
    let fire = format!("{path}/fire");
    let fired = async |count: usize| {
        let have_ended = async || {
            let found = with("root", Method::GET, &format!("{path}/firings"), None).await.json();
            let items = found["items"].as_array().unwrap().clone();
            Some(items).filter(|items| items.len() == count && none_waits(items))
        };
        found("the end of the firings", have_ended).await
    };
    with("root", Method::POST, &fire, None).await.expect(202);
    let run = fired(1).await[0]["work_id"].as_str().unwrap().to_owned();
    let run = with("root", Method::GET, &format!("/v1/runs/{run}"), None).await.expect(200);
    assert_eq!(run.json()["status"].as_str().map(str::is_empty), Some(false));
    let id = key["id"].as_str().unwrap();
    with("root", Method::DELETE, &format!("/v1/keys/{id}"), None).await.expect(204);
    with("root", Method::POST, &fire, None).await.expect(202);
    let refused = fired(2).await;
    assert_eq!(
        (&refused[0]["status"], &refused[0]["error"]["code"]),
        (&json!("failed"), &json!("forbidden"))
    );
    let disabled = with("root", Method::GET, &path, None).await.json();
    assert_eq!(
        (&disabled["enabled"], &disabled["disabled_because"]),
        (&json!(false), &json!("key"))
    );
    let enabled =
        with("root", Method::PATCH, &path, Some(json!({"enabled": true}))).await.expect(200).json();
    assert_ne!(enabled["runs_as"], key["actor"]);
    with("root", Method::POST, &fire, None).await.expect(202);
    assert_eq!(fired(3).await[0]["status"], "succeeded");
}
