//! A reply as a value: its text with model and usage as metadata.

use super::{LmReply, Usage};
use crate::value::{IntoValue, Meta, Payload, Value};

impl IntoValue for &LmReply {
    fn into_value(self) -> Value {
        let meta = Meta { model: Some(self.model.clone()), ..self.usage.into_meta() };
        Value::response(Payload::Str(self.text.clone()), meta)
    }
}

impl Usage {
    /// The usage as metadata of a value.
    #[must_use]
    pub fn into_meta(self) -> Meta {
        let called = self.lm_calls > 0;
        Meta {
            input_tokens: called.then_some(self.input_tokens),
            output_tokens: called.then_some(self.output_tokens),
            cost: self.cost,
            ..Meta::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{ValueKind, valueify};

    #[test]
    fn a_reply_is_a_response_with_model_and_tokens() {
        let usage = Usage { lm_calls: 1, input_tokens: 20, output_tokens: 5, ..Usage::default() };
        let value = valueify(&LmReply { usage, ..LmReply::of("Paris", "small") });
        assert_eq!(value.kind(), ValueKind::Response);
        let meta = value.meta().unwrap().to_payload().to_json();
        assert_eq!(meta, r#"{"model":"small","input_tokens":20,"output_tokens":5}"#);
    }
}
