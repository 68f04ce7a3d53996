//! Under which names, and with which parts, a graph is offered to clients of other protocols: the member `expose` of a
//! definition. Knows the names of inputs and outputs, and no protocol.

use std::sync::Arc;

use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, listed, nearest};
use crate::value::{Map, Payload};

/// The longest name of a chat model, in bytes.
const MODEL_NAME: usize = 128;
/// The longest name of a tool: providers of models accept no longer ones.
const TOOL_NAME: usize = 64;
/// The longest description of a tool, in bytes.
const DESCRIPTION: usize = 4_096;

/// How a graph is offered. A part that is absent was not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// As a chat model.
    pub chat: Option<ChatExposure>,
    /// As a tool of an MCP server.
    pub tool: Option<ToolExposure>,
}

/// Whether a graph is a chat model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatExposure {
    /// It is none.
    Off,
    /// It is one, with these names; what is absent follows from its inputs and outputs.
    Model {
        /// The name of the model. Default: the name of the graph.
        model: Option<Arc<str>>,
        /// The input that gets the messages.
        input: Option<Arc<str>>,
        /// The output that is the answer.
        output: Option<Arc<str>>,
    },
}

/// Whether a graph is a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolExposure {
    /// It is none.
    Off,
    /// It is one, with this name and description.
    Tool {
        /// The name of the tool. Default: the name of the graph.
        name: Option<Arc<str>>,
        /// The description of the tool. Default: the description of the graph.
        description: Option<Arc<str>>,
    },
}

impl Exposure {
    /// Reads the member of a definition.
    pub(crate) fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let mut object = Object::open(payload, at, problems)?;
        let chat = object.optional("openai", read_chat);
        let tool = object.optional("mcp", read_tool);
        object.close();
        Some(Self { chat, tool })
    }

    /// Reads a stored member of a checked definition; `None` if it is none.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        let payload = Payload::from_json(text).ok()?;
        let mut problems = Problems::new();
        Self::read(&payload, &At::Root, &mut problems).filter(|_| problems.is_empty())
    }

    /// The member of a definition as JSON; `None` if nothing is declared.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        Some(self.to_payload()?.to_json())
    }

    /// The same in its shortest notation; `None` if nothing is declared.
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let chat = self.chat.as_ref().map(|chat| match chat {
            ChatExposure::Off => Payload::Bool(false),
            ChatExposure::Model { model, input, output } => {
                declared([("model", model), ("input", input), ("output", output)])
            }
        });
        let tool = self.tool.as_ref().map(|tool| match tool {
            ToolExposure::Off => Payload::Bool(false),
            ToolExposure::Tool { name, description } => {
                declared([("name", name), ("description", description)])
            }
        });
        let members = [("openai", chat), ("mcp", tool)];
        let members = members.into_iter().filter_map(|(name, member)| Some((name, member?)));
        let members: Map = members.map(|(name, member)| (Arc::from(name), member)).collect();
        (!members.is_empty()).then(|| Payload::map(members))
    }

    /// Reports an input or output that the graph does not have.
    pub(super) fn check<'g>(
        &self,
        inputs: impl Iterator<Item = &'g str> + Clone,
        outputs: impl Iterator<Item = &'g str> + Clone,
        problems: &mut Problems,
    ) {
        let Some(ChatExposure::Model { input, output, .. }) = &self.chat else { return };
        let root = At::Root;
        let at = root.key("expose");
        let at = at.key("openai");
        if let Some(input) = input {
            check_known("input", input, inputs, &at.key("input"), problems);
        }
        if let Some(output) = output {
            check_known("output", output, outputs, &at.key("output"), problems);
        }
    }
}

/// The members that are declared, or `true` if there are none.
fn declared<const N: usize>(members: [(&str, &Option<Arc<str>>); N]) -> Payload {
    let members = members
        .into_iter()
        .filter_map(|(name, text)| Some((Arc::from(name), Payload::Str(text.as_ref()?.clone()))));
    let members: Map = members.collect();
    if members.is_empty() { Payload::Bool(true) } else { Payload::map(members) }
}

fn read_chat(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ChatExposure> {
    if let Payload::Bool(on) = payload {
        let all = ChatExposure::Model { model: None, input: None, output: None };
        return Some(if *on { all } else { ChatExposure::Off });
    }
    let mut object = open(payload, at, problems)?;
    let model = object.optional("model", |payload, at, problems| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
        let form = format!("1 to {MODEL_NAME} letters, digits, `-`, `_`, `.`, `:` and `/`");
        read_name(payload, MODEL_NAME, is_part, &form, at, problems)
    });
    let input = object.optional("input", read::shared_text);
    let output = object.optional("output", read::shared_text);
    object.close();
    Some(ChatExposure::Model { model, input, output })
}

fn read_tool(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<ToolExposure> {
    if let Payload::Bool(on) = payload {
        let all = ToolExposure::Tool { name: None, description: None };
        return Some(if *on { all } else { ToolExposure::Off });
    }
    let mut object = open(payload, at, problems)?;
    let name = object.optional("name", |payload, at, problems| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let form = format!("1 to {TOOL_NAME} letters, digits, `-` and `_`");
        read_name(payload, TOOL_NAME, is_part, &form, at, problems)
    });
    let description = object.optional("description", |payload, at, problems| {
        let text = read::shared_text(payload, at, problems)?;
        if text.len() > DESCRIPTION {
            let detail = format!("{} bytes; a description has at most {DESCRIPTION}", text.len());
            problems.add(at, Code::TooLarge, detail);
        }
        Some(text)
    });
    object.close();
    Some(ToolExposure::Tool { name, description })
}

fn open<'v, 'a, 'p>(
    payload: &'v Payload,
    at: &'a At<'a>,
    problems: &'p mut Problems,
) -> Option<Object<'v, 'a, 'p>> {
    if payload.as_map().is_none() {
        read::wrong_type(at, problems, "true, false or an object", payload);
        return None;
    }
    Object::open(payload, at, problems)
}

fn read_name(
    payload: &Payload,
    longest: usize,
    is_part: impl Fn(char) -> bool,
    form: &str,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<str>> {
    let name = read::shared_text(payload, at, problems)?;
    if !(1..=longest).contains(&name.len()) || !name.chars().all(is_part) {
        let shown: String = name.chars().take(80).collect();
        problems.add(at, Code::InvalidName, format!("`{shown}` is not such a name: {form}"));
    }
    Some(name)
}

fn check_known<'g>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'g str> + Clone,
    at: &At<'_>,
    problems: &mut Problems,
) {
    if known.clone().any(|known| known == name) {
        return;
    }
    let hint = nearest(name, known.clone())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let shown: String = name.chars().take(80).collect();
    let detail = format!("the graph has no {kind} `{shown}`{hint}; it has: {}", listed(known));
    problems.add(at, Code::UnknownField, detail);
}
