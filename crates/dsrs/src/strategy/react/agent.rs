//! The loop of `react`: reason, call tools, read the results, until the LM can answer. The same for
//! signatures as data and typed ones.

use std::sync::Arc;

use facet::Facet;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::compaction::Compactor;
use super::ending::{Submission, finish};
use super::pause::{Continued, OpenStep, Pauses};
use super::reply::{any_words, read, read_any, thought_and_calls, words};
use super::step::{AgentCall, AgentStep, MadeCall};
use super::steps::AgentSteps;
use crate::lm::{LmErrorKind, LmReply, ToolSet};
use crate::predict::{CallResult, Ctx, PredictError, SchemaPredictor, ToolDispatcher};
use crate::strategy::steps::{TRAJECTORY, is_invalid_answer};
use crate::value::{Fields, Payload};

/// The loop with its tools and limits.
#[derive(Clone)]
pub(super) struct Agent {
    toolbox: ToolDispatcher,
    offer: Arc<ToolSet>,
    settings: AgentSettings,
    submission: Option<Arc<Submission>>,
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
    /// The tokens of prompts and answers after which there are no more steps. Default: no limit but `max_iters`.
    #[facet(dsrs::minimum(1))]
    pub(super) max_step_tokens: Option<u64>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { max_iters: 10, max_parallel: 8, max_step_tokens: None }
    }
}

/// How an agent takes its steps.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentSettings {
    pub(super) limits: AgentLimits,
    /// Whether steps are turns of the conversation, if the model calls tools natively.
    pub(super) turns: bool,
    /// The names of the tools whose call ends the steps.
    pub(super) stop_at_tools: Vec<Arc<str>>,
}

/// What an agent has done.
pub(super) struct AgentRun {
    pub(super) steps: AgentSteps,
    /// The outputs, if the LM submitted them.
    pub(super) outputs: Option<Fields>,
}

/// The predictor of the steps and the inputs of the call.
#[derive(Clone, Copy)]
struct Asked<'c> {
    ctx: &'c Ctx,
    action: &'c SchemaPredictor,
    input: &'c Fields,
    compactor: Option<Compactor<'c>>,
}

impl Asked<'_> {
    /// Replaces the older steps by a summary, if there is a predictor for it.
    async fn compact(&self, steps: &mut AgentSteps) -> Result<bool, PredictError> {
        match self.compactor {
            Some(compactor) => compactor.compact(self.ctx, self.input, steps).await,
            None => Ok(false),
        }
    }
}

impl Agent {
    pub(super) fn new(
        toolbox: ToolDispatcher,
        settings: AgentSettings,
        submission: Option<Submission>,
    ) -> Self {
        let last = submission.as_ref().map_or_else(finish, |submission| submission.spec.clone());
        let offer = toolbox.offer([last]);
        Self { toolbox, offer, settings, submission: submission.map(Arc::new) }
    }

