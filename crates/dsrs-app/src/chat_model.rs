//! A graph as a chat model: which of its inputs gets the messages, and which of its outputs is the answer. Knows graphs,
//! and no protocol.

use dsrs::graph::{ChatExposure, GraphOutput, Program, ProgramGraph, Source};
use dsrs::signature::FieldSchema;
use dsrs::types::{TypeDef, TypeDefs, TypeIR};
use dsrs::value::SelectionStep;
use serde_json::{Map, Value, json};

/// Names of an input that gets the conversation.
const CONVERSATIONS: [&str; 2] = ["history", "messages"];

/// A graph that answers messages.
#[derive(Debug)]
pub struct ChatModel {
    /// The input that gets the text of the last user message.
    text: Option<String>,
    /// The input that gets the messages: those before the last one if `text` gets that.
    conversation: Option<String>,
    /// The output that is the answer.
    pub output: String,
    /// Whether the answer is a text; other values are answered as JSON.
    pub is_text: bool,
    /// The node and field that write the answer, if it is one field as a whole.
    pub writer: Option<(String, String)>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    pub role: String,
    pub content: String,
}

impl ChatModel {
    /// The graph as a chat model, or why it is none.
    pub fn of(program: &Program) -> Result<Self, String> {
        let graph = program.graph();
        let (input, output) = match &graph.exposure().chat {
            Some(ChatExposure::Off) => {
                return Err("its definition has `expose.openai: false`".to_owned());
            }
            Some(ChatExposure::Model { input, output, .. }) => {
                (input.as_deref(), output.as_deref())
            }
            None => (None, None),
        };
        let (text, conversation) = inputs_of(graph, input)?;
        let (name, output) = output_of(graph, output)?;
        Ok(Self {
            text,
            conversation,
            output: name.to_owned(),
            is_text: output.ty.ir == TypeIR::Str,
            writer: writer(&output.source),
        })
    }

    /// The inputs of the graph for a conversation; `None` if it has no message of the user.
    pub fn inputs(&self, messages: &[ChatMessage]) -> Option<Value> {
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
    pub fn answer(&self, outputs: &Map<String, Value>) -> String {
        match outputs.get(&self.output) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

/// The inputs that get the text of the last message and the conversation. `declared` is the one that the definition
/// names.
fn inputs_of(
    graph: &ProgramGraph,
    declared: Option<&str>,
) -> Result<(Option<String>, Option<String>), String> {
    let holds_conversation = |field: &&FieldSchema| is_conversation(&field.ty, graph.defs());
    let conversations: Vec<_> = graph.inputs().filter(holds_conversation).collect();
    let named =
        |is_it: &dyn Fn(&str) -> bool| conversations.iter().find(|field| is_it(&field.name));
    let conversation = named(&|name| declared == Some(name))
        .or_else(|| named(&|name| CONVERSATIONS.contains(&name)));
    let conversation = conversation.map(|field| &*field.name);
    let is_free = |name: &str| conversation != Some(name) && declared != Some(name);
    let mut needed = graph.inputs().filter(|field| field.default.is_none() && is_free(&field.name));
    let text = match declared.filter(|name| conversation != Some(*name)) {
        Some(name) => graph.inputs().find(|field| &*field.name == name),
        None if declared.is_some() => None,
        None => needed.next(),
    };
    let is_text = text.is_none_or(|field| field.ty == TypeIR::Str);
    if !is_text || needed.next().is_some() || (text.is_none() && conversation.is_none()) {
        return Err("a chat model has one text input without a default, or an input `history` or `messages` of the type \
                    `list[dict[str, str]]`; all others need defaults"
            .to_owned());
    }
    Ok((text.map(|field| field.name.to_string()), conversation.map(str::to_owned)))
}

/// The output that is the answer. `declared` is the one that the definition names.
fn output_of<'g>(
    graph: &'g ProgramGraph,
    declared: Option<&str>,
) -> Result<(&'g str, &'g GraphOutput), String> {
    let outputs: Vec<_> = graph.outputs().map(|(name, output)| (&**name, output)).collect();
    let named =
        |is_it: &dyn Fn(&str) -> bool| outputs.iter().find(|(name, _)| is_it(name)).copied();
    let found = match (declared, outputs.as_slice()) {
        (Some(declared), _) => named(&|name| name == declared),
        (None, [only]) => Some(*only),
        (None, _) => named(&|name| ["answer", "response"].contains(&name)),
    };
    found.ok_or_else(|| {
        "a chat model has one output, or one that is named `answer` or `response`".to_owned()
    })
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
