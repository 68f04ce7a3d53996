//! The JSON Schema of metrics, for documentation and forms. MetricReader does not rest on it.

use super::read::PLAIN;
use crate::strategy::StoredGraphRef;
use crate::strategy::judging::judge_schema;
use crate::value::Payload;

const FIELDS: &str = r#""field": {"type": "string", "description": "the output that is compared"},
    "fields": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "the outputs that are compared; all of which something is expected when it is not said"}"#;

const METRIC: &str = r#"{"type": ["string", "object"], "description": "a metric"}"#;

const SCALE: &str = r#"{"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2, "description": "the worst score and the best that are given; 0 and 1 when it is not said"}"#;

const FEEDBACK: &str =
    r#"{"type": "string", "description": "the output that says in words why: a text"}"#;

const FED: &str = "inputs are filled by name from the outputs of the graph and then from its inputs; `expected_NAME` takes what the example expects of `NAME`";

/// All forms of a metric.
pub(super) fn schema() -> Payload {
    let names: Vec<String> = PLAIN.iter().map(|name| format!("\"{name}\"")).collect();
    let plain = format!(
        r#"{{"type": "string", "enum": [{}], "description": "a comparison of all outputs of which something is expected"}}"#,
        names.join(", ")
    );
    let fieldwise = |name: &str, about: &str| one(name, &options(FIELDS), about);
    let all = [
        plain,
        fieldwise("exact", "the output is what is expected"),
        fieldwise(
            "normalized_exact",
            "the output is what is expected, but for case, articles, punctuation and space",
        ),
        fieldwise("contains", "what is expected is found in the output"),
        fieldwise("f1", "words or elements in common: the mean of precision and recall"),
        one("numeric", &numeric(), "the output is a number near the one that is expected"),
        one(
            "expression",
            r#"{"type": "string"}"#,
            "a Jinja expression over `inputs`, `expected`, `outputs` and `trace` that gives a number, or true or false for 1 and 0",
        ),
        one("judge", &judge(), "an LM that judges"),
        graph(),
        parts("mean", "the mean of the parts"),
        one("weighted", &weighted(), "the mean of the parts by their weights"),
        parts("min", "the least of the parts"),
        parts("max", "the greatest of the parts"),
        parts("product", "the product of the parts"),
        one("at_least", &at_least(), "1 where the metric reaches the threshold, else 0"),
    ];
    let text = format!(
        r#"{{"description": "how good what a graph made of an example is, from 0 to 1", "oneOf": [{}]}}"#,
        all.join(", ")
    );
    // A test reads it: it is constant.
    Payload::from_json(&text).unwrap_or_default()
}

/// A metric that is an object of one member.
fn one(name: &str, options: &str, about: &str) -> String {
    format!(
        r#"{{"type": "object", "description": "{about}", "properties": {{"{name}": {options}}}, "required": ["{name}"], "additionalProperties": false}}"#
    )
}

fn parts(name: &str, about: &str) -> String {
    one(name, &format!(r#"{{"type": "array", "items": {METRIC}, "minItems": 1}}"#), about)
}

fn options(properties: &str) -> String {
    format!(
        r#"{{"type": "object", "properties": {{{properties}}}, "additionalProperties": false}}"#
    )
}

fn numeric() -> String {
    options(&format!(
        r#"{FIELDS}, "tolerance": {{"type": "number", "minimum": 0, "default": 1e-6, "description": "how far the number may be off"}},
        "relative": {{"type": "boolean", "default": false, "description": "whether that is a share of the number that is expected"}}"#
    ))
}

fn judge() -> String {
    let more = [("feedback", FEEDBACK), ("scale", SCALE)];
    let more = more.map(|(name, text)| (name, Payload::from_json(text).unwrap_or_default()));
    judge_schema(FED, more).to_json()
}

fn graph() -> String {
    let pin = StoredGraphRef::SCHEMA_MEMBERS;
    format!(
        r#"{{"type": "object", "description": "a stored graph that judges; {FED}", "properties": {{{pin},
        "score": {{"type": "string", "description": "the output that is the score: a number, or a bool; the one named `score`, or the only one, when it is not said"}},
        "feedback": {FEEDBACK}, "scale": {SCALE}}}, "required": ["graph"], "additionalProperties": false}}"#
    )
}

fn weighted() -> String {
    format!(
        r#"{{"type": "array", "minItems": 1, "items": {{"type": "object", "properties": {{"metric": {METRIC}, "weight": {{"type": "number", "exclusiveMinimum": 0}}}}, "required": ["metric", "weight"], "additionalProperties": false}}}}"#
    )
}

fn at_least() -> String {
    format!(
        r#"{{"type": "object", "properties": {{"metric": {METRIC}, "threshold": {{"type": "number", "minimum": 0, "maximum": 1}}}}, "required": ["metric", "threshold"], "additionalProperties": false}}"#
    )
}
