//! The usage of a run by the alias of the model, from its trace. May not know what a span is besides that.

use std::borrow::Cow;
use std::collections::BTreeMap;

use dsrs::lm::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::run_usage::usage_of_json;

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
    #[serde(borrow)]
    usage: Option<&'t RawValue>,
}

/// What was asked of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUsage {
    pub alias: String,
    pub usage: Usage,
}

impl ModelUsage {
    /// The sums of requests with the alias of each, in the order of the aliases.
    pub fn sums<'a>(requests: impl Iterator<Item = (&'a str, Usage)>) -> Vec<Self> {
        let mut sums: BTreeMap<&str, Usage> = BTreeMap::new();
        requests.for_each(|(alias, usage)| *sums.entry(alias).or_default() += usage);
        sums.into_iter().map(|(alias, usage)| Self { alias: alias.to_owned(), usage }).collect()
    }
}

/// The usage by alias, in its order; empty if no model was asked.
pub(crate) fn model_usage(trace: &str) -> Vec<ModelUsage> {
    // Most of a trace without requests need not be read.
    if !trace.contains(r#""usage":{"#) {
        return Vec::new();
    }
    let Ok(trace) = serde_json::from_str::<Trace<'_>>(trace) else { return Vec::new() };
    ModelUsage::sums(trace.spans.iter().filter_map(|span| {
        let alias = span.alias.as_deref().or(span.model.as_deref())?;
        Some((alias, usage_of_json(span.usage?.get())))
    }))
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
        let found = model_usage(&trace);
        let usage = |calls, input, cost| Usage {
            lm_calls: calls,
            input_tokens: input,
            output_tokens: calls,
            cost,
            ..Usage::default()
        };
        let expected = [
            ModelUsage { alias: "an \"old\" trace".to_owned(), usage: usage(1, 4, None) },
            ModelUsage { alias: "fast".to_owned(), usage: usage(2, 8, Some(0.75)) },
        ];
        assert_eq!(found, expected);
        assert_eq!(model_usage(r#"{"spans":[{"kind":"node"}]}"#), []);
        assert_eq!(model_usage(""), []);
    }
}
