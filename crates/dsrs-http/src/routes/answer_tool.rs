//! Tools of a client that an answer has to call: clients ask for a structured answer as the arguments of a tool. Knows no
//! route.

use dsrs::graph::Program;
use serde_json::{Map, Value};

use crate::protocol::problem::ApiProblem;
use crate::routes::answer_schema::{AnswerSchema, OutputSchema, SchemaSize};
use crate::routes::chat_refusal::{refused, shown};
use dsrs_app::App;

/// The most tools that a request may have, and the longest name of one.
const MOST_TOOLS: usize = 128;
const LONGEST_NAME: usize = 64;

const OWN_TOOLS: &str = "a graph has tools of its own; leave them out, or demand the call of one whose parameters are the \
     outputs of the graph (`tool_choice`)";

/// Where a tool and a choice describe the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionPlace {
    /// `{"type": "function", "function": {"name": …}}`.
    Member,
    /// `{"type": "function", "name": …}`.
    Root,
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

/// What a request says about calls.
enum ToolChoice<'q> {
    /// No tool is called.
    Never,
    /// A model decides.
    Auto,
    /// Any tool is called.
    Any,
    /// The tool with this name is called.
    Named(&'q str),
}

impl<'q> ToolChoice<'q> {
    fn read(choice: &'q Value, place: FunctionPlace) -> Result<Self, ApiProblem> {
        match choice {
            Value::Null => Ok(Self::Auto),
            Value::String(word) => match word.as_str() {
                "none" => Ok(Self::Never),
                "auto" => Ok(Self::Auto),
                "required" => Ok(Self::Any),
                _ => Err(unknown_choice()),
            },
            Value::Object(choice) if choice.get("type") == Some(&"function".into()) => {
                let function = place.function(choice);
                let name = function.and_then(|function| function.get("name")?.as_str());
                name.map(Self::Named).ok_or_else(unknown_choice)
            }
            _ => Err(unknown_choice()),
        }
    }
}

fn unknown_choice() -> ApiProblem {
    refused("/tool_choice", "expected `none`, `auto`, `required`, or a function with its name")
}

impl FunctionPlace {
    /// The function of a tool or a choice.
    fn function(self, of: &Map<String, Value>) -> Option<&Map<String, Value>> {
        match self {
            Self::Member => of.get("function")?.as_object(),
            Self::Root => Some(of),
        }
    }

    /// Where a tool has its function.
    fn pointer(self, index: usize) -> String {
        match self {
            Self::Member => format!("/tools/{index}/function"),
            Self::Root => format!("/tools/{index}"),
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
        let named = match ToolChoice::read(choice, place)? {
            ToolChoice::Never => return Ok(None),
            ToolChoice::Auto if tools.is_empty() => return Ok(None),
            ToolChoice::Auto => return Err(refused("/tools", OWN_TOOLS)),
            ToolChoice::Any => None,
            ToolChoice::Named(name) => Some(name),
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

    /// The first tool whose parameters are outputs of a program and fit them: its name, and its parameters as a form. A
    /// tool that is alone, with one parameter of another name, gets the `answer`: clients wrap values that are no objects
    /// so.
    pub(super) fn choose(
        &self,
        app: &App,
        program: &Program,
        answer: &str,
    ) -> Result<(&'q str, OutputSchema), ApiProblem> {
        let (mut reasons, mut size) = (Vec::new(), SchemaSize::default());
        let is_alone = self.tools.len() == 1;
        for AnswerTool { name, parameters } in &self.tools {
            let members = parameters.members();
            let has_output =
                program.graph().outputs().any(|(output, _)| members.contains(&&**output));
            let wrapped = match members.as_slice() {
                _ if has_output => None,
                [member] if is_alone => Some((answer, *member)),
                _ => {
                    reasons.push(format!("`{name}` has none of them"));
                    continue;
                }
            };
            size.add(parameters.schema);
            size.check("/tools")?;
            match parameters.check_as(app, program, wrapped) {
                Ok(schema) => return Ok((name, schema)),
                // Another tool of the request may be the one.
                Err(problem) => reasons.push(format!("`{name}`: {}", problem.detail())),
            }
        }
        let reasons = reasons.join("; ");
        let detail = format!("the outputs of the graph are the parameters of no tool: {reasons}");
        Err(refused("/tools", shown(&detail)))
    }
}

fn read<'q>(
    index: usize,
    tool: &'q Map<String, Value>,
    place: FunctionPlace,
) -> Result<AnswerTool<'q>, ApiProblem> {
    let around = place.pointer(index);
    let function = place.function(tool).filter(|_| tool.get("type") == Some(&"function".into()));
    let function = function.ok_or_else(|| {
        refused(format!("/tools/{index}"), "expected a tool of the type `function`")
    })?;
    let named = function.get("name").and_then(Value::as_str).filter(|name| is_name(name));
    let name = named.ok_or_else(|| {
        let detail = format!("expected 1 to {LONGEST_NAME} letters, digits, `_` and `-`");
        refused(format!("{around}/name"), detail)
    })?;
    let place = format!("/tools/{index}");
    let parameters = AnswerSchema::read(function, "parameters", place, &around)?;
    Ok(AnswerTool { name, parameters })
}

/// Whether a text is the name of a tool, as OpenAI has them.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(is_part)
}
