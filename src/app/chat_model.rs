//! A graph as a chat model: which of its inputs gets the messages, and which of its outputs is the answer. Knows graphs,
//! and no protocol.

use dsrs::graph::{Program, Source};
use dsrs::types::{TypeDef, TypeDefs, TypeIR};
use dsrs::value::SelectionStep;
use serde_json::{Map, Value, json};

/// Names of an input that gets the conversation.
const CONVERSATIONS: [&str; 2] = ["history", "messages"];

/// A graph that answers messages.
#[derive(Debug)]
pub(crate) struct ChatModel {
    /// The input that gets the text of the last user message.
    text: Option<String>,
    /// The input that gets the messages: those before the last one if `text` gets that.
    conversation: Option<String>,
    /// The output that is the answer.
    pub(crate) output: String,
    /// Whether the answer is a text; other values are answered as JSON.
    pub(crate) is_text: bool,
    /// The node and field that write the answer, if it is one field as a whole.
    pub(crate) writer: Option<(String, String)>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatMessage {
    pub(crate) role: String,
    pub(crate) content: String,
}

impl ChatModel {
    /// The graph as a chat model, or why it is none.
    pub(crate) fn of(program: &Program) -> Result<Self, String> {
        let graph = program.graph();
        let conversation = graph
            .inputs()
            .find(|field| {
                CONVERSATIONS.contains(&&*field.name) && is_conversation(&field.ty, graph.defs())
            })
            .map(|field| field.name.to_string());
        let is_free = |name: &str| conversation.as_deref() != Some(name);
        let mut needed =
            graph.inputs().filter(|field| field.default.is_none() && is_free(&field.name));
        let text = match (needed.next(), needed.next()) {
            (None, _) if conversation.is_some() => None,
            (Some(field), None) if field.ty == TypeIR::Str => Some(field.name.to_string()),
            _ => {
                return Err("a chat model has one text input without a default, or an input `history` or `messages` \
                            of the type `list[dict[str, str]]`".to_owned());
            }
        };
        let outputs: Vec<_> = graph.outputs().collect();
        let named = outputs.iter().find(|(name, _)| ["answer", "response"].contains(&&***name));
        let (name, output) = match (outputs.as_slice(), named) {
            ([only], _) => only,
            (_, Some(found)) => found,
            _ => {
                return Err(
                    "a chat model has one output, or one that is named `answer` or `response`"
                        .to_owned(),
                );
            }
        };
        Ok(Self {
            text,
            conversation,
            output: name.to_string(),
            is_text: output.ty.ir == TypeIR::Str,
            writer: writer(&output.source),
        })
    }

    /// The inputs of the graph for a conversation; `None` if it has no message of the user.
    pub(crate) fn inputs(&self, messages: &[ChatMessage]) -> Option<Value> {
        let last = messages.iter().rposition(|message| message.role == "user")?;
        let mut inputs = Map::new();
        if let Some(name) = &self.text {
            inputs.insert(name.clone(), json!(messages.get(last)?.content));
        }
        if let Some(name) = &self.conversation {
            let shown = if self.text.is_some() { messages.get(..last)? } else { messages };
            let pair =
                |message: &ChatMessage| json!({"role": message.role, "content": message.content});
            inputs.insert(name.clone(), shown.iter().map(pair).collect());
        }
        Some(Value::Object(inputs))
    }

    /// The answer of a run as a text.
    pub(crate) fn answer(&self, outputs: &Map<String, Value>) -> String {
        match outputs.get(&self.output) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

/// A list of objects with `role` and `content`.
fn is_conversation(ty: &TypeIR, defs: &TypeDefs) -> bool {
    let TypeIR::List(element) = ty else { return false };
    match &**element {
        TypeIR::Dict(value) => matches!(**value, TypeIR::Str | TypeIR::Any),
        TypeIR::Named(name) => match defs.get(name) {
            Some(TypeDef::Class(class)) => {
                let is_text = |name: &str| {
                    class.fields.get(name).is_some_and(|field| field.ty == TypeIR::Str)
                };
                is_text("role") && is_text("content")
            }
            _ => false,
        },
        _ => false,
    }
}

fn writer(source: &Source) -> Option<(String, String)> {
    match source.selection.steps() {
        [SelectionStep::Field(field)] => Some((source.node.to_string(), field.to_string())),
        _ => None,
    }
}
