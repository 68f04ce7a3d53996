//! The settings that an endpoint refuses, as far as it has said so. A refused request is sent again without the
//! setting; a refusal that does not depend on this request is remembered for a while. Knows the words of
//! refusals, not the wire.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::omitted_params::{OmittedParams, OptionalParam};
use super::{LmParams, MaxTokensField};

impl OptionalParam {
    /// The names of providers for it.
    const fn spellings(self) -> &'static [&'static str] {
        match self {
            Self::Temperature => &["temperature"],
            Self::TopP => &["top_p", "topp"],
            Self::Seed => &["seed"],
            Self::Stop => &["stop", "stop_sequences", "stopsequences"],
            Self::ReasoningEffort => &[
                "reasoning_effort",
                "thinkingconfig",
                "thinking_config",
                "thinking_budget",
                "thinkingbudget",
                "thinking_level",
                "thinkinglevel",
                "budget_tokens",
            ],
            Self::ServiceTier => &["service_tier"],
            // Extra members are the wish of a person; a refusal of them should be visible.
            Self::ExtraBody => &[],
        }
    }

    /// Further names, which are also ordinary words.
    const fn words(self) -> &'static [&'static str] {
        match self {
            // `include` is what the responses API of OpenAI is asked for besides an effort.
            Self::ReasoningEffort => &["include", "reasoning", "effort", "thinking", "think"],
            _ => &[],
        }
    }

    fn is_set(self, params: &LmParams) -> bool {
        match self {
            Self::Temperature => params.temperature.is_some(),
            Self::TopP => params.top_p.is_some(),
            Self::Seed => params.seed.is_some(),
            Self::Stop => params.stop.is_some(),
            Self::ReasoningEffort => params.reasoning_effort.is_some(),
            Self::ServiceTier => params.service_tier.is_some(),
            Self::ExtraBody => params.extra_body.is_some(),
        }
    }

    fn remove(self, params: &mut LmParams) {
        match self {
            Self::Temperature => params.temperature = None,
            Self::TopP => params.top_p = None,
            Self::Seed => params.seed = None,
            Self::Stop => params.stop = None,
            Self::ReasoningEffort => params.reasoning_effort = None,
            Self::ServiceTier => params.service_tier = None,
            Self::ExtraBody => params.extra_body = None,
        }
    }
}

/// What the endpoint of one alias is known to refuse. Many callers share it, so it holds only what does not
/// depend on the values of one request, and for a limited time.
#[derive(Debug, Default)]
pub(super) struct ParamSupport {
    /// What the protocol does not have.
    absent: u8,
    known: Mutex<KnownRefusals>,
}

#[derive(Clone, Copy, Debug, Default)]
struct KnownRefusals {
    /// Since when each setting is refused.
    params: [Option<Instant>; OptionalParam::ALL.len()],
    /// The name of the limit that the endpoint has asked for, and when.
    limit: Option<(MaxTokensField, Instant)>,
}

/// How long a refusal is remembered: an endpoint may be replaced behind its address.
const MEMORY: Duration = Duration::from_secs(600);

impl ParamSupport {
    /// An endpoint whose protocol has no extra members.
    #[cfg(feature = "genai")]
    pub(super) fn without_extra_body() -> Self {
        Self { absent: OptionalParam::ExtraBody.bit(), known: Mutex::default() }
    }

