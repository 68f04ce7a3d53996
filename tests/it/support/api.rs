//! The service in this process: the real router over a real socket, a real database, and a scripted
//! LM.

use std::ops::Deref;
use std::sync::Arc;

use dsrs::lm::{Lm, Model, Models, ScriptedLm};
use dsrs_server::app::metrics::Metrics;
use dsrs_server::app::{App, BackgroundTasks};
use dsrs_server::config::{Config, Environment, Flags};
use dsrs_server::serve;
use dsrs_server::shutdown::Shutdown;
use dsrs_server::store::{Db, PoolSettings};
use reqwest::header;
use serde_json::Value;

use super::engine::engine_settings;
use super::{Remote, test_database};

/// A service with a database of its own, and a caller of it.
pub struct Api {
    pub database: String,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    pub shutdown: Shutdown,
    pub app: Arc<App>,
    remote: Remote,
    background: BackgroundTasks,
    server: tokio::task::JoinHandle<()>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: header::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header's text, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The problem's code, with a look at what every problem has.
    pub fn code(&self) -> String {
        let problem = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{problem}");
        assert_eq!(problem["status"], self.status, "{problem}");
        for member in ["type", "title", "detail", "request_id"] {
            assert!(problem[member].is_string(), "no {member} in {problem}");
        }
        assert!(problem["errors"].is_array(), "{problem}");
        problem["code"].as_str().unwrap().to_owned()
    }

    /// The problem's `errors` as `POINTER CODE`.
    pub fn errors(&self) -> Vec<String> {
        let problem = self.json();
        let describe = |error: &Value| {
            let text = |name: &str| error[name].as_str().unwrap().to_owned();
            format!("{} {}", text("pointer"), text("code"))
        };
        problem["errors"].as_array().unwrap().iter().map(describe).collect()
    }

    /// The same answer, if it has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}

impl Api {
    /// On a database of its own, with an LM that answers every field of the examples.
    pub async fn new() -> Self {
        Self::with_lm(friendly_lm()).await
    }

    /// On a database of its own, with this LM as `default`.
    pub async fn with_lm(lm: ScriptedLm) -> Self {
        Self::start(&test_database().await, Some(Arc::new(lm)), &[]).await
    }

    /// On a database of its own, with settings.
    pub async fn with_settings(settings: &[(&str, &str)]) -> Self {
        Self::start(&test_database().await, Some(Arc::new(friendly_lm())), settings).await
    }

    /// On this database.
    pub async fn start(database: &str, lm: Option<Arc<dyn Lm>>, settings: &[(&str, &str)]) -> Self {
        let engine = engine_settings(database);
        let engine = engine.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let env: Environment = engine.chain(settings.iter().copied()).collect();
        let mut config = Config::load(&Flags::default(), &env).unwrap();
        // This process is the tests, not the server.
        config.sandbox.program = env!("CARGO_BIN_EXE_dsrs-server").into();
        let max_staleness = config.database.max_staleness;
        let pool = PoolSettings { max_staleness, ..PoolSettings::default() };
        let db = Db::connect(database, &pool).await.unwrap();
        let models = Models::new(lm.map(model), None);
        let (metrics, shutdown) = (Arc::new(Metrics::new().unwrap()), Shutdown::new());
        let (app, background) = App::start(&config, db, models, metrics, shutdown.clone()).unwrap();
        app.tools_tried().await;
        let router = serve::router(app.clone(), &config);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let remote = Remote::new(&url);
        Self { database: database.to_owned(), url, shutdown, app, remote, background, server }
    }

    /// Stops the service; accepted runs are written.
    pub async fn stop(self) {
        self.server.abort();
        let _ = self.server.await;
        self.background.stop().await;
    }
}

impl Deref for Api {
    type Target = Remote;

    fn deref(&self) -> &Remote {
        &self.remote
    }
}

/// Answers the fields of the examples.
pub fn friendly_lm() -> ScriptedLm {
    ScriptedLm::sections([
        ("mood", "calm"),
        ("topics", "[\"parcel\"]"),
        ("reasoning", "They wait."),
        ("answer", "Dear customer"),
        ("score", "0.5"),
    ])
}

fn model(lm: Arc<dyn Lm>) -> Model {
    Model { model: "scripted".into(), ..Model::of("default", lm) }
}

/// The example graph of the API's description.
pub fn support_reply() -> Value {
    serde_json::json!({
        "name": "support-reply",
        "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
        "inputs": {"ticket": "str"},
        "nodes": {
            "triage": {
                "strategy": "predict",
                "signature": "ticket -> mood: Mood, topics: list[str]"
            },
            "reply": {
                "strategy": "chain_of_thought",
                "signature": "ticket, mood: Mood -> answer",
                "retries": 0, "parse_retries": 0
            }
        },
        "edges": [
            {"from": "input.ticket", "to": "triage.ticket"},
            {"from": "input.ticket", "to": "reply.ticket"},
            {"from": "triage.mood", "to": "reply.mood"}
        ],
        "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
    })
}

/// A graph of one node, `ask`, that fails at the first failure.
pub fn one_node(name: &str, signature: &str) -> Value {
    serde_json::json!({
        "name": name,
        "nodes": {"ask": {
            "strategy": "predict", "signature": signature, "retries": 0, "parse_retries": 0
        }}
    })
}
