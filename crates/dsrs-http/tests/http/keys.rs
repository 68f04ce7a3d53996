//! Keys of the database: created, presented, revoked; scopes; workspaces.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::Api;
use dsrs_test::{Answer, DatabaseProxy, found, one_node, test_database};

/// How often a use of a key is written.
const MINUTE: Duration = Duration::from_secs(60);

/// Sends a request with a key.
async fn with_key(api: &Api, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {key}");
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let body = body.map(|body| body.to_string());
    api.send(method, path, &[("authorization", &bearer)], body).await
}

async fn create(api: &Api, by: &str, body: Value) -> Value {
    with_key(api, by, "post", "/v1/keys", Some(body)).await.expect(201).json()
}

/// A server with a configured key, `root`.
async fn guarded() -> Api {
    Api::with_settings(&[("DSRS_API_KEYS", "root")]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_shown_once_and_stored_as_a_digest() {
    let api = guarded().await;
    let answer = with_key(
        &api,
        "root",
        "post",
        "/v1/keys",
        Some(json!({"name": "ci", "scopes": ["read", "execute"], "limits": {"tokens_per_day": 9}})),
    );
    let answer = answer.await.expect(201);
    assert_eq!(answer.header("cache-control"), "no-store");
    let created = answer.json();
    let text = created["key"].as_str().unwrap();
    assert!(text.starts_with(created["prefix"].as_str().unwrap()), "{created}");
    let location = answer.header("location").to_owned();
    let read = with_key(&api, "root", "get", &location, None).await.expect(200);
    assert!(!read.text.contains(text));
    assert_eq!(read.json()["limits"]["tokens_per_day"], 9);
    assert_eq!(with_key(&api, text, "get", "/v1/graphs", None).await.status, 200);
    let refused =
        with_key(&api, "root", "post", "/v1/keys", Some(json!({"name": "ci", "scopes": ["read"]})));
    assert_eq!(refused.await.expect(409).code(), "already_exists");
    let mut connection = PgConnection::connect(&api.database).await.unwrap();
    let stored: Vec<String> =
        sqlx::query_scalar("select keys::text from keys").fetch_all(&mut connection).await.unwrap();
    assert!(stored.len() == 1 && !stored[0].contains(text), "{stored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_what_the_document_says_and_nothing_else() {
    let api = guarded().await;
    let document = dsrs_http::openapi();
    for scope in ["read", "execute", "write", "admin"] {
        let key = create(&api, "root", json!({"name": scope, "scopes": [scope]})).await;
        let key = key["key"].as_str().unwrap();
        let mut refused = 0;
        for (path, method, needed) in guarded_operations(document) {
            let nothing = "00000000-0000-7000-8000-00000000dead";
            let path = path.replace("{id}", nothing).replace("{version}", "1");
            let path = path.replace("{number}", "1").replace(['{', '}'], "");
            let body = matches!(method.as_str(), "post" | "put" | "patch").then(|| json!({}));
            let answer = with_key(&api, key, &method, &path, body).await;
            let allowed = needed == scope || scope == "admin";
            let is_forbidden = answer.status == 403;
            assert_eq!(is_forbidden, !allowed, "{scope}: {method} {path}: {}", answer.text);
            assert_ne!(answer.status, 401, "{method} {path}");
            if is_forbidden {
                refused += 1;
                let found = answer.json();
                let code = if found["error"].is_object() {
                    &found["error"]["code"]
                } else {
                    &found["code"]
                };
                assert_eq!(code, "forbidden");
                assert!(answer.text.contains(&format!("`{needed}`")), "{}", answer.text);
            }
        }
        assert_eq!(refused > 0, scope != "admin", "{scope}");
    }
}

/// Every operation that needs a key, with its scope.
fn guarded_operations(document: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Some(scope) = operation["security"][0]["key"][0].as_str() {
                let responses = &operation["responses"];
                let is_documented =
                    responses["403"].is_object() || responses["default"].is_object();
                assert!(is_documented, "{method} {path}");
                found.push((path.clone(), method.clone(), scope.to_owned()));
            }
        }
    }
    assert!(found.len() > 70, "{}", found.len());
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_that_activates_its_result_needs_the_scope_write() {
    let api = guarded().await;
    let key = create(&api, "root", json!({"name": "runner", "scopes": ["execute"]})).await;
    let key = key["key"].as_str().unwrap();
    let body = |activate: &str| {
        json!({"optimizer": "labeled_few_shot", "metric": "exact_match", "activate": activate,
               "trainset": {"dataset": "none"}})
    };
    let start = |activate| {
        let path = "/v1/graphs/none/optimizations";
        with_key(&api, key, "post", path, Some(body(activate)))
    };
    let refused = start("if_better").await.expect(403);
    assert!(refused.text.contains("`write`"), "{}", refused.text);
    assert_ne!(start("never").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_and_one_that_ends_stop_on_every_server() {
    let database = test_database().await;
    let settings = [("DSRS_API_KEYS", "root")];
    let one = Api::start(&database, None, &settings).await;
    let other = Api::start(&database, None, &settings).await;
    let key = create(&one, "root", json!({"name": "ci", "scopes": ["read"]})).await;
    let (id, text) = (key["id"].as_str().unwrap(), key["key"].as_str().unwrap());
    assert_eq!(with_key(&one, text, "get", "/v1/graphs", None).await.status, 200);
    until_status(&other, text, 200).await;
    let path = format!("/v1/keys/{id}");
    with_key(&one, "root", "delete", &path, None).await.expect(204);
    // On the server that did it, before the answer.
    assert_eq!(with_key(&one, text, "get", "/v1/graphs", None).await.status, 401);
    until_status(&other, text, 401).await;
    let listed = with_key(&one, "root", "get", &path, None).await.expect(200).json();
    assert!(listed["revoked_at"].is_string(), "{listed}");

    let now: chrono::DateTime<chrono::Utc> = std::time::SystemTime::now().into();
    let end = (now + chrono::TimeDelta::hours(1)).to_rfc3339();
    let short = json!({"name": "short", "scopes": ["read"], "expires_at": end});
    let short = create(&one, "root", short).await;
    let short = short["key"].as_str().unwrap();
    assert_eq!(with_key(&one, short, "get", "/v1/graphs", None).await.status, 200);
    // A server reads the keys when it starts, this one soon before its end.
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let soon = "update keys set expires_at = clock_timestamp() + interval '3 seconds' where name = 'short'";
    assert_eq!(sqlx::query(soon).execute(&mut connection).await.unwrap().rows_affected(), 1);
    let later = Api::start(&database, None, &settings).await;
    until_status(&later, short, 401).await;
    let past = json!({"name": "past", "scopes": ["read"], "expires_at": "2001-01-01T00:00:00Z"});
    let refused = with_key(&one, "root", "post", "/v1/keys", Some(past)).await.expect(422);
    assert_eq!(refused.errors(), ["/expires_at invalid_value"]);
}

async fn until_status(api: &Api, key: &str, status: u16) {
    let has_status = async || {
        let answer = with_key(api, key, "get", "/v1/graphs", None).await;
        (answer.status == status).then_some(())
    };
    found(&format!("the status {status}"), has_status).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_open_only_until_there_is_a_first_key() {
    let api = Api::new().await;
    assert_eq!(api.get("/v1/graphs").await.status, 200);
    let refused = api.post("/v1/keys", json!({"name": "a", "scopes": ["read"]})).await.expect(422);
    assert_eq!(refused.errors(), ["/scopes invalid_value"], "without `admin` nobody could go on");
    let key = api.post("/v1/keys", json!({"name": "a", "scopes": ["admin"]})).await;
    let key = key.expect(201).json();
    let text = key["key"].as_str().unwrap();
    assert_eq!(api.get("/v1/graphs").await.expect(401).code(), "unauthenticated");
    assert_eq!(with_key(&api, text, "get", "/v1/graphs", None).await.status, 200);
    // Revoking the last key does not open the server.
    let path = format!("/v1/keys/{}", key["id"].as_str().unwrap());
    with_key(&api, text, "delete", &path, None).await.expect(204);
    assert_eq!(api.get("/v1/graphs").await.status, 401);
    assert_eq!(with_key(&api, text, "get", "/v1/graphs", None).await.status, 401);
    assert_eq!(api.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_acts_in_its_workspace_and_manages_only_that() {
    let api = guarded().await;
    let send = |key: &str, method: &'static str, path: &'static str, body: Option<Value>| {
        let key = key.to_owned();
        let api = &api;
        async move { with_key(api, &key, method, path, body).await }
    };
    send("root", "post", "/v1/workspaces", Some(json!({"name": "team-a"}))).await.expect(201);
    let again = send("root", "post", "/v1/workspaces", Some(json!({"name": "team-a"}))).await;
    assert_eq!(again.expect(409).code(), "already_exists");
    let names = send("root", "get", "/v1/workspaces", None).await.expect(200).json();
    assert_eq!(names["items"].as_array().unwrap().len(), 2);
    let boss = json!({"name": "boss", "scopes": ["admin"], "workspace": "team-a"});
    let boss = create(&api, "root", boss).await;
    assert_eq!(boss["workspace"], "team-a");
    let boss = boss["key"].as_str().unwrap();

    let graph = one_node("shared", "question -> answer");
    send("root", "post", "/v1/graphs", Some(graph.clone())).await.expect(201);
    assert_eq!(send(boss, "get", "/v1/graphs/shared", None).await.status, 404);
    send(boss, "post", "/v1/graphs", Some(graph)).await.expect(201);
    let states =
        send(boss, "get", "/v1/graphs/shared/state/versions", None).await.expect(200).json();
    assert!(states["items"][0]["created_by"].as_str().unwrap().starts_with("boss-"), "{states}");

    for (method, path) in
        [("get", "/v1/workspaces"), ("get", "/v1/workspaces/team-a"), ("get", "/metrics")]
    {
        assert_eq!(send(boss, method, path, None).await.status, 403, "{path}");
    }
    let other = |workspace: &str| json!({"name": "x", "scopes": ["read"], "workspace": workspace});
    let existing = send(boss, "post", "/v1/keys", Some(other("default"))).await.expect(403).json();
    let missing = send(boss, "post", "/v1/keys", Some(other("nowhere"))).await.expect(403).json();
    assert_eq!(existing["detail"], missing["detail"], "whether it exists is not shown");
    let own = create(&api, boss, other("team-a")).await;
    let keys = send(boss, "get", "/v1/keys", None).await.expect(200).json();
    assert_eq!(keys["items"].as_array().unwrap().len(), 2, "{keys}");
    let path = format!("/v1/keys/{}", own["id"].as_str().unwrap());
    assert_eq!(
        with_key(&api, "root", "delete", &path, None).await.status,
        404,
        "another workspace"
    );
    let path = format!("{path}?workspace=team-a");
    with_key(&api, "root", "delete", &path, None).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_limits_creates_no_keys() {
    let api = guarded().await;
    let limits = json!({"tokens_per_day": 1000});
    let limited = json!({"name": "boss", "scopes": ["admin"], "limits": limits});
    let limited = create(&api, "root", limited).await;
    let (limited, id) = (limited["key"].as_str().unwrap(), limited["id"].as_str().unwrap());
    for body in [
        json!({"name": "x", "scopes": ["read"]}),
        json!({"name": "x", "scopes": ["read"], "limits": limits}),
    ] {
        let refused = with_key(&api, limited, "post", "/v1/keys", Some(body)).await.expect(403);
        assert!(refused.text.contains("a key with limits creates no keys"), "{}", refused.text);
    }
    assert_eq!(
        with_key(&api, limited, "get", "/v1/keys", None).await.json()["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    with_key(&api, limited, "delete", &format!("/v1/keys/{id}"), None).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_created_with_an_idempotency_key() {
    let api = guarded().await;
    let headers = [("authorization", "Bearer root"), ("idempotency-key", "once")];
    let body = json!({"name": "ci", "scopes": ["read"]}).to_string();
    let refused = api.send(Method::POST, "/v1/keys", &headers, Some(body)).await.expect(400);
    assert_eq!(refused.code(), "invalid_parameter");
    assert!(refused.text.contains("`Idempotency-Key`"), "{}", refused.text);
    let listed = with_key(&api, "root", "get", "/v1/keys", None).await.json();
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_of_a_key_is_written_once_for_many_requests() {
    let api = guarded().await;
    let key = create(&api, "root", json!({"name": "ci", "scopes": ["read"]})).await;
    assert!(key["last_used_at"].is_null(), "{key}");
    let (text, path) =
        (key["key"].as_str().unwrap(), format!("/v1/keys/{}", key["id"].as_str().unwrap()));
    let used = || async {
        with_key(&api, text, "get", "/v1/graphs", None).await.expect(200);
        let shown = with_key(&api, "root", "get", &path, None).await.expect(200).json();
        shown["last_used_at"].clone()
    };
    let begun = Instant::now();
    let first = found("a use", async || Some(used().await).filter(Value::is_string)).await;
    for _ in 0..10 {
        let is_written_again = used().await != first;
        assert!(!is_written_again || begun.elapsed() > MINUTE, "uses are written once a minute");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_stops_on_a_server_that_is_not_notified() {
    let database = test_database().await;
    let proxy = DatabaseProxy::start(&database).await;
    let settings = [("DSRS_API_KEYS", "root"), ("DSRS_DATABASE_MAX_STALENESS", "2s")];
    let one = Api::start(&database, None, &settings).await;
    let unnotified = Api::start(&proxy.url, None, &settings).await;
    let key = create(&one, "root", json!({"name": "ci", "scopes": ["read"]})).await;
    let text = key["key"].as_str().unwrap();
    until_status(&unnotified, text, 200).await;
    proxy.drop_notifications();
    let path = format!("/v1/keys/{}", key["id"].as_str().unwrap());
    with_key(&one, "root", "delete", &path, None).await.expect(204);
    // Without the bound the table lives for 60 s after its last look.
    unnotified.until("/readyz", |answer| answer.status == 503).await;
    with_key(&unnotified, text, "get", "/v1/graphs", None).await.expect(401);
}