    /// The first try of a request. `limit`: the name under which the length of an answer is limited, if the
    /// protocol has more than one.
    pub(super) fn begin(&self, limit: Option<MaxTokensField>) -> ParamTrial<'_> {
        let known = *self.lock();
        let is_recent = |since: &Instant| since.elapsed() < MEMORY;
        let refused = OptionalParam::ALL
            .into_iter()
            .filter(|param| known.params[*param as usize].as_ref().is_some_and(is_recent));
        let asked = known.limit.filter(|(_, since)| is_recent(since)).map(|(field, _)| field);
        ParamTrial {
            refused: refused.fold(self.absent, |all, param| all | param.bit()),
            limit: limit.map(|configured| asked.unwrap_or(configured)),
            limit_changed: false,
            support: self,
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownRefusals> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tries of one request: each leaves out what the endpoint has refused before.
pub(super) struct ParamTrial<'s> {
    support: &'s ParamSupport,
    refused: u8,
    limit: Option<MaxTokensField>,
    limit_changed: bool,
}

impl ParamTrial<'_> {
    /// The settings to send, and those that are left out.
    pub(super) fn supported<'p>(&self, params: &'p LmParams) -> (Cow<'p, LmParams>, OmittedParams) {
        let is_omitted =
            |param: &OptionalParam| self.refused & param.bit() != 0 && param.is_set(params);
        let (mut sent, mut omitted) = (Cow::Borrowed(params), OmittedParams::default());
        for param in OptionalParam::ALL.into_iter().filter(is_omitted) {
            param.remove(sent.to_mut());
            omitted.add(param);
        }
        (sent, omitted)
    }

    /// The name under which the length of the answer is limited.
    pub(super) fn limit(&self) -> Option<MaxTokensField> {
        self.limit
    }

    /// Reads what a refusal says about the settings that were sent. Whether the request may succeed without
    /// one of them; each setting is left out once, so the tries end.
    pub(super) fn learn(&mut self, status: u16, body: &[u8], sent: &LmParams) -> bool {
        if !matches!(status, 400 | 422) {
            return false;
        }
        let refusal = Refusal::of(body);
        // Extra members of one caller may put any words into the message.
        let is_evidence = sent.extra_body.is_none();
        if let Some(field) = self.other_limit(&refusal, sent) {
            (self.limit, self.limit_changed) = (Some(field), true);
            if is_evidence {
                self.support.lock().limit = Some((field, Instant::now()));
            }
            return true;
        }
        let is_named = |param: &OptionalParam| param.is_set(sent) && refusal.is_about(*param);
        let Some(param) = OptionalParam::ALL.into_iter().find(is_named) else { return false };
        self.refused |= param.bit();
        if is_evidence && refusal.concerns_all_requests(param) {
            self.support.lock().params[param as usize] = Some(Instant::now());
        }
        true
    }

    /// The other name of the limit, if the endpoint does not know the one that was sent.
    fn other_limit(&self, refusal: &Refusal, sent: &LmParams) -> Option<MaxTokensField> {
        sent.max_tokens.filter(|_| !self.limit_changed && refusal.is_refusal())?;
        match self.limit? {
            MaxTokensField::MaxTokens => {
                let asked = refusal.text.contains("max_completion_tokens");
                (asked && refusal.names(&["max_tokens"]))
                    .then_some(MaxTokensField::MaxCompletionTokens)
            }
            MaxTokensField::MaxCompletionTokens => {
                refusal.names(&["max_completion_tokens"]).then_some(MaxTokensField::MaxTokens)
            }
        }
    }
}

/// Phrases of a setting that the model does not have. A value out of range is a mistake that should be
/// visible, so phrases of ranges are not among them.
const REFUSALS: [&str; 19] = [
    "unsupported",
    "not support",
    "does not support",
    "doesn't support",
    "deprecated",
    "unknown",
    "unrecognized",
    "unexpected keyword",
    "not permitted",
    "not allowed",
    "not available",
    "isn't available",
    "only the default",
    "cannot both be specified",
    "cannot be used",
    "may only be set to 1",
    "must be unset",
    "is not valid for this model",
    "not compatible",
];

/// Phrases of a refusal that depends on the other settings of the request.
const COMBINATIONS: [&str; 4] = ["both", "when thinking", "thinking is enabled", "together with"];

/// Phrases of a setting that the endpoint does not know at all, whatever its value.
const UNKNOWN: [&str; 9] = [
    "unsupported parameter",
    "unknown",
    "unrecognized",
    "unexpected keyword",
    "not permitted",
    "is not supported with this model",
    "does not support the parameter",
    "parameter is not supported",
    "extra inputs",
];

/// The answer of an endpoint that refuses a request, in lower case.
struct Refusal {
    text: String,
    /// The setting that the endpoint names in a member of its own.
    param: Option<String>,
}

impl Refusal {
    fn of(body: &[u8]) -> Self {
        let parsed: Option<Value> = serde_json::from_slice(body).ok();
        let param = parsed.as_ref().and_then(|error| {
            error.pointer("/error/param").or_else(|| error.get("param"))?.as_str()
        });
        let param = param.map(str::to_lowercase);
        Self { text: String::from_utf8_lossy(body).to_lowercase(), param }
    }

    fn is_refusal(&self) -> bool {
        self.has(&REFUSALS)
    }

