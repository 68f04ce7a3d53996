//! Tools as functions that programs call: their descriptions for the LM, and their calls. A failed call is an exception in
//! the program; only the end of the run is an error. Does not know where tools come from.

use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;

use super::names::python_name;
use crate::lm::ToolSpec;
use crate::predict::{CheckedTool, Ctx, PredictError, PredictErrorKind, ToolDispatcher, ToolError};
use crate::problem::{At, Code, Problems};
use crate::sandbox::{HostAnswer, HostCall};
use crate::strategy::tools::described_arguments;
use crate::value::{Fields, Payload};

/// Tools by the names of their functions.
#[derive(Clone, Default)]
pub(in crate::strategy) struct ProgramFunctions {
    functions: IndexMap<Arc<str>, ToolFunction>,
}

#[derive(Clone)]
struct ToolFunction {
    tool: CheckedTool,
    /// The names of its arguments, in the order of positional ones.
    arguments: Vec<Arc<str>>,
}

impl ProgramFunctions {
    /// The tools as functions; `at` is the place of the tools. A name that two would have, or that is reserved, is a
    /// problem. A stored definition always loads: such a tool is left out then.
    pub(in crate::strategy) fn of(
        tools: &ToolDispatcher,
        reserved: &[&str],
        is_stored: bool,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Self {
        let mut functions = IndexMap::new();
        for tool in tools.tools() {
            let (name, arguments) = (python_name(&tool.spec().name), arguments(tool.spec()));
            if !reserved.contains(&name.as_str()) && !functions.contains_key(name.as_str()) {
                functions.insert(name.into(), ToolFunction { tool: tool.clone(), arguments });
            } else if !is_stored {
                let detail = format!(
                    "programs already have a function `{name}`; rename the tool `{}`, or remove it",
                    tool.spec().name
                );
                problems.add(at, Code::DuplicateName, detail);
            }
        }
        Self { functions }
    }

    pub(in crate::strategy) fn names(&self) -> impl Iterator<Item = &Arc<str>> + Clone {
        self.functions.keys()
    }

    /// The functions for the LM, each in lines of its own.
    pub(in crate::strategy) fn described(&self) -> String {
        let mut text = String::new();
        for (name, ToolFunction { tool, arguments }) in &self.functions {
            // Writing to a string does not fail.
            let description = tool.spec().description.trim();
            let _ = writeln!(text, "- `{name}({})`: {description}", arguments.join(", "));
            let _ = writeln!(text, "  Arguments: {}", described_arguments(tool.spec()));
        }
        text
    }

    /// The answer to a call, if it is one of these functions.
    pub(in crate::strategy) async fn call(
        &self,
        ctx: &Ctx,
        call: HostCall,
    ) -> Result<HostAnswer, PredictError> {
        let Some(ToolFunction { tool, arguments }) = self.functions.get(&call.name) else {
            return Ok(HostAnswer::Raise(format!("there is no function `{}`", call.name).into()));
        };
        let args = match named(call, arguments) {
            Ok(args) => Payload::map(args),
            Err(why) => return Ok(HostAnswer::Raise(why.into())),
        };
        match tool.call_for_data(ctx, &args, None).await {
            Ok(result) => Ok(HostAnswer::Return(result)),
            Err(ToolError::Fatal(error)) if ends_the_run(ctx, &error) => Err(error),
            Err(failed) => Ok(HostAnswer::Raise(failed.to_string().into())),
        }
    }
}

/// Whether the failure of a tool is the end of the run, and not one that the LM may work around.
fn ends_the_run(ctx: &Ctx, error: &PredictError) -> bool {
    let ends = matches!(
        error.kind,
        PredictErrorKind::Cancelled | PredictErrorKind::Timeout | PredictErrorKind::Budget
    );
    ends && ctx.is_fatal(error)
}

/// The names of the arguments, in the order of the schema.
fn arguments(spec: &ToolSpec) -> Vec<Arc<str>> {
    let schema = Payload::from_json(spec.parameters.get()).unwrap_or_default();
    let properties = schema.as_map().and_then(|schema| schema.get("properties")?.as_map());
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// All arguments by name.
fn named(call: HostCall, arguments: &[Arc<str>]) -> Result<Fields, String> {
    let HostCall { name, args, named } = call;
    if args.len() > arguments.len() {
        let (most, found) = (arguments.len(), args.len());
        return Err(format!("{name}() takes {most} arguments, and {found} were passed"));
    }
    let mut all: Fields = arguments.iter().cloned().zip(args).collect();
    for (argument, value) in named {
        if all.insert(argument.clone(), value).is_some() {
            return Err(format!("{name}() got two values for the argument `{argument}`"));
        }
    }
    Ok(all)
}
