//! A tool whose arguments are checked before each call, which is a span of the trace. Does not know who calls it, nor
//! what becomes of the result.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::sleep_until;

use super::{Ctx, PredictError, PredictErrorKind, SpanId, SpanKind, SpanStatus, Tool, ToolError};
use crate::lm::ToolSpec;
use crate::read::ValueSchema;
use crate::value::{Fields, Payload};

/// The most argument errors of one call that a message names.
const PROBLEM_LIMIT: usize = 5;

/// A tool with the schema of its arguments, compiled.
#[derive(Clone)]
pub(crate) struct CheckedTool {
    tool: Arc<dyn Tool>,
    arguments: Arc<ValueSchema>,
}

impl CheckedTool {
    /// A tool whose arguments are checked by the schema that it names.
    ///
    /// # Errors
    /// Why the schema cannot be used.
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Result<Self, String> {
        let spec = tool.spec();
        let schema: serde_json::Value =
            serde_json::from_str(spec.parameters.get()).unwrap_or_default();
        let arguments = ValueSchema::compile(&schema).map_err(|error| {
            format!("the arguments of `{}` are not a supported JSON Schema: {error}", spec.name)
        })?;
        Ok(Self { tool, arguments: Arc::new(arguments) })
    }

    /// Its description.
    pub(crate) fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// The JSON Schema of its results, if it names one.
    pub(crate) fn result_schema(&self) -> Option<Payload> {
        self.tool.result_schema()
    }

    /// Whether the caller of the run answers its calls.
    pub(crate) fn waits_for_caller(&self) -> bool {
        self.tool.waits_for_caller()
    }

    /// Records a call that the caller of the run has answered.
    pub(crate) fn record_answer(
        &self,
        ctx: &Ctx,
        args: &Payload,
        answer: Result<&Payload, &str>,
    ) -> Result<Payload, ToolError> {
        let span = open_span(ctx, self.spec().name.clone(), args);
        let answered = answer.cloned().map_err(ToolError::reported);
        close_span(ctx, span, &answered);
        answered
    }

    /// Calls it within a span, for an LM.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) async fn call(&self, ctx: &Ctx, args: &Payload) -> Result<Payload, ToolError> {
        let span = open_span(ctx, self.spec().name.clone(), args);
        let ctx = Ctx { call_key: None, ..ctx.under(span) };
        let called = self.checked(&ctx, args, |args| self.tool.call(&ctx, args)).await;
        close_span(&ctx, span, &called);
        called
    }

    /// Calls it within a span, for a program. `key` is the same for each repeat of the same call.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) async fn call_for_data(
        &self,
        ctx: &Ctx,
        args: &Payload,
        key: Option<Arc<str>>,
    ) -> Result<Payload, ToolError> {
        let span = open_span(ctx, self.spec().name.clone(), args);
        let ctx = Ctx { call_key: key, ..ctx.under(span) };
        let called = self.checked(&ctx, args, |args| self.tool.call_for_data(&ctx, args)).await;
        close_span(&ctx, span, &called);
        called
    }

    /// Records a call whose result is known already.
    pub(crate) fn reuse(&self, ctx: &Ctx, args: &Payload, result: Payload) -> Payload {
        let span = open_span(ctx, self.spec().name.clone(), args);
        ctx.trace().amend(span, |span| span.cached = true);
        close_span(ctx, span, &Ok(result.clone()));
        result
    }

    /// Checks the arguments, then calls, at most until the deadline or cancellation.
    async fn checked<'c>(
        &self,
        ctx: &Ctx,
        args: &Payload,
        call: impl FnOnce(Fields) -> BoxFuture<'c, Result<Payload, ToolError>>,
    ) -> Result<Payload, ToolError> {
        let name = &self.tool.spec().name;
        let args = self.admit(args).map_err(ToolError::reported)?;
        let (cancelled, deadline) = (&ctx.run.cancelled, ctx.node.deadline);
        tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled").into())
            }
            result = call(args) => result,
            () = sleep_until(deadline) => {
                let message = format!("the time was over before the tool `{name}` returned");
                Err(PredictError::new(PredictErrorKind::Timeout, message).into())
            }
        }
    }

    /// The arguments, if they fit the tool.
    pub(crate) fn admit(&self, args: &Payload) -> Result<Fields, String> {
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

/// Opens the span of a call.
pub(super) fn open_span(ctx: &Ctx, name: Arc<str>, args: &Payload) -> SpanId {
    ctx.trace().open(SpanKind::Tool, &ctx.node.node, ctx.parent, |span| {
        span.tool = Some(name);
        span.inputs = args.as_map().cloned();
    })
}

/// Closes the span of a call with its result or failure.
pub(super) fn close_span(ctx: &Ctx, span: SpanId, called: &Result<Payload, ToolError>) {
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

/// A result as text: text as it is, anything else as JSON.
pub(crate) fn result_text(result: &Payload) -> String {
    match result {
        Payload::Str(text) => text.to_string(),
        other => other.to_json(),
    }
}

/// The beginning of a text that the LM wrote, for a message.
pub(super) fn brief(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
