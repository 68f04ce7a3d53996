//! The tools of one predictor or agent: finds them by name and renders each result as text for the LM. A failed call is
//! a text too; only the end of the run is an error.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use super::checked_tool::{CheckedTool, brief, close_span, open_span, result_text};
use super::{Ctx, PredictError, Tool, ToolError};
use crate::lm::{ToolSet, ToolSpec};
use crate::read::{listed, nearest};
use crate::value::Payload;

/// The most characters of a result shown to the LM.
const RESULT_LIMIT: usize = 20_000;

/// Tools by name.
#[derive(Clone, Default)]
pub(crate) struct ToolDispatcher {
    tools: IndexMap<Arc<str>, CheckedTool>,
    /// The names that have another meaning here.
    reserved: &'static [&'static str],
}

/// What an LM sees of a call.
pub(crate) struct CallResult {
    pub(crate) text: String,
    pub(crate) has_failed: bool,
}

impl fmt::Debug for ToolDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

/// Whether LM providers accept it as the name of a tool.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(sign)
}

impl ToolDispatcher {
    /// An empty dispatcher that reserves names: a call of them is no tool call.
    pub(crate) fn reserving(names: &'static [&'static str]) -> Self {
        Self { reserved: names, ..Self::default() }
    }

    /// Whether it has no tools.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether a tool or something else has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name) || self.is_reserved(name)
    }

    fn is_reserved(&self, name: &str) -> bool {
        self.reserved.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
    }

    /// Adds a tool, or returns why it cannot be added.
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), String> {
        let spec = tool.spec();
        let name = spec.name.clone();
        if !is_tool_name(&name) {
            return Err(format!(
                "`{name}` is not a valid tool name: use 1 to 64 letters, digits, `_` or `-`"
            ));
        }
        if self.is_reserved(&name) {
            return Err(format!("`{name}` is reserved: it ends the steps; rename the tool"));
        }
        if self.tools.contains_key(&name) {
            return Err(format!("two tools are named `{name}`; remove or rename one"));
        }
        self.tools.insert(name, CheckedTool::new(tool)?);
        Ok(())
    }

    /// Each tool, in order.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &CheckedTool> {
        self.tools.values()
    }

    /// The specification of each tool, in order.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(CheckedTool::spec)
    }

    /// The name of each tool, in order.
    pub(crate) fn names(&self) -> Arc<[Arc<str>]> {
        self.tools.keys().cloned().collect()
    }

    /// The tool set for native tool calls; `more` are calls with another meaning.
    pub(crate) fn offer(&self, more: impl IntoIterator<Item = ToolSpec>) -> Arc<ToolSet> {
        ToolSet::of(self.specs().cloned().chain(more))
    }

    /// Finds a tool by name; case does not matter.
    fn find(&self, name: &str) -> Option<&CheckedTool> {
        self.tools.get(name).or_else(|| {
            let alike = |known: &&CheckedTool| known.spec().name.eq_ignore_ascii_case(name);
            self.tools.values().find(alike)
        })
    }

    /// The first tool whose calls the caller of the run answers.
    pub(crate) fn caller_tool(&self) -> Option<&str> {
        let found = self.tools.values().find(|tool| tool.waits_for_caller())?;
        Some(&found.spec().name)
    }

    /// Whether the caller of the run has to answer a call: of a tool of the caller, with arguments that fit.
    pub(crate) fn waits_for_caller(&self, name: &str, args: &Payload) -> bool {
        let tool = self.find(name).filter(|tool| tool.waits_for_caller());
        tool.is_some_and(|tool| tool.admit(args).is_ok())
    }

    /// The answer of the caller of the run to a call, as text.
    pub(crate) fn answered(
        &self,
        ctx: &Ctx,
        (name, args): (&str, &Payload),
        answer: Result<&Payload, &str>,
    ) -> String {
        let answered = match self.find(name) {
            Some(tool) => tool.record_answer(ctx, args, answer),
            None => answer.cloned().map_err(ToolError::reported),
        };
        answered
            .map_or_else(|failed| failure_text(&failed), |result| truncated(result_text(&result)))
    }

    /// Calls a tool and returns its result as text. Only the end of the run is an error.
    pub(crate) async fn call(
        &self,
        ctx: &Ctx,
        name: &str,
        args: &Payload,
    ) -> Result<String, PredictError> {
        self.call_once(ctx, name, args).await.map(|called| called.text)
    }

    /// Like [`Self::call`], and says whether the call has failed.
    pub(crate) async fn call_once(
        &self,
        ctx: &Ctx,
        name: &str,
        args: &Payload,
    ) -> Result<CallResult, PredictError> {
        let called = match self.find(name) {
            Some(tool) => tool.call(ctx, args).await,
            None => {
                let span = open_span(ctx, name.into(), args);
                let unknown = Err(ToolError::reported(self.unknown(name)));
                close_span(ctx, span, &unknown);
                unknown
            }
        };
        match called {
            Ok(result) => {
                Ok(CallResult { text: truncated(result_text(&result)), has_failed: false })
            }
            Err(ToolError::Fatal(error)) => Err(error),
            Err(failed) => Ok(CallResult { text: failure_text(&failed), has_failed: true }),
        }
    }

    /// Returns why there is no tool of this name.
    pub(crate) fn check_known(&self, name: &str) -> Result<(), String> {
        self.find(name).map(|_| ()).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> String {
        let names = || self.tools.keys().map(|known| &**known);
        let hint = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        format!("there is no tool `{}`; {hint}the tools are {}", brief(name), listed(names()))
    }
}

fn failure_text(failed: &ToolError) -> String {
    format!("Error: {}", truncated(failed.to_string()))
}

fn truncated(mut text: String) -> String {
    // A text has at least as many bytes as characters, so short texts need no counting.
    if text.len() > RESULT_LIMIT
        && let Some((end, _)) = text.char_indices().nth(RESULT_LIMIT)
    {
        let left = text.get(end..).map_or(0, |rest| rest.chars().count());
        text.truncate(end);
        text.push_str(&format!("\n… ({left} more characters were left out)"));
    }
    text
}
