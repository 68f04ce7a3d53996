//! Messages to the MCP server of a running server: the headers of its transport, and answers of either form. Knows no
//! method of the protocol but `initialize`.

use std::sync::{Mutex, PoisonError};

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use super::{AnswerEvents, ClientError, ServerCall, ServerConnection};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Where a message names the version of the protocol, in the versions without `initialize`.
const OWN_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// The MCP server of a running server, for one client.
pub(crate) struct McpServerConnection {
    server: ServerConnection,
    /// What `initialize` agreed on.
    agreed: Mutex<Agreed>,
}

#[derive(Clone, Default)]
struct Agreed {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// The messages that answer one. Dropping them disconnects, which cancels a call.
pub(crate) enum McpAnswer {
    /// The last one; nothing for a notification.
    Whole(Option<Value>),
    /// Some, as they arrive.
    Events(AnswerEvents),
}

impl McpServerConnection {
    pub(crate) fn new(server: ServerConnection) -> Self {
        Self { server, agreed: Mutex::default() }
    }

    /// Whether the server knows this client's requests by their ids.
    pub(crate) fn has_session(&self) -> bool {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).session.is_some()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// There is no answer, or it is a refusal that is no message.
    pub(crate) async fn send(&self, message: &Value) -> Result<McpAnswer, ClientError> {
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let both = HeaderValue::from_static("application/json, text/event-stream");
        let mut call =
            self.server.root_call(Method::POST, &["mcp"]).document(message).header(ACCEPT, both);
        for (name, value) in headers(message, agreed) {
            call = call.header(name, value);
        }
        self.read(message, call).await
    }

    async fn read(&self, message: &Value, call: ServerCall) -> Result<McpAnswer, ClientError> {
        let (answer, url) = call.answer().await?;
        let media_type = answer.headers().get("content-type");
        let begins = |with: &str| {
            media_type.is_some_and(|found| found.as_bytes().starts_with(with.as_bytes()))
        };
        if begins("text/event-stream") {
            return Ok(McpAnswer::Events(AnswerEvents::new(answer, url)));
        }
        let session = answer.headers().get(SESSION).cloned();
        let found = document(answer, url).await?;
        if message["method"] == "initialize" {
            let version =
                found.as_ref().and_then(|found| found["result"]["protocolVersion"].as_str());
            let version = version.and_then(|version| HeaderValue::try_from(version).ok());
            let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
            *agreed = Agreed { session, version };
        }
        Ok(McpAnswer::Whole(found))
    }
}

/// The headers that repeat what a message says.
fn headers(message: &Value, agreed: Agreed) -> Vec<(HeaderName, HeaderValue)> {
    let value = |text: &str| HeaderValue::try_from(text).ok();
    let mut found = vec![(SESSION, agreed.session)];
    match message.pointer(OWN_VERSION).and_then(Value::as_str) {
        None => found.push((VERSION, agreed.version)),
        Some(version) => {
            let params = &message["params"];
            let name = params["name"].as_str().or_else(|| params["uri"].as_str());
            found.push((VERSION, value(version)));
            found.push((METHOD, message["method"].as_str().and_then(value)));
            found.push((NAME, name.and_then(value)));
        }
    }
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The message of an answer, also of a refusal that is one.
async fn document(answer: Response, url: String) -> Result<Option<Value>, ClientError> {
    let status = answer.status();
    let text = answer.text().await.map_err(|error| super::call::incomplete(&url, &error))?;
    if status.is_success() && text.trim().is_empty() {
        return Ok(None);
    }
    let foreign = || ClientError::Foreign { url: url.clone(), status: status.as_u16() };
    let found: Value = serde_json::from_str(&text).map_err(|_| foreign())?;
    if found.get("jsonrpc").is_some() {
        return Ok(Some(found));
    }
    match serde_json::from_value(found) {
        Ok(problem) => Err(ClientError::Refused(Box::new(problem))),
        Err(_) => Err(foreign()),
    }
}
