//! Values that the examples of several views share: ids, times, and the documents of one graph.

use chrono::{DateTime, Utc};
use dsrs::value::Payload;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{RawJson, RawMembers};

/// The id of an example.
pub(crate) const ID: Uuid = Uuid::from_u128(0x0199_0d5e_7c1c_7b7e_9d8a_0c2f_0f1f_2f3f);

/// The name of the graph.
pub(crate) const GRAPH: &str = "support-reply";

/// The description of the graph.
pub(crate) const DESCRIPTION: &str = "Draft a reply to a ticket";

/// The content hash of the graph.
pub(crate) const HASH: &str = "44c6f49624baca85f3014eee0f4a8014b7f3867889be36b062454f9243e4afd1";

/// The client of an example.
pub(crate) const CLIENT: &str = "anonymous";

/// The instruction that the signature of `triage` has.
pub(crate) const OWN_INSTRUCTION: &str = "Read `ticket`, then write `mood` and `topics`.";

/// The instruction that the state of `triage` has.
pub(crate) const INSTRUCTION: &str = "Judge how the customer feels.";

/// The resolved definition of the graph.
pub(crate) const DEFINITION: &str = r#"{
    "name": "support-reply",
    "description": "Draft a reply to a ticket",
    "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
    "inputs": {"ticket": "str"},
    "nodes": {
        "triage": {
            "strategy": "predict",
            "signature": {
                "instructions": "Read `ticket`, then write `mood` and `topics`.",
                "inputs": [{"name": "ticket", "type": "str"}],
                "outputs": [
                    {"name": "mood", "type": "Mood"},
                    {"name": "topics", "type": "list[str]"}
                ]
            },
            "config": {},
            "lm": {"model": "default"},
            "timeout_ms": 60000,
            "retries": 2,
            "parse_retries": 1
        },
        "reply": {
            "strategy": "chain_of_thought",
            "signature": {
                "instructions": "Answer politely.",
                "inputs": [{"name": "ticket", "type": "str"}, {"name": "mood", "type": "Mood"}],
                "outputs": [{"name": "answer", "type": "str"}]
            },
            "config": {},
            "lm": {"model": "default", "temperature": 0.2, "max_tokens": 400},
            "timeout_ms": 60000,
            "retries": 2,
            "parse_retries": 1
        }
    },
    "edges": [
        {"from": "input.ticket", "to": "triage.ticket"},
        {"from": "input.ticket", "to": "reply.ticket"},
        {"from": "triage.mood", "to": "reply.mood"}
    ],
    "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
}"#;

/// The point in time of an example, some seconds after the first one.
pub(crate) fn time(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_757_000_000 + seconds, 250_000_000).unwrap_or_default()
}

/// A value as the stored text of it.
pub(crate) fn raw(value: &impl Serialize) -> RawJson<'static> {
    serde_json::to_string(value).unwrap_or_default().into()
}

/// A value as a payload of the engine.
pub(crate) fn payload(value: &Value) -> Payload {
    Payload::from_json(&value.to_string()).unwrap_or(Payload::Null)
}

pub(crate) fn definition() -> RawMembers<'static> {
    RawMembers::read(DEFINITION)
}

/// The inputs of a run.
pub(crate) fn inputs() -> Value {
    json!({"ticket": "My parcel has not arrived."})
}

/// A demo of `triage`.
pub(crate) fn demo() -> Value {
    json!({
        "input": {"ticket": "Where is my refund?!"},
        "output": {"mood": "angry", "topics": ["refund"]}
    })
}
