//! The loop of `react`: reason, call tools, read the results, until the LM can answer. The same for
//! signatures as data and typed ones.

use std::sync::Arc;

use facet::Facet;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::value::RawValue;

use super::FINISH;
use super::pause::{OpenStep, continued, pause};
use super::prompt::{MORE, THOUGHT, TOOL_ARGS, TOOL_NAME};
use super::step::{AgentCall, AgentStep};
use crate::adapter::ChatAdapter;
use crate::lm::{LmReply, ToolSet, ToolSpec};
use crate::predict::{Ctx, PredictError, SchemaPredictor, ToolDispatcher};
use crate::strategy::steps::{StepHistory, TRAJECTORY, is_invalid_answer, with_steps};
use crate::value::{Fields, Payload};

/// The most tool calls of one step.
const CALLS: usize = 32;

/// The loop with its tools and limits.
#[derive(Clone)]
pub(super) struct Agent {
    toolbox: ToolDispatcher,
    offer: Arc<ToolSet>,
    limits: AgentLimits,
}

/// The limits of an agent.
#[derive(Clone, Copy, Debug, Facet)]
pub(super) struct AgentLimits {
    /// The most steps.
    #[facet(default = AgentLimits::default().max_iters, dsrs::minimum(1), dsrs::maximum(100))]
    pub(super) max_iters: usize,
    /// The most tool calls at the same time.
    #[facet(default = AgentLimits::default().max_parallel, dsrs::minimum(1), dsrs::maximum(64))]
    pub(super) max_parallel: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { max_iters: 10, max_parallel: 8 }
    }
}

impl Agent {
    pub(super) fn new(toolbox: ToolDispatcher, limits: AgentLimits) -> Self {
        let offer = toolbox.offer([finish()]);
        Self { toolbox, offer, limits }
    }

    /// Whether a step may wait for the caller of the run.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.toolbox.caller_tool().is_some()
    }

    /// Takes steps until the LM calls `finish` or the limit is reached. A step that calls tools of the caller ends with
    /// a pause; the next call of the node continues from its answers.
    ///
    /// An answer that is still invalid after its retries ends the steps too, if there are any to
    /// derive the outputs from.
    pub(super) async fn act(
        &self,
        ctx: &Ctx,
        action: &SchemaPredictor,
        input: &Fields,
    ) -> Result<StepHistory, PredictError> {
        let (mut steps, mut number) = (StepHistory::default(), 0);
        if let Some(pause) = &ctx.continuation {
            number = pause.number;
            let (earlier, step) = continued(ctx, &self.toolbox, pause)?;
            steps = earlier;
            if finish_step(&mut steps, step) {
                return Ok(steps);
            }
        }
        let since = steps.steps().len().saturating_sub(1);
        while steps.steps().len() < self.limits.max_iters {
            let ask = |input| action.forward_with_tools(ctx, input, &self.offer, read, words);
            let answer = match with_steps(&mut steps, TRAJECTORY, input, ask).await {
                Err(error) if is_invalid_answer(&error) && !steps.is_empty() => break,
                answer => answer?,
            };
            let (thought, calls) = thought_and_calls(&answer);
            let results = self.call(ctx, &calls).await?;
            let step = OpenStep { thought, calls, results };
            let step =
                step.completed().map_err(|open| pause(number + 1, steps.since(since), &open))?;
            if finish_step(&mut steps, step) {
                break;
            }
        }
        Ok(steps)
    }

    /// The results of all calls but for `finish`, in their order; `None` for those that the caller of the run answers.
    async fn call(
        &self,
        ctx: &Ctx,
        calls: &[AgentCall],
    ) -> Result<Vec<Option<String>>, PredictError> {
        let real = calls.iter().filter(|call| !call.is_finish());
        let each = real.map(|call| self.result(ctx, call));
        // Collected first: closures of a stream over borrows are not general enough for `Send`.
        let each: Vec<_> = each.collect();
        stream::iter(each).buffered(self.limits.max_parallel).try_collect().await
    }

    async fn result(&self, ctx: &Ctx, call: &AgentCall) -> Result<Option<String>, PredictError> {
        if self.toolbox.waits_for_caller(&call.name, &call.args) {
            return Ok(None);
        }
        self.toolbox.call(ctx, &call.name, &call.args).await.map(Some)
    }
}

/// Adds a step. Returns whether it was the last.
fn finish_step(steps: &mut StepHistory, step: AgentStep) -> bool {
    let finished = step.calls.iter().any(AgentCall::is_finish);
    steps.push(step.texts());
    finished
}

/// The tool that ends the steps, for native tool calls.
fn finish() -> ToolSpec {
    let parameters = RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned());
    ToolSpec {
        name: FINISH.into(),
        description:
            "Ends the steps. Call it once you have enough information to write the outputs.".into(),
        parameters: parameters.unwrap_or_default().into(),
    }
}

/// The outputs of `action` from an answer with native tool calls.
fn read(reply: &LmReply) -> Result<Fields, String> {
    let mut calls = Vec::with_capacity(reply.tool_calls.len());
    for call in &reply.tool_calls {
        let args = match call.arguments.trim() {
            "" => Payload::map(Fields::new()),
            text => Payload::from_json(text).map_err(|error| {
                format!("the arguments of the call of `{}` are not valid JSON: {error}", call.name)
            })?,
        };
        calls.push((Payload::Str(call.name.clone()), args));
    }
    let mut calls = calls.into_iter();
    let (name, args) = calls.next().ok_or("the answer contains no tool call")?;
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

/// The outputs of `action` from an answer in words: models that call tools natively end so when they have nothing
/// more to call. The outputs are derived from it. What has headers is an attempt at the layout instead.
fn words(reply: &LmReply) -> Option<Fields> {
    let text = reply.text.trim();
    let is_words = !text.is_empty() && ChatAdapter::parse_sections(text).is_empty();
    is_words.then(|| {
        Fields::from_iter([
            (THOUGHT.into(), Payload::from(text)),
            (TOOL_NAME.into(), Payload::from(FINISH)),
            (TOOL_ARGS.into(), Payload::map(Fields::new())),
            (MORE.into(), Payload::Null),
        ])
    })
}

/// The thought in the text beside native calls, with or without the layout.
fn thought(text: &str) -> String {
    let mut sections = ChatAdapter::parse_sections(text);
    let thought = sections.swap_remove(THOUGHT);
    thought.unwrap_or_else(|| text.to_owned()).trim().to_owned()
}

/// The thought and the calls of an answer.
fn thought_and_calls(answer: &Fields) -> (Arc<str>, Vec<AgentCall>) {
    let text = |fields: &Fields, name: &str| match fields.get(name) {
        Some(Payload::Str(text)) => text.clone(),
        _ => "".into(),
    };
    let args = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_default();
    let first = AgentCall::of(&text(answer, TOOL_NAME), args(answer, TOOL_ARGS));
    let more = answer.get(MORE).and_then(Payload::as_list).into_iter().flatten();
    let more = more.filter_map(Payload::as_map);
    let more = more.map(|call| AgentCall::of(&text(call, "name"), args(call, "args")));
    (text(answer, THOUGHT), std::iter::once(first).chain(more).take(CALLS).collect())
}