    /// Whether a step may wait for the caller of the run.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.toolbox.caller_tool().is_some()
    }

    /// Takes steps until the LM ends them or a limit is reached. A step that calls tools of the caller ends with a pause; the
    /// next call of the node continues from its answers.
    ///
    /// An answer that is still invalid after its retries ends the steps too, if there are any to
    /// derive the outputs from.
    pub(super) async fn act(
        &self,
        ctx: &Ctx,
        action: &SchemaPredictor,
        compactor: Option<Compactor<'_>>,
        input: &Fields,
    ) -> Result<AgentRun, PredictError> {
        let asked = Asked { ctx, action, input, compactor };
        let (mut steps, mut tokens) = (AgentSteps::default(), 0);
        let mut pauses = Pauses::default();
        if let Some(pause) = &ctx.continuation {
            let Continued { earlier, step, reply, ends, spent, summary } =
                Continued::read(ctx, &self.toolbox, pause, |call| self.stops_at(call))?;
            earlier.into_iter().for_each(|(step, reply)| steps.push(&step, reply));
            if let Some((text, count)) = summary {
                steps.texts.restore_summary(text, count);
            }
            pauses = Pauses::after(pause.number, &step, &reply);
            steps.push(&step, reply);
            tokens = spent;
            if ends || self.is_spent(tokens) {
                let outputs = self.force(asked, &mut steps).await?;
                return Ok(AgentRun { steps, outputs });
            }
        }
        while steps.texts.len() < self.settings.limits.max_iters {
            let (answer, reply) = match self.ask(asked, &mut steps, &self.offer).await {
                Err(error) if is_invalid_answer(&error) && !steps.texts.is_empty() => break,
                answer => answer?,
            };
            tokens += reply.usage.input_tokens + reply.usage.output_tokens;
            let (step, end) = self.step(ctx, &answer).await?;
            if let StepEnd::Waiting { places, ends } = end {
                let summary = steps.texts.summary().map(|(text, count)| (text.clone(), count));
                let open = OpenStep { step, reply, places, ends, spent: tokens, summary };
                return Err(pauses.open(open));
            }
            if self.waits_for_caller() {
                pauses.add(&step, &reply);
            }
            steps.push(&step, reply);
            match end {
                StepEnd::Submitted(outputs) => {
                    return Ok(AgentRun { steps, outputs: Some(outputs) });
                }
                StepEnd::Last => break,
                StepEnd::More if self.is_spent(tokens) => break,
                StepEnd::More | StepEnd::Waiting { .. } => {}
            }
        }
        let outputs = self.force(asked, &mut steps).await?;
        Ok(AgentRun { steps, outputs })
    }

    fn is_spent(&self, tokens: u64) -> bool {
        self.settings.limits.max_step_tokens.is_some_and(|most| tokens >= most)
    }

    /// Asks for a step. If the steps so far exceed the context of the LM, a summary replaces the older ones, or the oldest are
    /// left out.
    async fn ask(
        &self,
        asked: Asked<'_>,
        steps: &mut AgentSteps,
        tools: &Arc<ToolSet>,
    ) -> Result<(Fields, LmReply), PredictError> {
        let Asked { ctx, action, compactor, .. } = asked;
        if compactor.is_some_and(|compactor| compactor.is_due(steps)) {
            asked.compact(steps).await?;
        }
        loop {
            let mut input = asked.input.clone();
            input.insert(TRAJECTORY.into(), steps.texts.shown().into());
            let turns = self.settings.turns.then(|| steps.turns());
            let turns = turns.as_ref();
            let read = |reply: &LmReply| self.read(reply, tools);
            let words = |reply: &LmReply| match (tools.forced().is_some(), turns) {
                (true, _) => None,
                (false, Some(_)) => any_words(reply),
                (false, None) => words(reply),
            };
            match action.forward_in_turns(ctx, input, tools, turns, read, words).await {
                Err(error) if error.is_context_overflow() => {
                    if !asked.compact(steps).await? && !steps.texts.forget() {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// The outputs of `action` from native calls. Forced ones have to fit.
    fn read(&self, reply: &LmReply, tools: &ToolSet) -> Result<Fields, String> {
        if !self.settings.turns {
            return read(reply);
        }
        let answer = read_any(reply)?;
        if let (Some(submission), true) = (&self.submission, tools.forced().is_some()) {
            let (_, calls) = thought_and_calls(&answer);
            submission.find(&calls).ok_or("the outputs were not submitted")??;
        }
        Ok(answer)
    }

    /// Makes the calls of an answer.
    async fn step(&self, ctx: &Ctx, answer: &Fields) -> Result<(AgentStep, StepEnd), PredictError> {
        let (thought, calls) = thought_and_calls(answer);
        let finished = calls.iter().any(AgentCall::is_finish);
        let each: Vec<_> = calls.iter().map(|call| self.call(ctx, call)).collect();
        // Collected first: closures of a stream over borrows are not general enough for `Send`.
        let parallel = self.settings.limits.max_parallel;
        let results: Vec<Called> = stream::iter(each).buffered(parallel).try_collect().await?;
        let mut end = if finished { StepEnd::Last } else { StepEnd::More };
        let (mut made, mut places) = (Vec::with_capacity(calls.len()), Vec::new());
        for (call, called) in calls.into_iter().zip(results) {
            let result = match called {
                Called::Result(CallResult { text, has_failed }) => {
                    if !has_failed && self.stops_at(&call) && matches!(end, StepEnd::More) {
                        end = StepEnd::Last;
                    }
                    Some(text)
                }
                Called::Outputs(outputs) => {
                    if !matches!(end, StepEnd::Submitted(_)) {
                        end = StepEnd::Submitted(outputs);
                    }
                    None
                }
                Called::Waiting => {
                    places.push(made.len());
                    None
                }
                Called::Nothing => None,
            };
            made.push(MadeCall { call, result });
        }
        if !places.is_empty() && !matches!(end, StepEnd::Submitted(_)) {
            end = StepEnd::Waiting { places, ends: matches!(end, StepEnd::Last) };
        }
        Ok((AgentStep { thought, calls: made }, end))
    }

    fn stops_at(&self, call: &AgentCall) -> bool {
        self.settings.stop_at_tools.iter().any(|name| name.eq_ignore_ascii_case(&call.name))
    }

    async fn call(&self, ctx: &Ctx, call: &AgentCall) -> Result<Called, PredictError> {
        if call.is_finish() {
            return Ok(Called::Nothing);
        }
        let failed = |text: String| {
            Ok(Called::Result(CallResult { text: format!("Error: {text}"), has_failed: true }))
        };
        if let Payload::Str(text) = &call.args
            && let Err(error) = Payload::from_json(text)
        {
            return failed(format!("the arguments are not valid JSON: {error}"));
        }
        match self.submission.as_ref().filter(|_| call.is_submit()) {
            Some(submission) => submission.read(&call.args).map_or_else(
                |wrong| failed(format!("the outputs do not fit: {wrong}")),
                |outputs| Ok(Called::Outputs(outputs)),
            ),
            None if self.toolbox.waits_for_caller(&call.name, &call.args) => Ok(Called::Waiting),
            None => Ok(Called::Result(self.toolbox.call_once(ctx, &call.name, &call.args).await?)),
        }
    }

    /// Has the outputs submitted after the last step, by a model that calls tools natively. `None` if they have to be derived
    /// from the steps.
    async fn force(
        &self,
        asked: Asked<'_>,
        steps: &mut AgentSteps,
    ) -> Result<Option<Fields>, PredictError> {
        let Some(submission) = &self.submission else { return Ok(None) };
        if !self.settings.turns || !asked.action.calls_tools(asked.ctx)? {
            return Ok(None);
        }
        steps.request(&format!("Call `{}` now.", submission.spec.name));
        let (answer, reply) = match self.ask(asked, steps, &submission.forced).await {
            Err(error) if is_invalid_answer(&error) || is_refused(&error) => return Ok(None),
            answer => answer?,
        };
        let (thought, calls) = thought_and_calls(&answer);
        let outputs = submission.find(&calls).and_then(Result::ok);
        if outputs.is_some() {
            let calls = calls.into_iter().map(|call| MadeCall { call, result: None }).collect();
            steps.push(&AgentStep { thought, calls }, reply);
        }
        Ok(outputs)
    }
}

/// What a step leads to.
enum StepEnd {
    More,
    Last,
    Submitted(Fields),
    /// The caller answers the calls at these places; then it is the last one or not.
    Waiting {
        places: Vec<usize>,
        ends: bool,
    },
}

/// What a call leads to.
enum Called {
    Result(CallResult),
    Outputs(Fields),
    /// The caller of the run answers it.
    Waiting,
    Nothing,
}

/// Whether the endpoint does not accept the request, as some do that cannot force a call.
fn is_refused(error: &PredictError) -> bool {
    error.lm_error().is_some_and(|error| error.kind == LmErrorKind::Refused)
}
