//! Tools of a client that an answer has to call: clients ask for a structured answer as the arguments of a tool. Knows no
//! route.

use dsrs::graph::Program;
use serde_json::{Map, Value};

use crate::app::App;
use crate::http::protocol::problem::ApiProblem;
use crate::http::routes::answer_schema::{AnswerSchema, OutputSchema};
use crate::http::routes::chat_refusal::{refused, shown};

/// The most tools that a request may have.
const MOST_TOOLS: usize = 128;

/// Where a tool and a choice have the description of the function: in a member, or themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionPlace {
    /// `{"type": "function", "function": {"name": …}}`.
    Member,
    /// `{"type": "function", "name": …}`.
    Itself,
}

/// Tools of which the answer calls one.
pub(super) struct AnswerTools<'q> {
    tools: Vec<AnswerTool<'q>>,
}

/// A tool whose parameters may be the form of an answer.
struct AnswerTool<'q> {
    name: &'q str,
    parameters: AnswerSchema<'q>,
}

impl FunctionPlace {
    /// The function of a tool or a choice.
    fn function(self, of: &Map<String, Value>) -> Option<&Map<String, Value>> {
        match self {
            Self::Member => of.get("function")?.as_object(),
            Self::Itself => Some(of),
        }
    }

    /// Where a tool has a member of its function.
    fn pointer(self, index: usize, member: &str) -> String {
        match self {
            Self::Member => format!("/tools/{index}/function/{member}"),
            Self::Itself => format!("/tools/{index}/{member}"),
        }
    }
}

impl<'q> AnswerTools<'q> {
    /// The tools that a request demands a call of; `None` if it has no tools, or demands that none is called. Tools that
    /// a model may call or not are refused: a graph has its own.
    pub(super) fn of(
        tools: Option<&'q Vec<Map<String, Value>>>,
        choice: &'q Value,
        place: FunctionPlace,
    ) -> Result<Option<Self>, ApiProblem> {
        let tools = tools.map(Vec::as_slice).unwrap_or_default();
        let named = match choice {
            Value::String(word) if word == "none" => return Ok(None),
            Value::String(word) if word == "required" => None,
            Value::Null | Value::String(_) if tools.is_empty() => return Ok(None),
            Value::Object(choice) if choice.get("type") == Some(&"function".into()) => {
                let function = place.function(choice);
                function.and_then(|function| function.get("name")?.as_str()).map(Some).ok_or_else(
                    || refused("/tool_choice", "expected the name of one of the `tools`"),
                )?
            }
            Value::Null | Value::String(_) => return Err(refused("/tools", OWN_TOOLS)),
            _ => return Err(refused("/tool_choice", "expected `required`, `none`, or a function")),
        };
        if tools.len() > MOST_TOOLS {
            return Err(refused("/tools", format!("more than {MOST_TOOLS} tools")));
        }
        let read = tools.iter().enumerate().map(|(index, tool)| read(index, tool, place));
        let mut tools = read.collect::<Result<Vec<_>, _>>()?;
        tools.retain(|tool| named.is_none_or(|name| name == tool.name));
        match tools.is_empty() {
            true => Err(refused("/tool_choice", "it demands a tool that `tools` does not have")),
            false => Ok(Some(Self { tools })),
        }
    }

    /// The first tool whose parameters are outputs of a program and fit them: its name, and its parameters as a form.
    pub(super) fn choose(
        &self,
        app: &App,
        program: &Program,
    ) -> Result<(&'q str, OutputSchema), ApiProblem> {
        let mut reasons = Vec::new();
        for AnswerTool { name, parameters } in &self.tools {
            let has_member = |schema: &OutputSchema| {
                program.graph().outputs().any(|(output, _)| schema.has_member(output))
            };
            match parameters.check(app, program) {
                Ok(schema) if has_member(&schema) => return Ok((name, schema)),
                Ok(_) => reasons.push(format!("`{}` has none of them", shown(name))),
                // Another tool of the request may be the one.
                Err(problem) => reasons.push(format!("`{}`: {}", shown(name), problem.detail())),
            }
        }
        let reasons = reasons.join("; ");
        let detail = format!("the outputs of the graph are the parameters of no tool: {reasons}");
        Err(refused("/tools", detail))
    }
}

const OWN_TOOLS: &str = "a graph has tools of its own; leave them out, or demand the call of one whose parameters are the \
     outputs of the graph (`tool_choice`)";

fn read<'q>(
    index: usize,
    tool: &'q Map<String, Value>,
    place: FunctionPlace,
) -> Result<AnswerTool<'q>, ApiProblem> {
    let function = place.function(tool).filter(|_| tool.get("type") == Some(&"function".into()));
    let function = function.ok_or_else(|| {
        refused(format!("/tools/{index}"), "expected a tool of the type `function`")
    })?;
    let named = function.get("name").and_then(Value::as_str);
    let name = named
        .ok_or_else(|| refused(place.pointer(index, "name"), "expected the name of the tool"))?;
    let pointer = place.pointer(index, "parameters");
    let schema = function.get("parameters").filter(|schema| schema.is_object());
    let schema = schema.ok_or_else(|| refused(&pointer, "expected a schema of an object"))?;
    let is_strict = function.get("strict") == Some(&Value::Bool(true));
    let parameters = AnswerSchema { place: format!("/tools/{index}"), pointer, schema, is_strict };
    Ok(AnswerTool { name, parameters })
}
