//! Requests to the engine: work that it should store and hand out, and the state of an object. May not know what
//! the work is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::RequestBuilder;
use url::Url;
use uuid::Uuid;

use super::{INSTALLATION, ObjectState, Service, ServiceNames};

/// The time limit of a request to one node of the engine.
const SEND_TIME: Duration = Duration::from_secs(5);

/// The same for the state of an object, which a client waits for.
const READ_TIME: Duration = Duration::from_secs(1);

const NO_NODE: &str = "no node is configured";

/// Why a request to the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No node answered.
    #[error("the engine cannot be reached: {0}")]
    Unreachable(String),
    /// A node refused the request.
    #[error("the engine answered {status}: {text}")]
    Refused {
        /// The status code.
        status: u16,
        /// The start of its answer.
        text: String,
    },
}

/// Work for the engine.
#[derive(Clone, Debug)]
pub struct SentWork {
    /// The kind of the object.
    pub service: Service,
    /// The key of the object.
    pub key: Uuid,
    /// The installation that it belongs to.
    pub installation: Uuid,
    /// What attempts receive.
    pub input: Bytes,
}

/// A client of the engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EngineClient {
    http: reqwest::Client,
    names: ServiceNames,
    nodes: std::sync::Arc<Nodes>,
}

#[derive(Debug)]
struct Nodes {
    urls: Vec<Url>,
    next: AtomicUsize,
}

impl EngineClient {
    /// A client of the nodes at these addresses. Requests alternate between them.
    #[must_use]
    pub fn new(http: reqwest::Client, names: ServiceNames, urls: Vec<Url>) -> Self {
        Self { http, names, nodes: std::sync::Arc::new(Nodes { urls, next: AtomicUsize::new(0) }) }
    }

    /// Sends work. When this returns, it is stored, and an attempt starts when the ones before it at the same
    /// object have ended.
    pub async fn send(&self, work: SentWork) -> Result<(), EngineError> {
        let SentWork { service, key, installation, input } = work;
        let path = format!("{}/{key}/work/send", self.names.name(service));
        let first = self.nodes.next.fetch_add(1, Ordering::Relaxed);
        let mut failure = EngineError::Unreachable(NO_NODE.to_owned());
        // A request that is sent twice does no harm: attempts at the same object follow each other, and the second
        // finds nothing to do.
        for number in 0..self.nodes.urls.len() {
            let node = &self.nodes.urls[first.wrapping_add(number) % self.nodes.urls.len()];
            let request = self.request(node, &path, SEND_TIME);
            let request = request.header(INSTALLATION, installation.to_string());
            match answer(with_body(request, input.clone())).await {
                Ok(_) => return Ok(()),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// What attempts at a run have stored. A worker answers.
    pub async fn progress(&self, run: Uuid) -> Result<ObjectState, EngineError> {
        let path = format!("{}/{run}/progress", self.names.name(Service::Run));
        // One node is enough for what a client waits for.
        let first = self.nodes.next.fetch_add(1, Ordering::Relaxed);
        let node = self.nodes.urls.get(first % self.nodes.urls.len().max(1));
        let node = node.ok_or_else(|| EngineError::Unreachable(NO_NODE.to_owned()))?;
        let answer = answer(self.request(node, &path, READ_TIME)).await?;
        let state: std::collections::BTreeMap<String, String> = serde_json::from_slice(&answer)
            .map_err(|error| EngineError::Unreachable(error.to_string()))?;
        Ok(state.into_iter().map(|(name, text)| (name, text.into())).collect())
    }

    /// Whether a node answers.
    pub async fn ping(&self) -> Result<(), EngineError> {
        let mut failure = EngineError::Unreachable(NO_NODE.to_owned());
        for node in &self.nodes.urls {
            let url = format!("{}/restate/health", node.as_str().trim_end_matches('/'));
            match self.http.get(url).timeout(READ_TIME).send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => {
                    let (status, text) = (answer.status().as_u16(), String::new());
                    failure = EngineError::Refused { status, text };
                }
                Err(error) => failure = EngineError::Unreachable(chain(&error.without_url())),
            }
        }
        Err(failure)
    }

    fn request(&self, node: &Url, path: &str, limit: Duration) -> RequestBuilder {
        self.http.post(format!("{}/{path}", node.as_str().trim_end_matches('/'))).timeout(limit)
    }
}

fn with_body(request: RequestBuilder, body: Bytes) -> RequestBuilder {
    match body.is_empty() {
        true => request,
        false => request.header("content-type", "application/json").body(body),
    }
}

async fn answer(request: RequestBuilder) -> Result<Bytes, EngineError> {
    let unreachable = |error: reqwest::Error| EngineError::Unreachable(chain(&error.without_url()));
    let answer = request.send().await.map_err(unreachable)?;
    let status = answer.status().as_u16();
    let text = answer.bytes().await.map_err(unreachable)?;
    match status {
        200..=299 => Ok(text),
        _ => {
            let text = String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned();
            Err(EngineError::Refused { status, text })
        }
    }
}

/// An error with its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
