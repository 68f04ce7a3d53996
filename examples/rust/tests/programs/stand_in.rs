//! A stand-in for the endpoint of an LM: answers chat completions like the script of the examples, and
//! records the requests byte by byte. Knows nothing of graphs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Json;
use axum::routing::post;
use dsrs_examples::model;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The bodies of requests, in order.
type Bodies = Arc<Mutex<Vec<Bytes>>>;

/// The endpoint; it ends with the runtime of the test.
pub(crate) struct StandIn {
    /// The address that a server is given for its model.
    pub(crate) url: String,
    bodies: Bodies,
}

impl StandIn {
    pub(crate) async fn start() -> Self {
        let bodies = Bodies::default();
        let chat = Router::new().route("/v1/chat/completions", post(complete));
        let router = chat.with_state(bodies.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, bodies }
    }

    /// The `messages` of every request so far, as the bytes that arrived; then none.
    pub(crate) fn take_messages(&self) -> Vec<String> {
        let bodies = std::mem::take(&mut *self.bodies.lock().unwrap());
        let messages = |body: &Bytes| {
            let members: HashMap<String, Box<RawValue>> = serde_json::from_slice(body).unwrap();
            members["messages"].get().to_owned()
        };
        bodies.iter().map(messages).collect()
    }
}

async fn complete(State(bodies): State<Bodies>, body: Bytes) -> Json<Value> {
    let request: Value = serde_json::from_slice(&body).unwrap();
    bodies.lock().unwrap().push(body);
    let messages = request["messages"].as_array().unwrap().iter();
    let conversation: String = messages.filter_map(|message| message["content"].as_str()).collect();
    let message = json!({"role": "assistant", "content": model::reply(&conversation)});
    Json(json!({
        "model": "stand-in",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}
    }))
}
