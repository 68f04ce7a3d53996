//! How an answer ended. Each provider has words of its own for it; they are read here and nowhere else.

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model finished it or calls tools, or the provider does not say.
    Finished,
    /// A limit of tokens cut it.
    Cut,
    /// A filter, the provider or the model itself refused the rest of it.
    Filtered,
    /// The provider failed before its end.
    Failed,
}

/// Reasons of an answer that a limit cut: OpenAI, Anthropic, OpenAI's responses, Mistral, Hugging Face.
const CUT: [&str; 8] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "incomplete",
    "model_context_window_exceeded",
    "model_length",
    "token_limit",
];

/// Reasons of a filtered answer: OpenAI, Anthropic, Gemini, Bedrock, Cohere, Zhipu.
const FILTERED: [&str; 17] = [
    "content_filter",
    "content_filtered",
    "refusal",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "language",
    "model_armor",
    "image_safety",
    "image_prohibited_content",
    "image_recitation",
    "guardrail_intervened",
    "error_toxic",
    "sensitive",
    "blocked",
];

/// Reasons of an answer during which the provider failed: OpenRouter, vLLM and SGLang, DeepSeek, Zhipu, Gemini,
/// Bedrock, Cohere.
const FAILED: [&str; 18] = [
    "error",
    "failed",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "timeout",
    "network_error",
    "insufficient_system_resource",
    "malformed_function_call",
    "malformed_response",
    "missing_thought_signature",
    "too_many_tool_calls",
    "unexpected_tool_call",
    "malformed_model_output",
    "malformed_tool_use",
    "error_limit",
    "other_error",
];

impl AnswerEnd {
    /// The end that a provider's finish reason means. What stands behind a colon is a detail.
    #[must_use]
    pub fn of_reason(reason: &str) -> Self {
        let word = reason.split(':').next().unwrap_or_default().trim();
        let is_one_of = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        if is_one_of(&CUT) {
            Self::Cut
        } else if is_one_of(&FILTERED) {
            Self::Filtered
        } else if is_one_of(&FAILED) {
            Self::Failed
        } else {
            Self::Finished
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_every_provider_are_known() {
        for word in ["stop", "end_turn", "STOP", "COMPLETE", "tool_calls", "eos", "MALFORMED", ""] {
            assert_eq!(AnswerEnd::of_reason(word), AnswerEnd::Finished, "{word}");
        }
        for word in ["length", "max_tokens", "MAX_TOKENS", "incomplete"] {
            assert_eq!(AnswerEnd::of_reason(word), AnswerEnd::Cut, "{word}");
        }
        for word in ["content_filter", "refusal", "SAFETY", "content_filter: RECITATION"] {
            assert_eq!(AnswerEnd::of_reason(word), AnswerEnd::Filtered, "{word}");
        }
        let failed = ["error", "abort", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"];
        for word in failed.into_iter().chain(["MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"]) {
            assert_eq!(AnswerEnd::of_reason(word), AnswerEnd::Failed, "{word}");
        }
    }
}
