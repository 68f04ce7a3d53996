//! The tools of one predictor or agent: finds them by name, checks their arguments, records a span
//! for each call and renders each result as text for the LM. A failed call is a text too; only the
//! end of the run is an error.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::sleep_until;

use super::{Ctx, PredictError, PredictErrorKind, SpanId, SpanKind, SpanStatus, Tool, ToolError};
use crate::lm::{ToolSet, ToolSpec};
use crate::read::{ValueSchema, listed, nearest};
use crate::value::{Fields, Payload};

/// The most characters of a result shown to the LM.
const RESULT_LIMIT: usize = 20_000;

/// The most argument errors of one call shown to the LM.
const PROBLEM_LIMIT: usize = 5;

/// Tools by name.
#[derive(Clone, Default)]
pub(crate) struct ToolDispatcher {
    tools: IndexMap<Arc<str>, RegisteredTool>,
    /// A name that has another meaning here.
    reserved: Option<&'static str>,
}

#[derive(Clone)]
struct RegisteredTool {
    tool: Arc<dyn Tool>,
    arguments: Arc<ValueSchema>,
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
    /// An empty dispatcher that reserves a name: a call of it is no tool call.
    pub(crate) fn reserving(name: &'static str) -> Self {
        Self { reserved: Some(name), ..Self::default() }
    }

    /// Whether it has no tools.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether a tool or something else has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
            || self.reserved.is_some_and(|reserved| reserved.eq_ignore_ascii_case(name))
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
        if self.reserved.is_some_and(|reserved| reserved.eq_ignore_ascii_case(&name)) {
            return Err(format!("`{name}` is reserved: it ends the steps; rename the tool"));
        }
        if self.tools.contains_key(&name) {
            return Err(format!("two tools are named `{name}`; remove or rename one"));
        }
        let schema: serde_json::Value =
            serde_json::from_str(spec.parameters.get()).unwrap_or_default();
        let arguments = ValueSchema::compile(&schema).map_err(|error| {
            format!("the arguments of `{name}` are not a supported JSON Schema: {error}")
        })?;
        let arguments = Arc::new(arguments);
        self.tools.insert(name, RegisteredTool { tool, arguments });
        Ok(())
    }

    /// The specification of each tool, in order.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| entry.tool.spec())
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
    fn find(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.get(name).or_else(|| {
            let alike = |known: &&RegisteredTool| known.tool.spec().name.eq_ignore_ascii_case(name);
            self.tools.values().find(alike)
        })
    }

    /// Calls a tool and returns its result as text. Only the end of the run is an error.
    pub(crate) async fn call(
        &self,
        ctx: &Ctx,
        name: &str,
        args: &Payload,
    ) -> Result<String, PredictError> {
        let found = self.find(name);
        let span = ctx.trace().open(SpanKind::Tool, &ctx.node.node, ctx.parent, |span| {
            span.tool =
                Some(found.map_or_else(|| name.into(), |entry| entry.tool.spec().name.clone()));
            span.inputs = args.as_map().cloned();
        });
        let called = match found {
            None => Err(ToolError::reported(self.unknown(name))),
            Some(entry) => entry.call(&ctx.under(span), args).await,
        };
        close(ctx, span, &called);
        match called {
            Ok(result) => Ok(truncated(text(&result))),
            Err(ToolError::Reported(reason)) => {
                Ok(format!("Error: {}", truncated(reason.to_string())))
            }
            Err(ToolError::Fatal(error)) => Err(error),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names = || self.tools.keys().map(|known| &**known);
        let hint = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        format!("there is no tool `{}`; {hint}the tools are {}", brief(name), listed(names()))
    }
}

impl RegisteredTool {
    async fn call(&self, ctx: &Ctx, args: &Payload) -> Result<Payload, ToolError> {
        let name = &self.tool.spec().name;
        let args = self.admit(args).map_err(ToolError::reported)?;
        let (cancelled, deadline) = (&ctx.run.cancelled, ctx.node.deadline);
        tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled").into())
            }
            result = self.tool.call(ctx, args) => result,
            () = sleep_until(deadline) => {
                let message = format!("the time was over before the tool `{name}` returned");
                Err(PredictError::new(PredictErrorKind::Timeout, message).into())
            }
        }
    }

    /// The arguments, if they fit the tool.
    fn admit(&self, args: &Payload) -> Result<Fields, String> {
        let args = match args {
            Payload::Map(args) => Fields::clone(args),
            Payload::Null => Fields::new(),
            other => return Err(self.arguments_problem(&format!("they are {}", other.kind()))),
        };
        let tree = serde_json::to_value(&args).unwrap_or_default();
        let problems = self.arguments.problems(&tree, PROBLEM_LIMIT).into_iter();
        let problems: Vec<String> = problems
            .map(|(place, reason)| match place.trim_start_matches('/') {
                "" => brief(&reason),
                place => format!("`{place}`: {}", brief(&reason)),
            })
            .collect();
        if problems.is_empty() {
            Ok(args)
        } else {
            Err(self.arguments_problem(&problems.join("; ")))
        }
    }

    fn arguments_problem(&self, why: &str) -> String {
        let spec = self.tool.spec();
        format!(
            "the arguments do not fit: {why}. The arguments of `{}` are an object of the JSON \
             Schema {}",
            spec.name,
            spec.parameters.get()
        )
    }
}

fn close(ctx: &Ctx, span: SpanId, called: &Result<Payload, ToolError>) {
    let (status, error) = match called {
        Ok(_) => (SpanStatus::Succeeded, None),
        Err(ToolError::Fatal(error)) if error.kind == PredictErrorKind::Cancelled => {
            (SpanStatus::Cancelled, Some(error.to_string()))
        }
        Err(error) => (SpanStatus::Failed, Some(error.to_string())),
    };
    ctx.trace().close(span, status, |span| {
        let result = called.as_ref().ok().cloned();
        span.outputs = result.map(|result| Fields::from_iter([("result".into(), result)]));
        span.error_kind = error.is_some().then_some("tool_failed");
        span.error = error.map(Into::into);
    });
}

/// A result for the LM: text as it is, anything else as JSON.
fn text(result: &Payload) -> String {
    match result {
        Payload::Str(text) => text.to_string(),
        other => other.to_json(),
    }
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

/// The beginning of a text that the LM wrote, for a message.
fn brief(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
