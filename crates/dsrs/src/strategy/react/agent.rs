//! The loop of `react`: think, call tools, look at the results, until there is enough to answer. One
//! algorithm over predictors and a toolbox, whatever the signature is written in.

use std::future::Future;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::value::RawValue;

use super::FINISH;
use super::prompt::{MORE, THOUGHT, TOOL_ARGS, TOOL_NAME, TRAJECTORY};
use super::steps::{Call, Step, Steps};
use crate::adapter::ChatAdapter;
use crate::lm::{LmReply, ToolSet, ToolSpec};
use crate::predict::{Ctx, PredictError, PredictErrorKind, SchemaPredictor, ToolDispatcher};
use crate::value::{Fields, Payload};

/// The most calls of one step.
const CALLS: usize = 32;

/// How far an agent may go, and with what.
pub(super) struct Agent {
    toolbox: ToolDispatcher,
    offer: Arc<ToolSet>,
    limits: Limits,
}

/// How far an agent may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most steps.
    pub(super) max_iters: usize,
    /// The most calls at the same time.
    pub(super) max_parallel: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_iters: 10, max_parallel: 8 }
    }
}

impl Agent {
    pub(super) fn new(toolbox: ToolDispatcher, limits: Limits) -> Self {
        let offer = toolbox.offer([finish()]);
        Self { toolbox, offer, limits }
    }

    /// Takes steps until the LM ends them or there have been enough.
    ///
    /// An answer that cannot be read, after its retries, ends them too, as long as there is
    /// something to make the outputs of.
    pub(super) async fn act(
        &self,
        ctx: &Ctx,
        action: &SchemaPredictor,
        input: &Fields,
    ) -> Result<Steps, PredictError> {
        let mut steps = Steps::default();
        for _ in 0..self.limits.max_iters {
            let ask = |input| action.forward_with_tools(ctx, input, &self.offer, read);
            let answer = match with_steps(&mut steps, input, ask).await {
                Err(error) if is_unread(&error) && !steps.is_empty() => break,
                answer => answer?,
            };
            let (thought, calls) = taken(&answer);
            let results = self.call(ctx, &calls).await?;
            let finished = calls.iter().any(Call::is_finish);
            steps.push(Step { thought, calls, results });
            if finished {
                break;
            }
        }
        Ok(steps)
    }

    /// The results of all calls but for `finish`, in their order.
    async fn call(&self, ctx: &Ctx, calls: &[Call]) -> Result<Vec<String>, PredictError> {
        let real = calls.iter().filter(|call| !call.is_finish());
        let each = real.map(|call| self.toolbox.call(ctx, &call.name, &call.args));
        // Collected first: the closures of a stream over borrows are too general for `Send`.
        let each: Vec<_> = each.collect();
        stream::iter(each).buffered(self.limits.max_parallel).try_collect().await
    }
}

/// Asks with the steps so far. While they are more than the LM can read, the oldest are left out.
pub(super) async fn with_steps<T, Asking: Future<Output = Result<T, PredictError>>>(
    steps: &mut Steps,
    input: &Fields,
    ask: impl Fn(Fields) -> Asking,
) -> Result<T, PredictError> {
    loop {
        let mut input = input.clone();
        input.insert(TRAJECTORY.into(), steps.shown().into());
        match ask(input).await {
            Err(error) if error.is_context_overflow() && steps.forget() => {}
            outcome => return outcome,
        }
    }
}

const fn is_unread(error: &PredictError) -> bool {
    matches!(error.kind, PredictErrorKind::Parse { .. } | PredictErrorKind::Constraint { .. })
}

/// The call that ends the steps, for LMs that are told of tools beside the messages.
fn finish() -> ToolSpec {
    let parameters = RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned());
    ToolSpec {
        name: FINISH.into(),
        description: "Ends the steps; the outputs can be written now.".into(),
        parameters: parameters.unwrap_or_default().into(),
    }
}

/// The outputs of `action` that an answer in calls stands for.
fn read(reply: &LmReply) -> Result<Fields, String> {
    let mut calls = Vec::with_capacity(reply.tool_calls.len());
    for call in &reply.tool_calls {
        let args = match call.arguments.trim() {
            "" => Payload::map(Fields::new()),
            text => Payload::from_json(text).map_err(|error| {
                format!("the arguments of the call of `{}` are no JSON: {error}", call.name)
            })?,
        };
        calls.push((Payload::Str(call.name.clone()), args));
    }
    let mut calls = calls.into_iter();
    let (name, args) = calls.next().ok_or("the answer asks for no call")?;
    let more: Vec<Payload> = calls
        .map(|(name, args)| {
            Fields::from_iter([("name".into(), name), ("args".into(), args)]).into()
        })
        .collect();
    let more = if more.is_empty() { Payload::Null } else { Payload::list(more) };
    Ok(Fields::from_iter([
        (THOUGHT.into(), Payload::from(thought(&reply.text))),
        (TOOL_NAME.into(), name),
        (TOOL_ARGS.into(), args),
        (MORE.into(), more),
    ]))
}

/// The thought in the text beside the calls, which may keep to the layout or not.
fn thought(text: &str) -> String {
    let mut sections = ChatAdapter::parse_sections(text);
    let thought = sections.swap_remove(THOUGHT);
    thought.unwrap_or_else(|| text.to_owned()).trim().to_owned()
}

/// The thought and the calls of an answer.
fn taken(answer: &Fields) -> (Arc<str>, Vec<Call>) {
    let text = |fields: &Fields, name: &str| match fields.get(name) {
        Some(Payload::Str(text)) => text.clone(),
        _ => "".into(),
    };
    let args = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_default();
    let first = Call::of(&text(answer, TOOL_NAME), args(answer, TOOL_ARGS));
    let more = answer.get(MORE).and_then(Payload::as_list).into_iter().flatten();
    let more = more.filter_map(Payload::as_map);
    let more = more.map(|call| Call::of(&text(call, "name"), args(call, "args")));
    (text(answer, THOUGHT), std::iter::once(first).chain(more).take(CALLS).collect())
}
