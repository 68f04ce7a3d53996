//! Closed sets of the views: members whose value is one of a few words, as `enum` in the OpenAPI document, each a schema of
//! its own. The views themselves hold texts, which the store and the engine name. Knows no route.

use serde_json::{Map, Value, json};

use crate::protocol::status::ProblemCode;

/// A set of words, and the members of schemas that are one of them.
struct ClosedSet {
    name: &'static str,
    words: &'static [&'static str],
    members: &'static [(&'static str, &'static str)],
}

const SETS: &[ClosedSet] = &[
    ClosedSet {
        name: "AuditAction",
        words: &["create", "change", "activate", "delete", "revoke", "cancel"],
        members: &[("AuditEntry", "action")],
    },
    ClosedSet {
        name: "AuditKind",
        words: &[
            "graph",
            "state",
            "dataset",
            "online_evaluation",
            "key",
            "workspace",
            "run",
            "batch",
            "evaluation",
            "optimization",
            "index",
            "index_build",
            "webhook",
            "schedule",
        ],
        members: &[("AuditEntry", "kind")],
    },
    ClosedSet {
        name: "AuthorKind",
        words: &["client", "optimization"],
        members: &[("Author", "kind")],
    },
    ClosedSet {
        name: "JobStatus",
        words: &["queued", "running", "succeeded", "failed", "cancelled"],
        members: &[
            ("Batch", "status"),
            ("IndexBuild", "status"),
            ("ComparedEvaluation", "status"),
            ("Evaluation", "status"),
            ("Optimization", "status"),
        ],
    },
    ClosedSet {
        name: "BatchResultStatus",
        words: &["pending", "succeeded", "failed", "cancelled"],
        members: &[("BatchResult", "status")],
    },
    ClosedSet {
        name: "FinalStatus",
        words: &["succeeded", "failed", "cancelled"],
        members: &[
            ("RunMessageData", "status"),
            ("EvaluationMessageData", "status"),
            ("OptimizationMessageData", "status"),
        ],
    },
    ClosedSet {
        name: "DeliveryStatus",
        words: &["pending", "succeeded", "failed"],
        members: &[("Delivery", "status")],
    },
    ClosedSet {
        name: "FiringStatus",
        words: &["pending", "succeeded", "failed", "skipped", "missed"],
        members: &[("Firing", "status")],
    },
    ClosedSet {
        name: "ScheduleDisabledBecause",
        words: &["key", "never"],
        members: &[("Schedule", "disabled_because")],
    },
    ClosedSet {
        name: "DisabledBecause",
        words: &["failing", "gone"],
        members: &[("Webhook", "disabled_because")],
    },
    ClosedSet {
        name: "DemoChange",
        words: &["removed", "added", "moved", "changed"],
        members: &[("DemoDiff", "change")],
    },
    ClosedSet {
        name: "FieldFormat",
        words: &["json", "yaml", "text"],
        members: &[("Field", "format"), ("SignatureField", "format")],
    },
    ClosedSet { name: "HealthStatus", words: &["ok"], members: &[("Health", "status")] },
    ClosedSet {
        name: "LineageKind",
        words: &[
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
        members: &[("Lineage", "kind")],
    },
    ClosedSet {
        name: "MessageRole",
        words: &["system", "user", "assistant", "tool"],
        members: &[("Message", "role")],
    },
    ClosedSet {
        name: "ConstrainMode",
        words: &["auto", "none", "gbnf", "json_schema"],
        members: &[("Model", "constrain")],
    },
    ClosedSet {
        name: "ActivationMode",
        words: &["never", "if_better"],
        members: &[("Optimization", "activate"), ("OptimizationBody", "activate")],
    },
    ClosedSet {
        name: "StopReason",
        words: &["budget", "cancelled"],
        members: &[("OptimizationStop", "reason")],
    },
    ClosedSet { name: "DspyFormat", words: &["dspy"], members: &[("PutDspyState", "format")] },
    ClosedSet { name: "ReadyStatus", words: &["ready"], members: &[("Ready", "status")] },
    ClosedSet {
        name: "ResumeVerdict",
        words: &["kept", "again"],
        members: &[("ResumedNode", "verdict")],
    },
    ClosedSet {
        name: "RunStatus",
        words: &["queued", "running", "waiting", "succeeded", "failed", "cancelled"],
        members: &[("Run", "status"), ("RunItem", "status")],
    },
    ClosedSet {
        name: "NodeStatus",
        words: &["pending", "running", "succeeded", "failed", "skipped", "cancelled", "waiting"],
        members: &[("RunNode", "status")],
    },
    ClosedSet {
        name: "SpanKind",
        words: &["node", "attempt", "element", "round", "predictor", "lm", "embedding", "tool"],
        members: &[("Span", "kind")],
    },
    ClosedSet {
        name: "SpanConstraint",
        words: &["gbnf", "json_schema", "refused"],
        members: &[("Span", "constraint")],
    },
    ClosedSet {
        name: "SpanStatus",
        words: &["running", "waiting", "succeeded", "failed", "cancelled"],
        members: &[("Span", "status")],
    },
    ClosedSet { name: "ToolCallType", words: &["function"], members: &[("ToolCall", "type")] },
];

/// Completes the schemas of a document.
pub(super) fn complete(schemas: &mut Map<String, Value>) {
    for set in SETS {
        close(schemas, set.name, set.words, set.members);
    }
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
    close(schemas, "ProblemCode", &codes, &[("Problem", "code")]);
}

/// Adds a set, and refers to it from its members.
fn close(schemas: &mut Map<String, Value>, name: &str, words: &[&str], members: &[(&str, &str)]) {
    for (schema, member) in members {
        let found = schemas.get_mut(*schema).and_then(|schema| schema.pointer_mut("/properties"));
        let found = found.and_then(|members| members.get_mut(*member));
        if let Some(found) = found {
            *found = reference(name, found);
        }
    }
    schemas.insert(name.to_owned(), json!({"type": "string", "enum": words}));
}

/// A reference to a set in place of the text of a member, which may be null.
fn reference(name: &str, text: &Value) -> Value {
    let set = json!({"$ref": format!("#/components/schemas/{name}")});
    let may_be_null = text.get("type").is_some_and(Value::is_array)
        || text
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|words| words.contains(&Value::Null));
    let mut reference = if may_be_null { json!({"oneOf": [set, {"type": "null"}]}) } else { set };
    for name in ["description", "default"] {
        if let (Some(value), Some(reference)) = (text.get(name), reference.as_object_mut()) {
            reference.insert(name.to_owned(), value.clone());
        }
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_belongs_to_members_of_schemas() {
        let document = crate::openapi();
        for set in SETS {
            let pointer = format!("/components/schemas/{}/enum", set.name);
            assert_eq!(document.pointer(&pointer), Some(&json!(set.words)));
            for (schema, member) in set.members {
                let pointer = format!("/components/schemas/{schema}/properties/{member}");
                let found = document.pointer(&pointer).map(ToString::to_string).unwrap_or_default();
                assert!(found.contains(&format!("/{}\"", set.name)), "{pointer}: {found}");
            }
        }
    }
}
