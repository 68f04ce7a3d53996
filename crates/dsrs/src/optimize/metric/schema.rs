//! The JSON Schema of metrics, for documentation and forms. MetricReader does not rest on it.

use super::judge::{GraphMetricConfig, JudgeMetricConfig};
use super::read::PLAIN;
use crate::document::config_schema;
use crate::value::{Map, Payload};

const FIELDS: &str = r#""field": {"type": "string", "description": "the output that is compared"},
    "fields": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "the outputs that are compared; by default all with an expected value"}"#;

const METRIC: &str = r#"{"type": ["string", "object"], "description": "a metric"}"#;

const INPUT_RULE: &str = "inputs are filled by name from the outputs of the graph and then from its inputs; `expected_NAME` is the expected value of `NAME`";

/// All forms of a metric.
pub(super) fn schema() -> Payload {
    let names: Vec<String> = PLAIN.iter().map(|name| format!("\"{name}\"")).collect();
    let plain = format!(
        r#"{{"type": "string", "enum": [{}], "description": "a comparison of all outputs with an expected value"}}"#,
        names.join(", ")
    );
    let fieldwise = |name: &str, about: &str| one(name, &options(FIELDS), about);
    let all = [
        plain,
        fieldwise("exact", "the output equals the expected value"),
        fieldwise(
            "normalized_exact",
            "the output equals the expected value, ignoring case, articles, punctuation and space",
        ),
        fieldwise("contains", "the output contains the expected value"),
        fieldwise("f1", "words or elements in common: the mean of precision and recall"),
        one("numeric", &numeric(), "the output is a number close to the expected one"),
        one(
            "expression",
            r#"{"type": "string"}"#,
            "a Jinja expression over `inputs`, `expected`, `outputs` and `trace` that evaluates to a number, or true or false for 1 and 0",
        ),
        one(
            "judge",
            &config_schema::<JudgeMetricConfig>().to_json(),
            &format!("an LM that judges; {INPUT_RULE}"),
        ),
        graph(),
        parts("mean", "the mean of the parts"),
        one("weighted", &weighted(), "the weighted mean of the parts"),
        parts("min", "the lowest score of the parts"),
        parts("max", "the highest score of the parts"),
        parts("product", "the product of the parts"),
        one("at_least", &at_least(), "1 if the metric reaches the threshold, else 0"),
    ];
    let text = format!(
        r#"{{"description": "the score of the outputs for an example, from 0 to 1", "oneOf": [{}]}}"#,
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
        r#"{FIELDS}, "tolerance": {{"type": "number", "minimum": 0, "default": 1e-6, "description": "the maximum difference"}},
        "relative": {{"type": "boolean", "default": false, "description": "whether the tolerance is a fraction of the expected number"}}"#
    ))
}

fn graph() -> String {
    let description = format!("a stored graph that judges; {INPUT_RULE}");
    let about = [("type", Payload::from("object")), ("description", description.into())];
    let mut members: Map = about.map(|(name, value)| (name.into(), value)).into_iter().collect();
    members.extend(config_schema::<GraphMetricConfig>().as_map().cloned().unwrap_or_default());
    Payload::map(members).to_json()
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
