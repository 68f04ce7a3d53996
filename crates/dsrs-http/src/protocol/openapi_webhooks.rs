//! The messages that the server sends, as `webhooks` of the OpenAPI document: headers, bodies and the answers that it
//! expects. Knows no event.

use serde_json::{Map, Value, json};

pub(crate) struct WebhookMessage {
    /// The event: `type` of the message.
    pub(crate) event: &'static str,
    /// What it reports.
    pub(crate) summary: &'static str,
    /// The name of the schema of `data`.
    pub(crate) data: String,
    /// An example of `data`.
    pub(crate) example: Value,
}

impl WebhookMessage {
    /// The name of its schema: `RunFinishedMessage` for `run.finished`.
    fn schema_name(&self) -> String {
        let mut name: String = self.event.split('.').map(capitalized).collect();
        name.push_str("Message");
        name
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "description": format!("{}.", self.summary),
            "required": ["type", "timestamp", "data"],
            "properties": {
                "type": {"type": "string", "enum": [self.event], "description": "The event."},
                "timestamp": {
                    "type": "string", "format": "date-time", "description": "The time when the event happened."
                },
                "data": {"$ref": reference(&self.data), "description": "The contents of the message."},
            },
            "examples": [{
                "type": self.event, "timestamp": "2025-09-04T15:33:20.250000Z", "data": self.example
            }]
        })
    }

    fn operation(&self) -> Value {
        let schema = json!({"$ref": reference(&self.schema_name())});
        json!({
            "tags": ["webhooks"],
            "summary": self.summary,
            "description": DESCRIPTION,
            "operationId": format!("{}_message", self.event.replace('.', "_")),
            "security": [],
            "parameters": headers(),
            "requestBody": {
                "required": true,
                "content": {"application/json": {"schema": schema}}
            },
            "responses": {
                "2XX": {"description": "Accepts the message, whatever the body is"},
                "410": {"description": "Disables the webhook"},
                "default": {
                    "description": "Anything else, a redirect too: the message is sent again later. `Retry-After` in \
                        seconds is honoured"
                }
            }
        })
    }
}

const DESCRIPTION: &str =
    "Sent to the URL of each webhook with this event, at least once: remember `webhook-id`.";

/// Adds the messages to a document, and their schemas to those of the document.
pub(super) fn add(document: &mut Map<String, Value>, messages: &[WebhookMessage]) {
    let item =
        |message: &WebhookMessage| (message.event.to_owned(), json!({"post": message.operation()}));
    document.insert("webhooks".to_owned(), Value::Object(messages.iter().map(item).collect()));
}

/// The schemas of messages by name.
pub(super) fn schemas(
    messages: &[WebhookMessage],
) -> impl Iterator<Item = (String, Value)> + use<'_> {
    messages.iter().map(|message| (message.schema_name(), message.schema()))
}

/// The headers of every message, as the specification Standard Webhooks has them.
fn headers() -> Value {
    let header = |name: &str, description: &str, schema: Value, example: Value| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": schema, "example": example
        })
    };
    json!([
        header(
            "webhook-id",
            "The id of the event, the same for every attempt and every replay",
            json!({"type": "string", "format": "uuid"}),
            json!("01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f"),
        ),
        header(
            "webhook-timestamp",
            "The time of the attempt, in seconds since 1970",
            json!({"type": "string", "pattern": "^[0-9]+$"}),
            json!("1757000000"),
        ),
        header(
            "webhook-signature",
            "`v1,` and the Base64 of the HMAC-SHA256 of `id.timestamp.body`; several with spaces between them during a \
             rotation of the secret",
            json!({"type": "string", "pattern": "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$"}),
            json!("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ),
    ])
}

fn reference(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
