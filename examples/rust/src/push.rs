//! A client of a server: stores a graph with its state, and executes it.

use std::error::Error;

use dsrs::graph::{GraphState, Program};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::desk::graph::TunedGraph;

/// A running server.
pub struct Remote {
    client: Client,
    url: String,
    key: Option<String>,
}

impl Remote {
    /// The server at an address such as `http://localhost:8080`, with an API key if it requires one.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(url: &str, key: Option<String>) -> Result<Self, Box<dyn Error>> {
        // An error says that the program has chosen a provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { client: Client::builder().build()?, url, key })
    }

    /// Stores a graph, or a new version of it if there is one of its name, and makes its state the
    /// active one.
    ///
    /// # Errors
    /// What the server refuses.
    pub async fn push(&self, graph: &TunedGraph) -> Result<(), Box<dyn Error>> {
        let name = graph.program.graph().name();
        self.store(name, &graph.program).await?;
        self.tune(name, &graph.state).await
    }

    async fn store(&self, name: &str, program: &Program) -> Result<(), Box<dyn Error>> {
        let created = self.send(Method::POST, "graphs", program.canonical_text()).await?;
        if created.status != StatusCode::CONFLICT {
            return created.ok().map(drop);
        }
        let path = format!("graphs/{name}");
        self.send(Method::PUT, &path, program.canonical_text()).await?.ok().map(drop)
    }

    async fn tune(&self, name: &str, state: &GraphState) -> Result<(), Box<dyn Error>> {
        let state = json!({ "predictors": state }).to_string();
        self.send(Method::PUT, &format!("graphs/{name}/state"), &state).await?.ok().map(drop)
    }

    /// Executes a graph; the answer is the run with its trace.
    ///
    /// # Errors
    /// What the server refuses, and why the run failed.
    pub async fn execute(&self, graph: &str, inputs: &Value) -> Result<Value, Box<dyn Error>> {
        let body = json!({ "inputs": inputs, "trace": true }).to_string();
        self.send(Method::POST, &format!("graphs/{graph}/execute"), &body).await?.ok()
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> reqwest::Result<Answer> {
        let request = self.client.request(method, format!("{}/v1/{path}", self.url));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let answer = self.authorized(request).send().await?;
        Ok(Answer { status: answer.status(), text: answer.text().await? })
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }
}

/// An answer of the server.
struct Answer {
    status: StatusCode,
    text: String,
}

impl Answer {
    /// The body, or the problem that the server reports.
    fn ok(self) -> Result<Value, Box<dyn Error>> {
        if self.status.is_success() {
            return Ok(serde_json::from_str(&self.text)?);
        }
        Err(format!("{}: {}", self.status, self.text).into())
    }
}
