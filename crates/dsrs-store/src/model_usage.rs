//! The usage of a run by the alias of the model, from its trace. May not know what a span is besides that.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Trace<'t> {
    #[serde(borrow)]
    spans: Vec<Span<'t>>,
}

/// A span, of which only requests to models have a usage. Traces of earlier releases have no aliases.
#[derive(Deserialize)]
struct Span<'t> {
    #[serde(borrow)]
    alias: Option<Cow<'t, str>>,
    #[serde(borrow)]
    model: Option<Cow<'t, str>>,
    usage: Option<SpanUsage>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
struct SpanUsage {
    lm_calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    reasoning_tokens: u64,
    cached_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    cost: Option<f64>,
}

impl std::ops::AddAssign for SpanUsage {
    fn add_assign(&mut self, other: Self) {
        self.lm_calls += other.lm_calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(two)) => Some(one + two),
        };
    }
}

#[derive(Serialize)]
struct ModelUsage<'t> {
    alias: &'t str,
    #[serde(flatten)]
    usage: SpanUsage,
}

/// The usage by alias as JSON text; `None` if no model was asked.
pub(super) fn model_usage(trace: &str) -> Option<String> {
    // Most of a trace without requests need not be read.
    if !trace.contains(r#""usage":{"#) {
        return None;
    }
    let trace: Trace<'_> = serde_json::from_str(trace).ok()?;
    let mut sums: BTreeMap<&str, SpanUsage> = BTreeMap::new();
    for span in &trace.spans {
        if let (Some(usage), Some(alias)) =
            (span.usage, span.alias.as_ref().or(span.model.as_ref()))
        {
            *sums.entry(alias).or_default() += usage;
        }
    }
    let sums: Vec<ModelUsage<'_>> =
        sums.into_iter().map(|(alias, usage)| ModelUsage { alias, usage }).collect();
    if sums.is_empty() { None } else { serde_json::to_string(&sums).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_each_alias_are_summed() {
        let usage = |input: u32, cost: &str| {
            format!(
                r#"{{"lm_calls":1,"input_tokens":{input},"output_tokens":1,"cached_tokens":0,"cost":{cost}}}"#
            )
        };
        let (one, two, three) = (usage(3, "0.5"), usage(4, "null"), usage(5, "0.25"));
        let trace = format!(
            r#"{{"spans":[{{"id":1,"kind":"node"}},{{"kind":"lm","alias":"fast","model":"m","usage":{one}}},
               {{"kind":"lm","model":"an \"old\" trace","usage":{two}}},{{"alias":"fast","usage":{three}}}]}}"#
        );
        let found = model_usage(&trace).unwrap();
        let expected = r#"[{"alias":"an \"old\" trace","lm_calls":1,"input_tokens":4,"output_tokens":1,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":null},{"alias":"fast","lm_calls":2,"input_tokens":8,"output_tokens":2,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":0.75}]"#;
        assert_eq!(found, expected);
        assert_eq!(model_usage(r#"{"spans":[{"kind":"node"}]}"#), None);
        assert_eq!(model_usage(""), None);
    }
}
