//! Tools from the view of an LM: their descriptions and the calls that it requests. Does not run tools.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The description of a tool for an LM.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name in calls.
    pub name: Arc<str>,
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Arc<RawValue>,
}

/// In the format of OpenAI's chat completions.
impl Serialize for ToolSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a RawValue,
        }
        let function = Function {
            name: &self.name,
            description: &self.description,
            parameters: &self.parameters,
        };
        let mut tool = serializer.serialize_struct("Tool", 2)?;
        tool.serialize_field("type", "function")?;
        tool.serialize_field("function", &function)?;
        tool.end()
    }
}

/// The tools of a request, and their JSON, which is written once.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<ToolSpec>,
    json: OnceLock<String>,
    /// Whether the LM has to call its one tool.
    is_forced: bool,
}

impl ToolSet {
    /// A shared set of these tools.
    #[must_use]
    pub fn of(tools: impl IntoIterator<Item = ToolSpec>) -> Arc<Self> {
        let tools = tools.into_iter().collect();
        Arc::new(Self { tools, json: OnceLock::new(), is_forced: false })
    }

    /// A shared set of one tool, which the LM has to call. An endpoint that cannot force a call offers it alone.
    #[must_use]
    pub fn forcing(tool: ToolSpec) -> Arc<Self> {
        Arc::new(Self { tools: vec![tool], json: OnceLock::new(), is_forced: true })
    }

    /// The tool that the LM has to call, if it has no choice.
    #[must_use]
    pub fn forced(&self) -> Option<&ToolSpec> {
        self.tools.first().filter(|_| self.is_forced)
    }

    /// The tools as a JSON list.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| serde_json::to_string(&self.tools).unwrap_or_default())
    }
}

impl Deref for ToolSet {
    type Target = [ToolSpec];

    fn deref(&self) -> &[ToolSpec] {
        &self.tools
    }
}

/// A tool call that an LM requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id of the call; its result refers to it.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// The arguments as the LM wrote them; not necessarily valid JSON.
    pub arguments: Arc<str>,
}

/// In the format of OpenAI's chat completions.
impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let mut call = serializer.serialize_struct("ToolCall", 3)?;
        call.serialize_field("id", &*self.id)?;
        call.serialize_field("type", "function")?;
        call.serialize_field(
            "function",
            &Function { name: &self.name, arguments: &self.arguments },
        )?;
        call.end()
    }
}
