//! Requests to any of the servers. An answer may be lost: a server is killed, or loses its database.

use std::sync::Arc;

use serde_json::Value;

use super::servers::{SERVERS, Servers};
use dsrs_test::{PATIENCE, found, http_client};

#[derive(Clone)]
pub struct Caller {
    servers: Arc<Servers>,
    client: reqwest::Client,
}

/// An answer to a request.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
    /// The seconds of its date since 1970.
    pub date: i64,
}

impl Reply {
    /// Whether the work was accepted, or the question answered.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The code of a problem.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub fn id(&self) -> String {
        self.body["id"].as_str().unwrap_or_else(|| panic!("no id in {}", self.body)).to_owned()
    }

    /// Whether it says that the request should be repeated.
    fn is_unavailable(&self) -> bool {
        matches!(self.status, 429 | 503)
    }
}

/// A request: its path, an `Idempotency-Key` if it has one, and its body if it is a `POST`.
pub struct Ask<'a> {
    pub path: &'a str,
    pub key: Option<&'a str>,
    pub body: Option<Value>,
}

impl Caller {
    pub fn new(servers: Arc<Servers>) -> Self {
        Self { servers, client: http_client() }
    }

    /// Sends a request to one server; `None` if no answer arrives. No answer is another failure of the server than
    /// `503`.
    pub async fn send(&self, server: usize, ask: &Ask<'_>) -> Option<Reply> {
        let url = format!("{}{}", self.servers.url(server)?, ask.path);
        let mut request = match &ask.body {
            Some(body) => self
                .client
                .post(url)
                .header("content-type", "application/json")
                .body(body.to_string()),
            None => self.client.get(url),
        };
        if let Some(key) = ask.key {
            request = request.header("idempotency-key", key);
        }
        let answer = request.timeout(PATIENCE).send().await.ok()?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let text = answer.text().await.ok()?;
        assert!(status < 500 || status == 503, "{} is answered {status} {text}", ask.path);
        let date = chrono::DateTime::parse_from_rfc2822(headers["date"].to_str().unwrap());
        let (date, body) = (date.unwrap().timestamp(), serde_json::from_str(&text).unwrap());
        Some(Reply { status, body, date })
    }

    /// Starts work on one server after the other until one accepts it, from this one on. The body is made for each
    /// try: one whose answer is lost may have been accepted.
    pub async fn start(
        &self,
        first: usize,
        path: &str,
        body: impl Fn(usize) -> Value,
    ) -> (usize, Reply) {
        let mut number = 0;
        found(&format!("a server to accept {path}"), async || {
            let ask = Ask { path, key: None, body: Some(body(number)) };
            let reply = self.send(first + number, &ask).await;
            number += 1;
            let reply = reply?;
            if reply.is_success() {
                return Some((number - 1, reply));
            }
            assert!(reply.is_unavailable(), "{path}: {reply:?}");
            None
        })
        .await
    }

    /// Reads from one server after the other until one answers.
    pub async fn read(&self, first: usize, path: &str) -> Value {
        let mut number = first;
        found(&format!("a server to answer {path}"), async || {
            let ask = Ask { path, key: None, body: None };
            let reply = self.send(number, &ask).await;
            number += 1;
            let reply = reply?;
            if reply.status == 200 {
                return Some(reply.body);
            }
            assert!(reply.is_unavailable(), "{path}: {reply:?}");
            None
        })
        .await
    }

    /// Reads until the status is one of these.
    pub async fn until_status(&self, first: usize, path: &str, wanted: &[&str]) -> Value {
        let mut number = first;
        found(&format!("{path} to be one of {wanted:?}"), async || {
            let body = self.read(number, path).await;
            number += 1;
            wanted.iter().any(|status| body["status"] == *status).then_some(body)
        })
        .await
    }

    /// What a server considers the time, in seconds since 1970.
    pub async fn date(&self, server: usize) -> i64 {
        let ask = Ask { path: "/v1/graphs", key: None, body: None };
        self.send(server, &ask).await.unwrap().date
    }

    /// Another server.
    pub fn other(server: usize) -> usize {
        (server + 1) % SERVERS
    }
}
