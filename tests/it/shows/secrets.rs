//! Secrets that are planted wherever they are allowed appear in no log, answer, event, metric or row.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{DeltaSink, Lm, LmError, LmReply, LmRequest};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::one_node;
use crate::Api;
use dsrs_test::{Answer, Does, FakeLm, Remote, ServerSetup, sections, test_database, within};

const PROVIDER: &str = "sk-planted-provider-4711";
const TOOL: &str = "planted-tool-secret-4712";
const MCP: &str = "planted-mcp-secret-4713";
const CALLER: &str = "planted-caller-key-4714";
const DATABASE: &str = "planted-database-password-4715";
const PANICKED: &str = "sk-planted-panic-4717";
const ECHOED: &str = "sk-planted-echoed-4716";

/// A tool that answers with the header that it received. Returns its URL.
async fn echoing_tool() -> String {
    let url = echo("200 OK", |header| json!({"received": header})).await;
    format!("{url}/ask")
}

/// A provider that refuses every request with the header that it received. Returns its URL.
async fn echoing_provider() -> String {
    let message =
        |header: &str| json!({"error": {"message": format!("Incorrect API key: {header}")}});
    format!("{}/v1", echo("401 Unauthorized", message).await)
}

/// A server that answers with the `Authorization` that it received.
async fn echo(status: &'static str, body: fn(&str) -> Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let mut lines = BufReader::new(connection).lines();
            let mut found = String::new();
            while let Ok(Some(line)) = lines.next_line().await
                && !line.is_empty()
            {
                if line.to_lowercase().starts_with("authorization") {
                    found = line;
                }
            }
            let body = body(&found).to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            );
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            let _ = lines.into_inner().into_inner().write_all(answer.as_bytes()).await;
        }
    });
    url
}

/// Calls the tool, then ends; refuses every question of the graph `refused`.
async fn agent_lm() -> Arc<FakeLm> {
    FakeLm::by(|_, asked| {
        let text = asked.text();
        if text.contains("refuse-me") {
            return Does::Answer(
                401,
                vec![],
                json!({"error": {"message": "wrong key"}}).to_string(),
            );
        }
        let said: Vec<(&str, &str)> = if text.contains("received") {
            vec![
                ("next_thought", "Done."),
                ("next_tool_name", "finish"),
                ("next_tool_args", "{}"),
                ("reasoning", "It says so."),
                ("answer", "fine"),
            ]
        } else {
            vec![
                ("next_thought", "Ask."),
                ("next_tool_name", "ask"),
                ("next_tool_args", "{}"),
                ("reasoning", "None."),
                ("answer", "fine"),
            ]
        };
        Does::Say(sections(said))
    })
    .await
}

fn agent(tool: &str) -> Value {
    let tool = json!({"http": {
        "name": "ask", "description": "Asks.", "method": "GET", "url": tool,
        "headers": {"Authorization": {"secret": "TOOL", "prefix": "Bearer "}}
    }});
    json!({"name": "agent", "nodes": {"agent": {
        "strategy": "react", "signature": "question -> answer", "config": {"tools": [tool]}
    }}})
}

/// The answers of a server, collected.
struct Answers {
    remote: Remote,
    text: String,
}

impl Answers {
    async fn send(&mut self, key: &str, method: Method, path: &str, body: Option<Value>) -> Answer {
        let headers = [("authorization", key), ("accept", "application/json, text/event-stream")];
        self.send_with(&headers, method, path, body).await
    }

    async fn send_with(
        &mut self,
        headers: &[(&str, &str)],
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let body = body.map(|body| body.to_string());
        let answer = self.remote.send(method, path, headers, body).await;
        // The one answer that shows a key.
        if !(path == "/v1/keys" && answer.status == 201) {
            self.text.push_str(&format!("{path}\n{:?}\n{}\n", answer.headers, answer.text));
        }
        answer
    }
}

