//! The tokens that an answer reports, in the members of each provider. docs/endpoints.md has the arithmetic of
//! providers, with its sources.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::lm::Usage;

#[derive(Deserialize)]
pub(super) struct TokenCounts {
    #[serde(default)]
    prompt_tokens: TokenCount,
    #[serde(default)]
    completion_tokens: TokenCount,
    #[serde(default)]
    total_tokens: TokenCount,
    #[serde(default)]
    prompt_tokens_details: Option<PromptTokenDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionTokenDetails>,
    /// The cached tokens, as DeepSeek names them.
    #[serde(default)]
    prompt_cache_hit_tokens: TokenCount,
    /// What the request cost, as OpenRouter reports it.
    #[serde(default)]
    cost: Option<Value>,
}

#[derive(Deserialize)]
struct PromptTokenDetails {
    #[serde(default)]
    cached_tokens: TokenCount,
    /// As OpenRouter and LiteLLM name it.
    #[serde(default, alias = "cache_creation_tokens")]
    cache_write_tokens: TokenCount,
}

#[derive(Deserialize)]
struct CompletionTokenDetails {
    #[serde(default)]
    reasoning_tokens: TokenCount,
}

/// A number of tokens. Some servers write it as a float or as a text; an odd one does not spoil an answer that
/// was paid for.
#[derive(Clone, Copy, Default)]
struct TokenCount(Option<u64>);

/// More tokens than any request has.
const MOST_TOKENS: u64 = 1 << 40;

impl TokenCount {
    fn of(number: f64) -> Self {
        // A cast saturates.
        Self((number >= 0.0).then_some((number as u64).min(MOST_TOKENS)))
    }
}

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenCountVisitor)
    }
}

struct TokenCountVisitor;

impl<'de> Visitor<'de> for TokenCountVisitor {
    type Value = TokenCount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E>(self, number: u64) -> Result<TokenCount, E> {
        Ok(TokenCount(Some(number.min(MOST_TOKENS))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<TokenCount, E> {
        Ok(TokenCount::of(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<TokenCount, E> {
        Ok(TokenCount::of(number))
    }

    fn visit_str<E>(self, digits: &str) -> Result<TokenCount, E> {
        Ok(digits.trim().parse().map_or(TokenCount(None), TokenCount::of))
    }

    fn visit_unit<E>(self) -> Result<TokenCount, E> {
        Ok(TokenCount(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<TokenCount, E> {
        Ok(TokenCount(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<TokenCount, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(TokenCount(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<TokenCount, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(TokenCount(None))
    }
}

impl TokenCounts {
    /// The tokens of reasoning that are missing from those of the completion: xAI and Gemini count them only in the
    /// total.
    fn uncounted_reasoning(&self, reasoning: u64) -> u64 {
        let count = |count: TokenCount| count.0.unwrap_or(0);
        let counted = count(self.prompt_tokens) + count(self.completion_tokens);
        let missing = count(self.total_tokens).saturating_sub(counted);
        if reasoning == 0 { missing } else { missing.min(reasoning) }
    }
}

/// The usage of an answer.
pub(super) fn usage(tokens: Option<TokenCounts>) -> Usage {
    let mut usage = Usage { lm_calls: 1, ..Usage::default() };
    let Some(tokens) = tokens else { return usage };
    usage.input_tokens = tokens.prompt_tokens.0.unwrap_or(0);
    let cost = tokens.cost.as_ref().and_then(Value::as_f64);
    usage.cost = cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
    let details = tokens.completion_tokens_details.as_ref();
    let reasoning = details.and_then(|details| details.reasoning_tokens.0).unwrap_or(0);
    let uncounted = tokens.uncounted_reasoning(reasoning);
    usage.output_tokens = tokens.completion_tokens.0.unwrap_or(0) + uncounted;
    let (mut cached, mut written) = (tokens.prompt_cache_hit_tokens.0.unwrap_or(0), 0);
    if let Some(details) = tokens.prompt_tokens_details {
        cached = details.cached_tokens.0.unwrap_or(cached);
        written = details.cache_write_tokens.0.unwrap_or(0);
    }
    // These are parts of the others.
    usage.reasoning_tokens = reasoning.max(uncounted).min(usage.output_tokens);
    usage.cached_tokens = cached.min(usage.input_tokens);
    usage.cache_write_tokens = written.min(usage.input_tokens - usage.cached_tokens);
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(counts: &str) -> Usage {
        usage(Some(serde_json::from_str(counts).unwrap()))
    }

    /// The answer of each provider to a question that took 100 tokens of reasoning and 20 of answer.
    #[test]
    fn reasoning_is_a_part_of_the_output_however_a_provider_counts_it() {
        let openai = r#"{"prompt_tokens":30,"completion_tokens":120,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":100}}"#;
        let xai = r#"{"prompt_tokens":30,"completion_tokens":20,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":100}}"#;
        let gemini = r#"{"prompt_tokens":30,"completion_tokens":20,"total_tokens":150}"#;
        for counts in [openai, xai, gemini] {
            let usage = read(counts);
            assert_eq!((usage.output_tokens, usage.input_tokens), (120, 30), "{counts}");
        }
        assert_eq!([openai, xai, gemini].map(|counts| read(counts).reasoning_tokens), [100; 3]);
        let without_total = r#"{"prompt_tokens":30,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":100}}"#;
        assert_eq!(read(without_total).output_tokens, 20);
    }

    #[test]
    fn odd_numbers_of_tokens_do_not_spoil_an_answer() {
        for (written, tokens) in [
            (r#""12""#, 12),
            ("12.0", 12),
            ("-5", 0),
            ("18446744073709551615", MOST_TOKENS),
            ("[1]", 0),
            (r#"{"a":1}"#, 0),
            ("true", 0),
            ("null", 0),
        ] {
            let usage = read(&format!(
                r#"{{"prompt_tokens":{written},"completion_tokens":3,"cost":"free",
                "prompt_tokens_details":{{"cached_tokens":99}},
                "completion_tokens_details":{{"reasoning_tokens":99}}}}"#
            ));
            assert_eq!(usage.input_tokens, tokens, "{written}");
            assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (tokens.min(99), 3));
            assert_eq!(usage.cost, None);
        }
    }
}
