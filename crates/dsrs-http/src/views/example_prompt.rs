//! The prompt of the examples, rendered by the adapter: views do not know the format of prompts.

use std::sync::LazyLock;

use dsrs::adapter::ChatAdapter;
use dsrs::lm::Message;
use dsrs::problem::{At, Problems};
use dsrs::signature::{read_signature, signature_to_payload};
use dsrs::types::TypeScope;
use dsrs::value::{Fields, Payload};
use serde_json::{Value, json};

use super::example;

/// The signature of `triage` as text.
const SIGNATURE: &str = r#"ticket -> mood: "calm" | "angry", topics: list[str]"#;

/// The prompt of `triage`, and an answer to it.
#[derive(Default)]
pub(crate) struct PromptExample {
    /// The signature.
    pub(crate) schema: Payload,
    pub(crate) system: String,
    /// The messages of a call.
    pub(crate) messages: Vec<Message>,
    /// The answer of a model.
    pub(crate) answer: String,
}

pub(crate) static PROMPT: LazyLock<PromptExample> =
    LazyLock::new(|| PromptExample::render().unwrap_or_default());

impl PromptExample {
    fn render() -> Option<Self> {
        let (mut scope, mut problems) = (TypeScope::default(), Problems::new());
        let draft = read_signature(&SIGNATURE.into(), &mut scope, &At::Root, &mut problems)?;
        let schema = draft.finish(scope.finish());
        let system = ChatAdapter::build_system(&schema, Some(example::INSTRUCTION));
        let user = ChatAdapter::format_input(&schema, &fields(&example::inputs())?);
        Some(Self {
            messages: vec![Message::system(system.as_str()), Message::user(user)],
            answer: ChatAdapter::format_output(&schema, &fields(&outputs())?),
            schema: signature_to_payload(&schema),
            system,
        })
    }
}

/// The outputs in the answer.
pub(crate) fn outputs() -> Value {
    json!({"mood": "calm", "topics": ["parcel"]})
}

fn fields(value: &Value) -> Option<Fields> {
    example::payload(value).as_map().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_prompt_is_complete() {
        let PromptExample { system, messages, answer, .. } = &*PROMPT;
        assert!(system.contains(example::INSTRUCTION));
        assert!(messages[1].content.contains("My parcel has not arrived."));
        assert!(answer.contains("parcel"));
    }
}