    fn is_about(&self, param: OptionalParam) -> bool {
        self.is_refusal()
            && match &self.param {
                // `reasoning.effort` of one protocol is `reasoning_effort` of another.
                Some(named) => {
                    let first = named.split(['.', '[']).next().unwrap_or(named);
                    param.spellings().contains(&first) || param.words().contains(&first)
                }
                None => self.names(param.spellings()) || self.quotes(param.words()),
            }
    }

    /// Whether later requests would be refused, too, whatever the value of the setting and the other settings
    /// are. The values of an effort and of a class of service are words that an endpoint may know or not.
    fn concerns_all_requests(&self, param: OptionalParam) -> bool {
        let is_enumeration =
            matches!(param, OptionalParam::ReasoningEffort | OptionalParam::ServiceTier);
        !self.has(&COMBINATIONS)
            && !self.text.contains("supported values")
            && (!is_enumeration || self.has(&UNKNOWN))
    }

    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }

    fn names(&self, words: &[&str]) -> bool {
        let mut named = self.text.split(|c: char| !c.is_alphanumeric() && c != '_');
        named.any(|word| words.contains(&word))
    }

    /// Whether one of these words is the name of something: in quotes, or before a colon at the beginning of
    /// the message.
    fn quotes(&self, words: &[&str]) -> bool {
        let is_quoted = |word: &&str| {
            [("'", "'"), ("`", "`"), ("\"", "\""), ("\\\"", "\\\""), ("\"", ":"), ("\"", ".")]
                .iter()
                .any(|(open, close)| self.text.contains(&format!("{open}{word}{close}")))
        };
        words.iter().any(is_quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::{ExtraBody, ReasoningEffort};
    use crate::value::Payload;

    fn params() -> LmParams {
        LmParams {
            temperature: Some(0.2),
            max_tokens: Some(64),
            top_p: Some(0.9),
            reasoning_effort: Some(ReasoningEffort::Minimal),
            ..LmParams::default()
        }
    }

    /// What is left out of a request that is refused like this, whether `max_completion_tokens` is sent, and what
    /// is left out of the next one.
    fn learned(refusals: &[&str]) -> (Vec<&'static str>, bool, Vec<&'static str>) {
        let support = ParamSupport::default();
        let mut trial = support.begin(Some(MaxTokensField::MaxTokens));
        for refusal in refusals {
            let params = params();
            let (sent, _) = trial.supported(&params);
            if !trial.learn(400, refusal.as_bytes(), &sent) {
                break;
            }
        }
        let has_completion_limit = trial.limit() == Some(MaxTokensField::MaxCompletionTokens);
        let omitted = |trial: &ParamTrial<'_>| trial.supported(&params()).1.names().collect();
        (omitted(&trial), has_completion_limit, omitted(&support.begin(None)))
    }

    #[test]
    fn openai_names_the_setting_that_a_reasoning_model_refuses() {
        let limit = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
        let temperature = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}"#;
        let effort = r#"{"error":{"message":"Unsupported value: 'minimal' is not supported with this model. Supported values are: 'low', 'medium'.","param":"reasoning.effort"}}"#;
        assert_eq!(learned(&[limit]), (vec![], true, vec![]));
        let refused = vec!["temperature"];
        assert_eq!(learned(&[limit, temperature]), (refused.clone(), true, refused));
        // Another effort may be supported.
        assert_eq!(learned(&[effort]), (vec!["reasoning_effort"], false, vec![]));
    }

    #[test]
    fn of_two_settings_that_exclude_each_other_one_is_left_out() {
        let both = r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` and `top_p` cannot both be specified for this model. Please use only one."}}"#;
        // A request with one of them is accepted.
        assert_eq!(learned(&[both]), (vec!["top_p"], false, vec![]));
        let thinking = r#"{"error":{"message":"`temperature` may only be set to 1 when thinking is enabled."}}"#;
        assert_eq!(learned(&[thinking]), (vec!["temperature"], false, vec![]));
        let deprecated = r#"{"error":{"message":"`temperature` is deprecated for this model."}}"#;
        let refused = vec!["temperature"];
        assert_eq!(learned(&[deprecated]), (refused.clone(), false, refused));
    }

    #[test]
    fn servers_with_strict_bodies_name_the_unknown_member() {
        let vllm =
            r#"{"detail":[{"loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]}"#;
        assert_eq!(learned(&[vllm]), (vec!["top_p"], false, vec!["top_p"]));
        let groq = r#"{"error":{"message":"`reasoning_effort` is not supported with this model","type":"invalid_request_error"}}"#;
        let refused = vec!["reasoning_effort"];
        assert_eq!(learned(&[groq]), (refused.clone(), false, refused));
    }

    #[test]
    fn a_mistake_in_a_value_is_not_a_refusal_of_the_setting() {
        for mistake in [
            r#"{"error":{"message":"Invalid 'temperature': decimal above maximum value. Expected a value <= 2.","param":"temperature"}}"#,
            r#"{"error":{"message":"max_tokens is too large: 999999","param":"max_tokens"}}"#,
            r#"{"error":{"message":"The model `x` is not supported","param":"model"}}"#,
            r#"{"error":{"message":"Unknown parameter: 'foo'.","param":"foo"}}"#,
            "",
        ] {
            assert_eq!(learned(&[mistake]), (vec![], false, vec![]), "{mistake}");
        }
        let support = ParamSupport::default();
        assert!(!support.begin(None).learn(500, b"temperature is not supported", &params()));
    }

    #[test]
    fn ordinary_words_of_a_message_are_no_settings() {
        for message in [
            r#"{"error":{"message":"Images are not supported here; include text instead"}}"#,
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 999"}}"#,
        ] {
            assert_eq!(learned(&[message]), (vec![], false, vec![]), "{message}");
        }
        let named = r#"{"error":{"message":"thinking: Extra inputs are not permitted"}}"#;
        let refused = vec!["reasoning_effort"];
        assert_eq!(learned(&[named]), (refused.clone(), false, refused));
    }

    #[test]
    fn requests_that_are_refused_at_the_same_time_are_all_sent_again() {
        let (support, params) = (ParamSupport::default(), params());
        let mut trials = [support.begin(None), support.begin(None), support.begin(None)];
        for trial in &mut trials {
            assert!(trial.learn(400, b"temperature is not supported", &params));
            assert_eq!(trial.supported(&params).0.temperature, None);
        }
    }

    #[test]
    fn extra_members_of_one_caller_teach_nothing_about_the_endpoint() {
        let members = Payload::from_json(r#"{"x temperature": 1}"#).unwrap();
        let body = ExtraBody::of(members.as_map().unwrap()).unwrap();
        let params = LmParams { extra_body: Some(body), ..params() };
        let support = ParamSupport::default();
        let mut trial = support.begin(Some(MaxTokensField::MaxTokens));
        let message = b"unknown members: x temperature, max_completion_tokens, max_tokens";
        assert!(trial.learn(400, message, &params));
        assert!(support.begin(None).supported(&params).1.is_empty());
        assert_eq!(
            support.begin(Some(MaxTokensField::MaxTokens)).limit(),
            Some(MaxTokensField::MaxTokens)
        );
    }

    #[test]
    fn an_endpoint_that_does_not_know_the_limit_it_seemed_to_ask_for_gets_the_usual_one() {
        let (support, params) = (ParamSupport::default(), params());
        let mut trial = support.begin(Some(MaxTokensField::MaxTokens));
        let asked = b"unsupported parameter: max_tokens. use max_completion_tokens";
        assert!(trial.learn(400, asked, &params));
        let mut later = support.begin(Some(MaxTokensField::MaxTokens));
        assert_eq!(later.limit(), Some(MaxTokensField::MaxCompletionTokens));
        let unknown = b"unknown parameter: max_completion_tokens";
        assert!(later.learn(400, unknown, &params));
        assert_eq!(later.limit(), Some(MaxTokensField::MaxTokens));
        assert!(!later.learn(400, asked, &params), "each name is tried once");
        assert_eq!(
            support.begin(Some(MaxTokensField::MaxTokens)).limit(),
            Some(MaxTokensField::MaxTokens)
        );
    }

    #[test]
    fn only_settings_that_a_request_has_are_left_out() {
        let support = ParamSupport::default();
        support.begin(None).learn(400, b"temperature is not supported", &params());
        let trial = support.begin(None);
        let (_, omitted) = trial.supported(&LmParams::default());
        assert!(omitted.is_empty());
        let params = params();
        let (sent, _) = trial.supported(&params);
        assert_eq!((sent.temperature, sent.top_p), (None, Some(0.9)));
    }
}
