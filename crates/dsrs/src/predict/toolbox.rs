//! The tools of one predictor or agent: found by name, their arguments checked before they are called, each call a
//! span of the trace, each result a text for the LM. Whatever goes wrong with a call is a text too;
//! only the end of the run is an error.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use jsonschema::Validator;
use tokio::time::sleep_until;

use super::{Ctx, PredictError, PredictErrorKind, SpanId, SpanKind, SpanStatus, Tool, ToolError};
use crate::lm::{ToolSet, ToolSpec};
use crate::read::{listed, nearest};
use crate::value::{Fields, Payload};

/// The most characters of a result that the LM is shown.
const RESULT_LIMIT: usize = 20_000;

/// The most slips of one call that the LM is told.
const SLIPS: usize = 5;

/// Tools by name.
#[derive(Clone, Default)]
pub(crate) struct Toolbox {
    tools: IndexMap<Arc<str>, Entry>,
    /// A name that means something else here.
    reserved: Option<&'static str>,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    arguments: Arc<Validator>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

/// Whether providers of LMs take it for the name of a tool.
pub(crate) fn is_tool_name(name: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(sign)
}

impl Toolbox {
    /// None yet, and none may have this name: a call of it is no call of a tool.
    pub(crate) fn reserving(name: &'static str) -> Self {
        Self { reserved: Some(name), ..Self::default() }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Adds a tool, or says why it cannot be one of these.
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), String> {
        let spec = tool.spec();
        let name = spec.name.clone();
        if !is_tool_name(&name) {
            return Err(format!(
                "`{name}` is no name of a tool: that is 1 to 64 letters, digits, `_` or `-`"
            ));
        }
        if self.reserved.is_some_and(|reserved| reserved.eq_ignore_ascii_case(&name)) {
            return Err(format!("no tool can be called `{name}`: that ends the steps; rename it"));
        }
        if self.tools.contains_key(&name) {
            return Err(format!("there are two tools `{name}`; leave one out or rename it"));
        }
        let schema: serde_json::Value =
            serde_json::from_str(spec.parameters.get()).unwrap_or_default();
        let arguments = jsonschema::validator_for(&schema)
            .map_err(|error| format!("the arguments of `{name}` are no JSON Schema: {error}"))?;
        let arguments = Arc::new(arguments);
        self.tools.insert(name, Entry { tool, arguments });
        Ok(())
    }

    /// What the LM is told of each, in order.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| entry.tool.spec())
    }

    /// What it is told beside the messages, where its model has a way for that; `more` are calls that
    /// mean something else than a tool.
    pub(crate) fn offer(&self, more: impl IntoIterator<Item = ToolSpec>) -> Arc<ToolSet> {
        ToolSet::of(self.specs().cloned().chain(more))
    }

    /// The tool of a name as an LM writes it: quotes, brackets and capitals do not count.
    fn find(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).or_else(|| {
            let alike = |known: &&Entry| known.tool.spec().name.eq_ignore_ascii_case(name);
            self.tools.values().find(alike)
        })
    }

    /// Calls a tool and tells what came of it. Anything but the end of the run is a text.
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
            None => Err(ToolError::told(self.unknown(name))),
            Some(entry) => entry.call(&ctx.under(span), args).await,
        };
        close(ctx, span, &called);
        match called {
            Ok(result) => Ok(shortened(text(&result))),
            Err(ToolError::Told(reason)) => Ok(format!("Error: {}", shortened(reason.to_string()))),
            Err(ToolError::Ends(error)) => Err(error),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names = || self.tools.keys().map(|known| &**known);
        let hint = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        format!("there is no tool `{}`; {hint}the tools are {}", brief(name), listed(names()))
    }
}

impl Entry {
    async fn call(&self, ctx: &Ctx, args: &Payload) -> Result<Payload, ToolError> {
        let name = &self.tool.spec().name;
        let args = self.admit(args).map_err(ToolError::told)?;
        let (cancelled, deadline) = (&ctx.run.cancelled, ctx.node.deadline);
        tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled").into())
            }
            result = self.tool.call(ctx, args) => result,
            () = sleep_until(deadline) => {
                let message = format!("the time was over before the tool `{name}` was done");
                Err(PredictError::new(PredictErrorKind::Timeout, message).into())
            }
        }
    }

    /// The arguments, if they are what the tool takes.
    fn admit(&self, args: &Payload) -> Result<Fields, String> {
        let args = match args {
            Payload::Map(args) => Fields::clone(args),
            Payload::Null => Fields::new(),
            other => return Err(self.unfit(&format!("they are {}", other.kind()))),
        };
        let tree = serde_json::to_value(&args).unwrap_or_default();
        let slips: Vec<String> = self
            .arguments
            .iter_errors(&tree)
            .take(SLIPS)
            .map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => brief(&error.to_string()),
                place => {
                    format!("`{}`: {}", place.trim_start_matches('/'), brief(&error.to_string()))
                }
            })
            .collect();
        if slips.is_empty() { Ok(args) } else { Err(self.unfit(&slips.join("; "))) }
    }

    fn unfit(&self, why: &str) -> String {
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
        Err(ToolError::Ends(error)) if error.kind == PredictErrorKind::Cancelled => {
            (SpanStatus::Cancelled, Some(error.to_string()))
        }
        Err(error) => (SpanStatus::Failed, Some(error.to_string())),
    };
    ctx.trace().close(span, status, |span| {
        let result = called.as_ref().ok().cloned();
        span.outputs = result.map(|result| Fields::from_iter([("result".into(), result)]));
        span.error = error.map(Into::into);
    });
}

/// A result for the LM: a text as it is, all else as JSON.
fn text(result: &Payload) -> String {
    match result {
        Payload::Str(text) => text.to_string(),
        other => other.to_json(),
    }
}

fn shortened(mut text: String) -> String {
    // Bytes are no more than characters, so that most texts are not counted.
    if text.len() > RESULT_LIMIT
        && let Some((end, _)) = text.char_indices().nth(RESULT_LIMIT)
    {
        let left = text.get(end..).map_or(0, |rest| rest.chars().count());
        text.truncate(end);
        text.push_str(&format!("\n… ({left} more characters were left out)"));
    }
    text
}

/// A word of the LM's own in a message.
fn brief(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
