//! The kind of a failure, from its status and the words of the provider. Phrases and codes of providers are here
//! and nowhere else; docs/endpoints.md has their sources.

use serde_json::Value;

use crate::lm::{DecodingConstraint, LmErrorKind, LmRequest};

/// Marks of a conversation that exceeds the context of the model: the codes of OpenAI and llama.cpp,
/// then phrases of these, vLLM, Ollama, Anthropic and Gemini.
const OVERFLOWS: [&str; 10] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "exceeds the available context size",
    "exceed context limit",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "exceeds the maximum number of tokens",
];

/// Marks of credit or a quota that is used up: OpenAI, DeepSeek, Anthropic, Moonshot, xAI, Gemini (a quota of a
/// day), DashScope, Together. OpenAI and Gemini share a sentence, which Gemini also writes about a quota of a minute.
const QUOTAS: [&str; 16] = [
    "insufficient_quota",
    "insufficient quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credits",
    "insufficient_credits",
    "insufficient funds",
    "credit balance is too low",
    "exceeded_current_quota",
    "billing_hard_limit",
    "billing_not_active",
    "used all available credits",
    "monthly spending limit",
    "perdayperproject",
    "arrearage",
    "credit_limit",
];

/// Marks of a refusal by a filter: Azure, OpenAI, Anthropic, DeepSeek, DashScope, OpenRouter.
const FILTERS: [&str; 9] = [
    "content_filter",
    "responsibleaipolicyviolation",
    "content management policy",
    "content_policy_violation",
    "content filtering policy",
    "content exists risk",
    "data_inspection_failed",
    "input was flagged",
    "requires moderation",
];

/// Marks of a limit of the rate in an error that names no status.
const RATES: [&str; 4] = ["rate_limit", "rate limit", "resource_exhausted", "too many requests"];

/// The kind of failure of a status alone.
pub(super) const fn of_status(status: u16) -> LmErrorKind {
    match status {
        402 => LmErrorKind::QuotaExhausted,
        429 => LmErrorKind::RateLimited,
        408 | 409 | 500.. => LmErrorKind::Provider,
        _ => LmErrorKind::Refused,
    }
}

/// The kind of an answer that is a failure. Without a request, a constraint is not considered.
pub(super) fn of_answer(status: u16, body: &[u8], request: Option<&LmRequest>) -> LmErrorKind {
    let text = String::from_utf8_lossy(body).to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    let is_refused = of_status(status) == LmErrorKind::Refused;
    if has(&QUOTAS) {
        LmErrorKind::QuotaExhausted
    } else if is_refused && has(&FILTERS) {
        LmErrorKind::Filtered
    } else if status != 429 && has(&OVERFLOWS) {
        // A 429 is about tokens per minute instead.
        LmErrorKind::ContextOverflow
    } else if request.is_some_and(|request| refuses_constraint(status, &text, request)) {
        LmErrorKind::ConstraintRefused
    } else {
        of_status(status)
    }
}

/// The kind of an error in an answer that had begun well: its own status, else its words, else a failure of the
/// provider.
pub(super) fn of_error(body: &[u8], request: Option<&LmRequest>) -> LmErrorKind {
    let answer = serde_json::from_slice(body).unwrap_or(Value::Null);
    if let Some(status) = error_in(&answer).and_then(status_of) {
        return of_answer(status, body, request);
    }
    let text = String::from_utf8_lossy(body).to_lowercase();
    if RATES.iter().any(|mark| text.contains(mark)) {
        return of_answer(429, body, request);
    }
    of_answer(500, body, request)
}

/// The error in an answer. OpenRouter also writes it into a choice, vLLM makes it the whole answer, Gemini puts
/// it into a list.
pub(super) fn error_in(answer: &Value) -> Option<&Value> {
    let answer = answer.get(0).unwrap_or(answer);
    let places = [answer.get("error"), answer.pointer("/choices/0/error")];
    let is_error = answer.get("object").and_then(Value::as_str) == Some("error");
    places.into_iter().flatten().find(|error| !error.is_null()).or(is_error.then_some(answer))
}

