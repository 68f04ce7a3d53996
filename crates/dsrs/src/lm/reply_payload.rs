//! Replies and usage as plain data, for storage beyond the lifetime of the process.

use std::sync::Arc;

use super::{LmReply, OmittedParams, ReplyReasoning, TokenLogprobs, ToolCall, Usage};
use crate::value::Payload;

impl LmReply {
    /// The reply as plain data, for [`Self::from_payload`].
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let text = |text: &Arc<str>| Payload::Str(text.clone());
        let calls = self.tool_calls.iter();
        let calls = calls
            .map(|call| Payload::list([&call.id, &call.name, &call.arguments].map(text).to_vec()));
        let members = [
            ("text", text(&self.text)),
            ("tool_calls", Payload::list(calls.collect())),
            ("model", text(&self.model)),
            ("finish_reason", self.finish_reason.as_ref().map_or(Payload::Null, text)),
            ("usage", self.usage.to_payload()),
        ];
        let reasoning = self.reasoning.as_ref().map(|found| ("reasoning", found.to_payload()));
        let refusal = self.refusal.as_ref().map(|refusal| ("refusal", text(refusal)));
        let tokens = || self.logprobs.iter().map(TokenLogprobs::to_payload).collect();
        let logprobs = (!self.logprobs.is_empty()).then(|| ("logprobs", Payload::list(tokens())));
        let members = members.into_iter().chain(reasoning).chain(refusal).chain(logprobs);
        Payload::map(members.map(|(name, member)| (Arc::from(name), member)).collect())
    }

    /// Reads the output of [`Self::to_payload`]; `None` for anything else.
    #[must_use]
    pub fn from_payload(payload: &Payload) -> Option<Self> {
        let members = payload.as_map()?;
        let calls = members.get("tool_calls")?.as_list()?.iter().map(|call| {
            let [id, name, arguments] = call.as_list()? else { return None };
            let text = |text: &Payload| text.as_str().map(Arc::from);
            Some(ToolCall { id: text(id)?, name: text(name)?, arguments: text(arguments)? })
        });
        Some(Self {
            text: members.get("text")?.as_str()?.into(),
            tool_calls: calls.collect::<Option<_>>()?,
            reasoning: match members.get("reasoning") {
                Some(reasoning) => Some(Arc::new(ReplyReasoning::from_payload(reasoning)?)),
                None => None,
            },
            omitted: OmittedParams::default(),
            model: members.get("model")?.as_str()?.into(),
            id: None,
            finish_reason: members.get("finish_reason")?.as_str().map(Arc::from),
            refusal: match members.get("refusal") {
                Some(refusal) => Some(refusal.as_str()?.into()),
                None => None,
            },
            logprobs: match members.get("logprobs") {
                Some(tokens) => {
                    let tokens = tokens.as_list()?.iter().map(TokenLogprobs::from_payload);
                    tokens.collect::<Option<_>>()?
                }
                None => Vec::new(),
            },
            usage: Usage::from_payload(members.get("usage")?)?,
        })
    }
}

impl ReplyReasoning {
    fn to_payload(&self) -> Payload {
        let list = |texts: &[Arc<str>]| {
            Payload::list(texts.iter().map(|text| Payload::Str(text.clone())).collect())
        };
        Payload::list(vec![list(&self.texts), list(&self.signatures)])
    }

    fn from_payload(payload: &Payload) -> Option<Self> {
        let [texts, signatures] = payload.as_list()? else { return None };
        let list = |texts: &Payload| {
            texts.as_list()?.iter().map(|text| text.as_str().map(Arc::from)).collect::<Option<_>>()
        };
        Some(Self { texts: list(texts)?, signatures: list(signatures)? })
    }
}

impl Usage {
    /// `[lm_calls, input_tokens, output_tokens, cached_tokens, cost, reasoning_tokens,
    /// cache_write_tokens]`, for [`Self::from_payload`].
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let count = |count: u64| Payload::Int(i64::try_from(count).unwrap_or(i64::MAX));
        Payload::list(vec![
            count(self.lm_calls),
            count(self.input_tokens),
            count(self.output_tokens),
            count(self.cached_tokens),
            self.cost.map_or(Payload::Null, Payload::Float),
            count(self.reasoning_tokens),
            count(self.cache_write_tokens),
        ])
    }

    /// Reads the output of [`Self::to_payload`], or of an older version without the last two; `None`
    /// for anything else.
    #[must_use]
    pub fn from_payload(payload: &Payload) -> Option<Self> {
        let [calls, input, output, cached, cost, newer @ ..] = payload.as_list()? else {
            return None;
        };
        let count = |payload: &Payload| match payload {
            Payload::Int(count) => u64::try_from(*count).ok(),
            _ => None,
        };
        let cost = match cost {
            Payload::Float(cost) => Some(*cost),
            Payload::Int(cost) => Some(*cost as f64),
            _ => None,
        };
        let [reasoning, cache_write] = match newer {
            [] => [0, 0],
            [reasoning, cache_write] => [count(reasoning)?, count(cache_write)?],
            _ => return None,
        };
        Some(Self {
            lm_calls: count(calls)?,
            input_tokens: count(input)?,
            output_tokens: count(output)?,
            reasoning_tokens: reasoning,
            cached_tokens: count(cached)?,
            cache_write_tokens: cache_write,
            cost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_survives_the_round_trip() {
        let usage = Usage { lm_calls: 1, input_tokens: 20, cost: Some(2.0), ..Usage::default() };
        let plain = LmReply { usage, ..LmReply::of("Paris \u{0}", "small") };
        let call = ToolCall { id: "c1".into(), name: "find".into(), arguments: "{".into() };
        let finish_reason = Some("tool_calls".into());
        let signatures = vec!["s1".into()];
        let reasoning = Some(Arc::new(ReplyReasoning { texts: vec!["hm".into()], signatures }));
        let calling = LmReply { tool_calls: vec![call], reasoning, finish_reason, ..plain.clone() };
        let likely = TokenLogprobs::of("Paris", -0.25, [("Rome".into(), -1.5)]);
        let stated = LmReply { logprobs: vec![likely], ..plain.clone() };
        for reply in [plain, calling, stated] {
            let read = Payload::from_json(&reply.to_payload().to_json()).unwrap();
            assert_eq!(LmReply::from_payload(&read), Some(reply));
        }
    }

    #[test]
    fn usage_of_an_older_version_is_read() {
        let older = Payload::from_json("[1,20,3,4,0.5]").unwrap();
        let read = Usage::from_payload(&older).unwrap();
        assert_eq!((read.cached_tokens, read.reasoning_tokens, read.cost), (4, 0, Some(0.5)));
    }
}
