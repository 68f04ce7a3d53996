//! A step that waits for the caller of the run: what is stored of it and of the steps before, and how the agent continues once
//! its calls are answered. Does not know where it is stored.

use std::sync::Arc;

use super::step::{AgentCall, AgentStep, MadeCall};
use crate::lm::{LmReply, ReplyReasoning, ToolCall, Usage};
use crate::predict::{
    CallerCall, Ctx, NodeContinuation, NodePause, PredictError, PredictErrorKind, ToolDispatcher,
};
use crate::value::{Fields, Payload};

/// The steps since the last pause, as they are stored.
#[derive(Default)]
pub(super) struct Pauses {
    /// How often the agent has paused.
    number: u32,
    steps: Vec<Payload>,
}

/// A step that waits for answers.
pub(super) struct OpenStep {
    pub(super) step: AgentStep,
    pub(super) reply: LmReply,
    /// The places of the calls that the caller answers.
    pub(super) places: Vec<usize>,
    /// Whether it is the last one.
    pub(super) ends: bool,
    /// The tokens of the steps so far.
    pub(super) spent: u64,
    /// What stands for the first steps, and how many they are.
    pub(super) summary: Option<(Arc<str>, usize)>,
}

/// What an agent continues with.
pub(super) struct Continued {
    pub(super) earlier: Vec<(AgentStep, LmReply)>,
    pub(super) step: AgentStep,
    pub(super) reply: LmReply,
    pub(super) ends: bool,
    pub(super) spent: u64,
    pub(super) summary: Option<(Arc<str>, usize)>,
}

impl Pauses {
    /// Those after a pause, whose step is complete now.
    pub(super) fn after(number: u32, step: &AgentStep, reply: &LmReply) -> Self {
        Self { number, steps: vec![stored(step, reply)] }
    }

    /// Adds a step.
    pub(super) fn add(&mut self, step: &AgentStep, reply: &LmReply) {
        self.steps.push(stored(step, reply));
    }

    /// The pause of an agent whose last step waits for the caller.
    pub(super) fn open(self, open: OpenStep) -> PredictError {
        let number = self.number + 1;
        let places = open.places.iter();
        let places = places.map(|place| Payload::Int(i64::try_from(*place).unwrap_or(i64::MAX)));
        let summary = open.summary.map_or(Payload::Null, |(text, steps)| {
            let steps = Payload::Int(i64::try_from(steps).unwrap_or(i64::MAX));
            object([("text", Payload::Str(text)), ("steps", steps)])
        });
        let progress = object([
            ("summary", summary),
            ("steps", Payload::list(self.steps)),
            ("open", stored(&open.step, &open.reply)),
            ("places", Payload::list(places.collect())),
            ("ends", Payload::Bool(open.ends)),
            ("spent", Payload::Int(i64::try_from(open.spent).unwrap_or(i64::MAX))),
        ]);
        let calls = asked(number, &open.step, &open.places);
        waiting(NodePause { number, calls, progress })
    }
}

fn waiting(pause: NodePause) -> PredictError {
    let message = "waits for the caller to answer calls of its tools";
    PredictError::new(PredictErrorKind::Waiting { pause: Some(Arc::new(pause)) }, message)
}

/// The calls that the caller answers.
fn asked(number: u32, step: &AgentStep, places: &[usize]) -> Vec<CallerCall> {
    let call = |place: &usize| {
        let MadeCall { call, .. } = step.calls.get(*place)?;
        let (tool, arguments) = (call.name.clone(), call.args.clone());
        Some(CallerCall { id: call_id(number, *place), tool, arguments })
    };
    places.iter().filter_map(call).collect()
}

fn call_id(number: u32, place: usize) -> Arc<str> {
    format!("{number}-{}", place + 1).into()
}

impl Continued {
    /// The steps before a pause, and the step that its answers complete. `stops` says whether a call ends the steps.
    ///
    /// # Errors
    /// There are no answers yet, or the stored progress cannot be read.
    pub(super) fn read(
        ctx: &Ctx,
        toolbox: &ToolDispatcher,
        pause: &NodeContinuation,
        stops: impl Fn(&AgentCall) -> bool,
    ) -> Result<Self, PredictError> {
        let (mut found, places) = read_progress(&pause.progress).ok_or_else(|| {
            let message = "the stored steps of the agent cannot be read; start the run again";
            PredictError::new(PredictErrorKind::Op, message)
        })?;
        for &place in &places {
            let Some(made) = found.step.calls.get_mut(place) else { continue };
            let Some(answer) = pause.answer(&call_id(pause.number, place)) else {
                let calls = asked(pause.number, &found.step, &places);
                let progress = pause.progress.last().cloned().unwrap_or_default();
                return Err(waiting(NodePause { number: pause.number, calls, progress }));
            };
            found.ends |= answer.is_ok() && stops(&made.call);
            let called = (&*made.call.name, &made.call.args);
            made.result = Some(toolbox.answered(ctx, called, answer));
        }
        Ok(found)
    }
}