/// All rows of all tables as text.
async fn dump(url: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let tables: Vec<String> =
        sqlx::query_scalar("select tablename::text from pg_tables where schemaname = 'public'")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    let mut text = String::new();
    for table in tables {
        let sql = format!("select coalesce(string_agg(t::text, e'\\n'), '') from {table} t");
        let rows: String =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.unwrap();
        text.push_str(&format!("{table}\n{rows}\n"));
    }
    text
}

fn assert_absent(place: &str, text: &str, secrets: &[&str]) {
    assert!(text.len() > 1000, "{place} has only {} bytes", text.len());
    for secret in secrets {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [*secret, &hex] {
            let found = text.find(form).map(|at| {
                let start =
                    (0..=at.saturating_sub(300)).rev().find(|at| text.is_char_boundary(*at));
                text[start.unwrap_or(0)..at].to_owned()
            });
            assert!(found.is_none(), "{place} contains {secret} after: {}", found.unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_secrets_are_found_nowhere() {
    let (lm, tool, database) = (agent_lm().await, echoing_tool().await, test_database().await);
    let provider = echoing_provider().await;
    let with_password = database.replacen("@localhost", &format!(":{DATABASE}@localhost"), 1);
    assert_ne!(with_password, database);
    let setup = ServerSetup::new()
        .database(&with_password)
        .env("DSRS_MODELS__DEFAULT__MODEL", "small")
        .env("DSRS_MODELS__DEFAULT__BASE_URL", &lm.url)
        .env("DSRS_MODELS__DEFAULT__API_KEY", PROVIDER)
        .env("DSRS_MODELS__ECHO__MODEL", "echo")
        .env("DSRS_MODELS__ECHO__BASE_URL", &provider)
        .env("DSRS_MODELS__ECHO__API_KEY", ECHOED)
        .env("DSRS_API_KEYS", CALLER)
        .env("DSRS_TOOLS_ALLOW", "127.0.0.1")
        .env("DSRS_SECRETS__TOOL__VALUE", TOOL)
        .env("DSRS_SECRETS__TOOL__HOSTS", "127.0.0.1")
        .env("DSRS_SECRETS__OFFICE__VALUE", MCP)
        .env("DSRS_SECRETS__OFFICE__MCP", "office")
        .env("DSRS_MCP__OFFICE__COMMAND", "sh,-c,exit 3")
        .env("DSRS_MCP__OFFICE__ENV__OFFICE_TOKEN", "key ${OFFICE}")
        .env("DSRS_LOG", "trace");
    let server = setup.start();
    let mut answers = Answers { remote: Remote::new(&server.url), text: String::new() };
    let root = format!("Bearer {CALLER}");

    let key = json!({"name": "ci", "scopes": ["read", "execute", "write"],
                     "limits": {"requests_per_minute": 100_000}});
    let headers = [("authorization", root.as_str()), ("idempotency-key", "once")];
    answers.send_with(&headers, Method::POST, "/v1/keys", Some(key.clone())).await.expect(400);
    let created = answers.send(&root, Method::POST, "/v1/keys", Some(key)).await;
    let created = created.expect(201).json();
    let stored_key = created["key"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {stored_key}");

    let refused = one_node("refused", "question -> answer", json!({"retries": 0}));
    let echo = json!({"retries": 0, "lm": {"model": "echo"}});
    let echo = one_node("echo", "question -> answer", echo);
    for graph in [agent(&tool), refused, echo] {
        answers.send(&bearer, Method::POST, "/v1/graphs", Some(graph)).await.expect(201);
    }
    let ask = |question: &str| Some(json!({"inputs": {"question": question}, "trace": true}));
    let json_only = [("authorization", bearer.as_str())];
    let execute = "/v1/graphs/agent/execute";
    let run = answers.send_with(&json_only, Method::POST, execute, ask("?")).await.expect(200);
    // The tool did receive the secret and returned it.
    assert!(run.text.contains("(secret TOOL)"), "{}", run.text);
    answers.send(&bearer, Method::POST, execute, ask("?")).await.expect(200);
    let failing = "/v1/graphs/refused/execute";
    let failed = answers.send_with(&json_only, Method::POST, failing, ask("refuse-me")).await;
    assert_eq!(failed.status, 502, "{}", failed.text);
    // The provider repeats its key in an error, as some do.
    for path in ["/v1/graphs/echo/execute", "/v1/graphs/echo/runs"] {
        let echoed = answers.send_with(&json_only, Method::POST, path, ask("?")).await;
        assert!([202, 502].contains(&echoed.status), "{}", echoed.text);
        assert_eq!(echoed.status == 502, echoed.text.contains("***"), "{}", echoed.text);
    }
    let queued =
        answers.send_with(&json_only, Method::POST, "/v1/graphs/agent/runs", ask("?")).await;
    let id = queued.expect(202).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/runs/{id}");
    within("the end of the run", async {
        while answers.send(&bearer, Method::GET, &path, None).await.json()["status"] != "succeeded"
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    answers.send(&bearer, Method::GET, &format!("{path}/events"), None).await;
    for path in [
        "/v1/graphs",
        "/v1/runs",
        "/v1/models",
        "/v1/strategies",
        "/v1/keys",
        "/v1/audit",
        "/v1/workspaces",
        "/metrics",
        "/openapi.json",
        "/readyz",
    ] {
        answers.send(&root, Method::GET, path, None).await.expect(200);
    }
    for wrong in [format!("Basic {CALLER}"), format!("Bearer {stored_key}x"), CALLER.to_owned()] {
        answers.send(&wrong, Method::GET, "/v1/graphs", None).await.expect(401);
    }
    let path = format!("/v1/keys/{}", created["id"].as_str().unwrap());
    answers.send(&root, Method::DELETE, &path, None).await.expect(204);
    answers.send(&bearer, Method::GET, "/v1/graphs", None).await.expect(401);
    let block = server.block.clone();
    assert!(server.stop().success());

    let secrets = [PROVIDER, TOOL, MCP, CALLER, DATABASE, ECHOED, stored_key.as_str()];
    assert_absent("the answers", &answers.text, &secrets);
    let log = String::from_utf8_lossy(&std::fs::read(setup.log()).unwrap()).into_owned();
    assert!(log.contains("TRACE"), "the log is not that of `trace`");
    assert_absent("the log", &(block + &log), &secrets);
    assert_absent("the database", &dump(&database).await, &secrets);
}

/// A provider with a defect: it panics with its key.
struct PanickingLm;

impl Lm for PanickingLm {
    fn complete<'a>(
        &'a self,
        _: &'a LmRequest,
        _: DeltaSink<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<LmReply, LmError>> + Send + 'a>> {
        Box::pin(async { panic!("cannot use the key {PANICKED}") })
    }
}

/// In this process, because no request makes the built program panic.
#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_panic_is_in_no_answer_and_no_row() {
    let database = test_database().await;
    let settings = [("DSRS_WORKER_ATTEMPTS", "1"), ("DSRS_WORKER_LEASE", "2s")];
    let api = Api::start(&database, Some(Arc::new(PanickingLm)), &settings).await;
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let mut texts = String::new();
    let ask = json!({"inputs": {"question": "?"}});
    let failed = api.post("/v1/graphs/q/execute", &ask).await.expect(500);
    assert_eq!(failed.code(), "internal");
    texts.push_str(&failed.text);
    let body = Some(ask.to_string());
    let stream = api.stream(Method::POST, "/v1/graphs/q/execute", &[], body).await;
    for event in stream.rest().await {
        texts.push_str(&event.data.to_string());
    }
    let run = api.post("/v1/graphs/q/runs", &ask).await.expect(202).json();
    let ended = api.ended(run["id"].as_str().unwrap()).await;
    assert_eq!(ended["status"], "failed");
    texts.push_str(&ended.to_string());
    texts.push_str(&api.get("/metrics").await.expect(200).text);
    assert_absent("the answers", &texts, &[PANICKED]);
    assert_absent("the database", &dump(&database).await, &[PANICKED]);
    api.get("/v1/graphs/q").await.expect(200);
}
