//! Tools of the caller of a run: a client answers their calls while the run waits. Does not know how the answers arrive.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;

use super::http::tool_name;
use crate::lm::ToolSpec;
use crate::predict::{Ctx, Tool, ToolDispatcher, ToolError};
use crate::problem::{At, Code, Problems};
use crate::value::{Fields, Payload};

/// The description of a tool of the caller.
#[derive(Facet)]
pub(super) struct CallerToolConfig {
    /// The name of the tool for the LM.
    name: String,
    /// What it does and when to use it, for the LM.
    description: String,
    /// The JSON Schema of the arguments. Default: no arguments.
    #[facet(dsrs::object)]
    arguments: Option<Payload>,
}

struct CallerTool(ToolSpec);

impl CallerToolConfig {
    /// The tool. What is wrong with its name is reported.
    pub(super) fn tool(self, at: &At<'_>, problems: &mut Problems) -> Option<Arc<dyn Tool>> {
        let schema = self.arguments.unwrap_or_else(|| Payload::map(no_arguments()));
        let kind = schema.as_map().and_then(|members| members.get("type"));
        if kind.is_some_and(|kind| kind.as_str() != Some("object")) {
            let detail = "the arguments of a call are an object: \"type\": \"object\"";
            problems.add(&at.key("arguments").key("type"), Code::InvalidConfig, detail);
            return None;
        }
        let parameters = RawValue::from_string(schema.to_json()).ok()?.into();
        let name = tool_name(&self.name, &at.key("name"), problems)?;
        Some(Arc::new(CallerTool(ToolSpec {
            name,
            description: self.description.into(),
            parameters,
        })))
    }
}

fn no_arguments() -> Fields {
    Fields::from_iter([
        ("type".into(), "object".into()),
        ("properties".into(), Payload::map(Fields::new())),
    ])
}

impl Tool for CallerTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn waits_for_caller(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, _: &'a Ctx, _: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async { Err(ToolError::reported("only a step of `react` can wait for the caller")) }.boxed()
    }
}

/// Refuses tools of the caller where no step can wait for an answer.
pub(in crate::strategy) fn refuse_caller_tools(
    toolbox: &ToolDispatcher,
    at: &At<'_>,
    problems: &mut Problems,
) {
    if let Some(name) = toolbox.caller_tool() {
        let detail = format!(
            "`{name}` is a tool of the caller, for which a program cannot wait: use `react`, or a node `await`"
        );
        problems.add(at, Code::InvalidConfig, detail);
    }
}
