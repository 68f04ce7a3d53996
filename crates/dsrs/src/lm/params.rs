//! The settings of a request. Does not know who set them or how a provider names them.

use std::sync::Arc;

use super::{ExtraBody, ExtraHeaders, OnLength, ReasoningEffort};

/// Settings of a request. `None` defers to the next level: the state, then the node, then the model
/// alias, then the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LmParams {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most output tokens, those of reasoning included.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Option<Vec<Arc<str>>>,
    /// How much a reasoning model reasons.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The provider's name of the class of service: `flex`, `priority`, …
    pub service_tier: Option<Arc<str>>,
    /// What happens to an answer that the limit cuts. No part of what is sent.
    pub on_length: Option<OnLength>,
    /// Further members of the request.
    pub extra_body: Option<ExtraBody>,
    /// Further headers of the request.
    pub extra_headers: Option<ExtraHeaders>,
}

impl LmParams {
    /// These settings, with missing ones from `defaults`. Extra members and headers are merged by name.
    #[must_use]
    pub fn over(&self, defaults: &Self) -> Self {
        Self {
            temperature: self.temperature.or(defaults.temperature),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            top_p: self.top_p.or(defaults.top_p),
            seed: self.seed.or(defaults.seed),
            stop: self.stop.clone().or_else(|| defaults.stop.clone()),
            reasoning_effort: self.reasoning_effort.or(defaults.reasoning_effort),
            service_tier: self.service_tier.clone().or_else(|| defaults.service_tier.clone()),
            on_length: self.on_length.or(defaults.on_length),
            extra_body: ExtraBody::merged(self.extra_body.as_ref(), defaults.extra_body.as_ref()),
            extra_headers: ExtraHeaders::merged(
                self.extra_headers.as_ref(),
                defaults.extra_headers.as_ref(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Payload;

    fn body(json: &str) -> Option<ExtraBody> {
        Some(ExtraBody::of(Payload::from_json(json).unwrap().as_map().unwrap()).unwrap())
    }

    #[test]
    fn a_level_overrides_the_next_one_setting_by_setting() {
        let node = LmParams {
            reasoning_effort: Some(ReasoningEffort::Low),
            extra_body: body(r#"{"a": 1, "b": {"x": 1}}"#),
            ..LmParams::default()
        };
        let alias = LmParams {
            temperature: Some(0.5),
            reasoning_effort: Some(ReasoningEffort::High),
            service_tier: Some("flex".into()),
            extra_body: body(r#"{"b": {"y": 2}, "c": 3}"#),
            ..LmParams::default()
        };
        let params = node.over(&alias);
        assert_eq!(params.temperature, Some(0.5));
        assert_eq!(params.reasoning_effort, Some(ReasoningEffort::Low));
        assert_eq!(params.service_tier.as_deref(), Some("flex"));
        let merged = params.extra_body.unwrap().to_payload().to_json();
        assert_eq!(merged, r#"{"b":{"x":1},"c":3,"a":1}"#);
    }
}
