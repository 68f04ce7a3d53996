//! Graphs that many tests post.

use serde_json::Value;

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