/// The HTTP status that an error names as its code.
fn status_of(error: &Value) -> Option<u16> {
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_u64(),
        Value::String(digits) => digits.parse().ok(),
        _ => None,
    };
    let named = ["code", "status", "status_code"];
    let found = named.iter().filter_map(|name| error.get(name)).find_map(number)?;
    u16::try_from(found).ok().filter(|status| (400..600).contains(status))
}

/// Whether the provider refuses the constraint rather than the request: 400 or 422 with a mark of the
/// constraint in the message, or 422 for a request without extra members. llama.cpp also reports a grammar that
/// it cannot parse like this.
fn refuses_constraint(status: u16, text: &str, request: &LmRequest) -> bool {
    let words: &[&str] = match &request.constraint {
        None => return false,
        Some(DecodingConstraint::Gbnf(_)) => &["grammar", "structured_outputs"],
        Some(DecodingConstraint::JsonSchema { .. }) => {
            &["response_format", "schema", "output_config", "output_format", "text.format"]
        }
    };
    let is_named = words.iter().any(|word| text.contains(word));
    match status {
        400 => is_named,
        422 => is_named || request.params.extra_body.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> LmErrorKind {
        of_answer(status, body.as_bytes(), None)
    }

    #[test]
    fn the_status_decides_whether_a_retry_may_help() {
        let refused = [301, 400, 401, 403, 404, 413, 422].map(of_status);
        assert_eq!(refused, [LmErrorKind::Refused; 7]);
        assert_eq!([408, 409, 500, 502, 503, 529].map(of_status), [LmErrorKind::Provider; 6]);
        assert_eq!(of_status(429), LmErrorKind::RateLimited);
    }

    #[test]
    fn a_context_overflow_is_recognized_by_its_phrases() {
        let openai = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#;
        let llama = r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"exceed_context_size_error"}}"#;
        assert_eq!([openai, llama].map(|body| of(400, body)), [LmErrorKind::ContextOverflow; 2]);
        assert_eq!(of(400, r#"{"error":{"message":"no such model"}}"#), LmErrorKind::Refused);
        assert_eq!(of(429, "Too many tokens per minute"), LmErrorKind::RateLimited);
    }

    #[test]
    fn used_up_credit_is_no_limit_of_the_rate() {
        let openai = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
        let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;
        let gemini_day = r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}"#;
        for (status, body) in [(429, openai), (400, anthropic), (429, gemini_day), (402, "")] {
            assert_eq!(of(status, body), LmErrorKind::QuotaExhausted, "{body}");
        }
        let gemini_minute = r#"{"error":{"code":429,"message":"You exceeded your current quota","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]},{"retryDelay":"17s"}]}}"#;
        assert_eq!(of(429, gemini_minute), LmErrorKind::RateLimited);
    }

    #[test]
    fn a_refusal_by_a_filter_is_no_mistake_of_the_request() {
        let azure = r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
        assert_eq!(of(400, azure), LmErrorKind::Filtered);
        assert_eq!(
            of(400, r#"{"error":{"message":"Content Exists Risk"}}"#),
            LmErrorKind::Filtered
        );
    }

    #[test]
    fn an_error_in_an_answer_has_the_kind_of_its_own_status() {
        let of = |body: &str| of_error(body.as_bytes(), None);
        let choice =
            r#"{"choices":[{"error":{"code":429,"message":"slow down"},"finish_reason":"error"}]}"#;
        assert_eq!(of(choice), LmErrorKind::RateLimited);
        assert_eq!(of(r#"{"error":{"code":"502","message":"bad"}}"#), LmErrorKind::Provider);
        assert_eq!(of(r#"{"error":{"code":400,"message":"no"}}"#), LmErrorKind::Refused);
        assert_eq!(of(r#"{"error":{"type":"rate_limit_error"}}"#), LmErrorKind::RateLimited);
        assert_eq!(of(r#"{"error":"overloaded"}"#), LmErrorKind::Provider);
        assert_eq!(of(r#"{"object":"error","code":503,"message":"m"}"#), LmErrorKind::Provider);
        assert_eq!(of("no json"), LmErrorKind::Provider);
    }
}
