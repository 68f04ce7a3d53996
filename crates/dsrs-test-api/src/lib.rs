//! The service in the process of a test: a real router over a real socket, a real database, and a scripted LM. The
//! tests of a crate say which routes it has, so that they wait for no crate above their own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use dsrs::lm::{Lm, Model, Models, ScriptedLm};
use dsrs_app::metrics::Metrics;
use dsrs_app::{App, BackgroundTasks};
use dsrs_config::{Config, Environment, Flags};
use dsrs_shutdown::Shutdown;
use dsrs_store::{Db, PoolSettings};
use dsrs_test::{Remote, engine_settings, program, test_database};

/// The routes of a service.
pub trait Routes {
    /// Over an application.
    fn router(app: Arc<App>, config: &Config) -> Router;
}

/// A service with a database of its own, and a caller of it.
pub struct Api<R> {
    pub database: String,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    pub shutdown: Shutdown,
    pub app: Arc<App>,
    remote: Remote,
    background: BackgroundTasks,
    server: tokio::task::JoinHandle<()>,
    routes: PhantomData<R>,
}

impl<R: Routes> Api<R> {
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
        config.sandbox.program = program();
        let max_staleness = config.database.max_staleness;
        let pool = PoolSettings { max_staleness, ..PoolSettings::default() };
        let db = Db::connect(database, &pool).await.unwrap();
        let models = Models::new(lm.map(model), None);
        let (metrics, shutdown) = (Arc::new(Metrics::new().unwrap()), Shutdown::new());
        let (app, background) = App::start(&config, db, models, metrics, shutdown.clone()).unwrap();
        app.tools_tried().await;
        let router = R::router(app.clone(), &config);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let remote = Remote::new(&url);
        let database = database.to_owned();
        let routes = PhantomData;
        Self { database, url, shutdown, app, remote, background, server, routes }
    }

    /// Stops the service; accepted runs are written.
    pub async fn stop(self) {
        self.server.abort();
        let _ = self.server.await;
        self.background.stop().await;
    }
}

impl<R> Deref for Api<R> {
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
