//! Closed sets of the views: members whose value is one of a few words, as `enum` in the OpenAPI document. The views
//! themselves hold texts, which the store and the engine name. Knows no route.

use serde_json::{Map, Value, json};

use crate::http::protocol::status::ProblemCode;

/// The words of a member: its schema, its name, and what it may be.
const SETS: &[(&str, &str, &[&str])] = &[
    ("AuditEntry", "action", &["create", "change", "activate", "delete", "revoke", "cancel"]),
    (
        "AuditEntry",
        "kind",
        &[
            "graph",
            "state",
            "dataset",
            "key",
            "workspace",
            "run",
            "batch",
            "evaluation",
            "optimization",
        ],
    ),
    ("Author", "kind", &["client", "optimization"]),
    ("Batch", "status", JOB),
    ("BatchResult", "status", &["pending", "succeeded", "failed", "cancelled"]),
    ("ComparedEvaluation", "status", JOB),
    ("DemoDiff", "change", &["removed", "added", "moved", "changed"]),
    ("Evaluation", "status", JOB),
    ("Field", "format", &["json", "yaml", "text"]),
    ("Health", "status", &["ok"]),
    (
        "Lineage",
        "kind",
        &[
            "text",
            "fstring",
            "response",
            "structured",
            "int",
            "float",
            "error",
            "tool_result",
            "binary",
            "bool",
            "null",
            "list",
            "tuple",
            "other",
        ],
    ),
    ("Message", "role", &["system", "user", "assistant", "tool"]),
    ("Model", "constrain", &["none", "gbnf", "json_schema"]),
    ("Optimization", "activate", &["never", "if_better"]),
    ("Optimization", "status", JOB),
    ("OptimizationStop", "reason", &["budget", "cancelled"]),
    ("PutDspyState", "format", &["dspy"]),
    ("Ready", "status", &["ready"]),
    ("ResumedNode", "verdict", &["kept", "again"]),
    ("Run", "status", RUN),
    ("RunItem", "status", RUN),
    (
        "RunNode",
        "status",
        &["pending", "running", "succeeded", "failed", "skipped", "cancelled", "waiting"],
    ),
    ("Span", "kind", &["node", "attempt", "element", "predictor", "lm", "embedding", "tool"]),
    ("Span", "constraint", &["gbnf", "json_schema", "refused"]),
    ("Span", "status", &["running", "waiting", "succeeded", "failed", "cancelled"]),
    ("ToolCall", "type", &["function"]),
];

const JOB: &[&str] = &["queued", "running", "succeeded", "failed", "cancelled"];

const RUN: &[&str] = &["queued", "running", "waiting", "succeeded", "failed", "cancelled"];

/// Completes the schemas of a document.
pub(super) fn complete(schemas: &mut Map<String, Value>) {
    for (schema, member, words) in SETS {
        close(schemas, schema, member, words);
    }
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
    close(schemas, "Problem", "code", &codes);
}

/// Gives a member its words, and null if it may be null.
fn close(schemas: &mut Map<String, Value>, schema: &str, member: &str, words: &[&str]) {
    let found = schemas.get_mut(schema).and_then(|schema| schema.pointer_mut("/properties"));
    let found = found.and_then(|members| members.get_mut(member)).and_then(Value::as_object_mut);
    let Some(found) = found else { return };
    let mut values: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    if found.get("type").is_some_and(Value::is_array) {
        values.push(Value::Null);
    }
    found.remove("pattern");
    found.insert("enum".to_owned(), Value::Array(values));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_belongs_to_a_member_of_a_schema() {
        let document = crate::http::openapi();
        for (schema, member, words) in SETS {
            let pointer = format!("/components/schemas/{schema}/properties/{member}/enum");
            let found = document.pointer(&pointer).and_then(Value::as_array).expect(&pointer);
            assert!(words.iter().all(|word| found.contains(&json!(word))), "{pointer}");
        }
    }
}
