//! A receiver of webhooks: records each message, and answers as a script says.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use ring::hmac;
use serde_json::Value;

use super::documented::check_message;
use super::found;

/// How a receiver answers a message.
#[derive(Clone, Copy, Debug)]
pub enum Receives {
    /// With a status.
    Status(u16),
    /// With a status and `Retry-After` in seconds.
    Later(u16, u64),
    /// With a redirect to itself.
    Redirect,
    /// Not at all.
    Stall,
    /// `200`, with a body that never ends.
    Endless,
}

/// A message that arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: String,
}

impl Received {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether one of its signatures is that of a secret, as the specification says.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let content = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let own = |signature: &str| {
            let signature = signature.strip_prefix("v1,").unwrap();
            hmac::verify(&key, content.as_bytes(), &STANDARD.decode(signature).unwrap()).is_ok()
        };
        self.signature.split(' ').any(own)
    }
}

type Script = dyn Fn(usize) -> Receives + Send + Sync;

/// A receiver on a port of its own.
#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    messages: Arc<Mutex<Vec<Received>>>,
    script: Arc<Script>,
}

impl Receiver {
    /// One that answers the message of each number, counted from 0, as the script says.
    pub async fn by(script: impl Fn(usize) -> Receives + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let receiver = Self { url, messages: Arc::default(), script: Arc::new(script) };
        let router = Router::new().fallback(receive).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        receiver
    }

    /// One that accepts everything.
    pub async fn friendly() -> Self {
        Self::by(|_| Receives::Status(204)).await
    }

    /// What has arrived so far. Each message is as the OpenAPI document describes it.
    pub fn messages(&self) -> Vec<Received> {
        let messages = self.messages.lock().unwrap().clone();
        messages.iter().for_each(check_message);
        messages
    }

    /// Waits for a number of messages.
    pub async fn arrived(&self, count: usize) -> Vec<Received> {
        let arrived = async || Some(self.messages()).filter(|all| all.len() >= count);
        found(&format!("{count} messages"), arrived).await
    }
}

async fn receive(State(receiver): State<Receiver>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let text = |headers: &HeaderMap, name: &str| headers[name].to_str().unwrap().to_owned();
    let received = Received {
        id: text(&head.headers, "webhook-id"),
        timestamp: text(&head.headers, "webhook-timestamp"),
        signature: text(&head.headers, "webhook-signature"),
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    let number = {
        let mut messages = receiver.messages.lock().unwrap();
        messages.push(received);
        messages.len() - 1
    };
    match (receiver.script)(number) {
        Receives::Status(status) => {
            (StatusCode::from_u16(status).unwrap(), "as you wish").into_response()
        }
        Receives::Later(status, seconds) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, [("retry-after", seconds.to_string())]).into_response()
        }
        Receives::Redirect => {
            (StatusCode::TEMPORARY_REDIRECT, [("location", receiver.url.clone())]).into_response()
        }
        Receives::Stall => std::future::pending().await,
        Receives::Endless => {
            Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>("more "))).into_response()
        }
    }
}