fn read_progress(progress: &[Payload]) -> Option<(Continued, Vec<usize>)> {
    let mut earlier = Vec::new();
    for part in progress {
        for step in part.as_map()?.get("steps")?.as_list()? {
            earlier.push(read_step(step)?);
        }
    }
    let last = progress.last()?.as_map()?;
    let (step, reply) = read_step(last.get("open")?)?;
    let places = last.get("places")?.as_list()?.iter().map(read_count);
    let places = places.map(|place| place.and_then(|place| usize::try_from(place).ok()));
    let ends = matches!(last.get("ends")?, Payload::Bool(true));
    let spent = read_count(last.get("spent")?)?;
    let places = places.collect::<Option<Vec<usize>>>()?;
    let summary = last.get("summary").and_then(|summary| {
        let members = summary.as_map()?;
        let steps = usize::try_from(read_count(members.get("steps")?)?).ok()?;
        Some((Arc::from(members.get("text")?.as_str()?), steps))
    });
    Some((Continued { earlier, step, reply, ends, spent, summary }, places))
}

fn read_count(value: &Payload) -> Option<u64> {
    match value {
        Payload::Int(count) => u64::try_from(*count).ok(),
        _ => None,
    }
}

/// A step with what the model expects to see of its reply again.
fn stored(step: &AgentStep, reply: &LmReply) -> Payload {
    let made = |made: &MadeCall| {
        let result = made.result.as_deref().map_or(Payload::Null, Payload::from);
        let name = Payload::Str(made.call.name.clone());
        object([("name", name), ("args", made.call.args.clone()), ("result", result)])
    };
    let call = |call: &ToolCall| {
        let texts = [("id", &call.id), ("name", &call.name), ("arguments", &call.arguments)];
        object(texts.map(|(name, text)| (name, Payload::Str(text.clone()))))
    };
    let texts =
        |texts: &[Arc<str>]| Payload::list(texts.iter().cloned().map(Payload::Str).collect());
    let reasoning = reply.reasoning.as_ref().map_or(Payload::Null, |reasoning| {
        object([("texts", texts(&reasoning.texts)), ("signatures", texts(&reasoning.signatures))])
    });
    object([
        ("thought", Payload::Str(step.thought.clone())),
        ("calls", Payload::list(step.calls.iter().map(made).collect())),
        ("text", Payload::Str(reply.text.clone())),
        ("native", Payload::list(reply.tool_calls.iter().map(call).collect())),
        ("model", Payload::Str(reply.model.clone())),
        ("reasoning", reasoning),
    ])
}

fn read_step(stored: &Payload) -> Option<(AgentStep, LmReply)> {
    let made = |made: &Payload| {
        let members = made.as_map()?;
        let call = AgentCall::of(members.get("name")?.as_str()?, members.get("args")?.clone());
        let result = members.get("result")?.as_str().map(str::to_owned);
        Some(MadeCall { call, result })
    };
    let call = |call: &Payload| {
        let text = |name: &str| Some(Arc::from(call.as_map()?.get(name)?.as_str()?));
        Some(ToolCall { id: text("id")?, name: text("name")?, arguments: text("arguments")? })
    };
    let members = stored.as_map()?;
    let text = |name: &str| Some(Arc::<str>::from(members.get(name)?.as_str()?));
    let calls = members.get("calls")?.as_list()?.iter().map(made).collect::<Option<_>>()?;
    let mut reply = LmReply::of(text("text")?, text("model")?);
    // It is paid already.
    reply.usage = Usage::default();
    reply.tool_calls = members.get("native")?.as_list()?.iter().map(call).collect::<Option<_>>()?;
    reply.reasoning = read_reasoning(members.get("reasoning")?);
    Some((AgentStep { thought: text("thought")?, calls }, reply))
}

fn read_reasoning(stored: &Payload) -> Option<Arc<ReplyReasoning>> {
    let texts = |name: &str| {
        let texts = stored.as_map()?.get(name)?.as_list()?.iter();
        texts.map(|text| text.as_str().map(Arc::from)).collect::<Option<Vec<_>>>()
    };
    let (texts, signatures) = (texts("texts")?, texts("signatures")?);
    Some(Arc::new(ReplyReasoning { texts, signatures }))
}

fn object<const N: usize>(members: [(&str, Payload); N]) -> Payload {
    Payload::map(Fields::from_iter(members.map(|(name, value)| (name.into(), value))))
}
