//! Replies and usage as plain data, for storage beyond the lifetime of the process.

use std::sync::Arc;

use super::{LmReply, ToolCall, Usage};
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
        Payload::map(members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect())
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
            model: members.get("model")?.as_str()?.into(),
            finish_reason: members.get("finish_reason")?.as_str().map(Arc::from),
            usage: Usage::from_payload(members.get("usage")?)?,
        })
    }
}

impl Usage {
    /// `[lm_calls, input_tokens, output_tokens, cached_tokens, cost]`, for [`Self::from_payload`].
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let counts = [self.lm_calls, self.input_tokens, self.output_tokens, self.cached_tokens];
        let counts = counts.map(|count| Payload::Int(i64::try_from(count).unwrap_or(i64::MAX)));
        let cost = self.cost.map_or(Payload::Null, Payload::Float);
        Payload::list(counts.into_iter().chain([cost]).collect())
    }

    /// Reads the output of [`Self::to_payload`]; `None` for anything else.
    #[must_use]
    pub fn from_payload(payload: &Payload) -> Option<Self> {
        let [calls, input, output, cached, cost] = payload.as_list()? else { return None };
        let count = |payload: &Payload| match payload {
            Payload::Int(count) => u64::try_from(*count).ok(),
            _ => None,
        };
        let cost = match cost {
            Payload::Float(cost) => Some(*cost),
            Payload::Int(cost) => Some(*cost as f64),
            _ => None,
        };
        Some(Self {
            lm_calls: count(calls)?,
            input_tokens: count(input)?,
            output_tokens: count(output)?,
            cached_tokens: count(cached)?,
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
        let calling = LmReply { tool_calls: vec![call], finish_reason, ..plain.clone() };
        for reply in [plain, calling] {
            let read = Payload::from_json(&reply.to_payload().to_json()).unwrap();
            assert_eq!(LmReply::from_payload(&read), Some(reply));
        }
    }
}
