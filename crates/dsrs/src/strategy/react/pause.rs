//! A step that waits for the caller of the run: what is stored of it and of the steps before, and how the agent continues once
//! its calls are answered. Does not know where it is stored.

use std::sync::Arc;

use super::step::{AgentCall, AgentStep};
use crate::predict::{
    CallerCall, Ctx, NodeContinuation, NodePause, PredictError, PredictErrorKind, ToolDispatcher,
};
use crate::strategy::steps::{StepHistory, StepTexts};
use crate::value::{Fields, Payload};

/// The labels of the texts of a step.
const LABELS: [&str; 3] = ["thought", "call", "result"];

/// A step with the results that are known.
pub(super) struct OpenStep {
    pub(super) thought: Arc<str>,
    pub(super) calls: Vec<AgentCall>,
    /// The result of each call but for `finish`; `None` for one that the caller answers.
    pub(super) results: Vec<Option<String>>,
}

impl OpenStep {
    /// The step, if all results are known.
    pub(super) fn completed(self) -> Result<AgentStep, Self> {
        match self.results.iter().cloned().collect::<Option<Vec<String>>>() {
            Some(results) => Ok(AgentStep { thought: self.thought, calls: self.calls, results }),
            None => Err(self),
        }
    }

    /// The calls that the caller answers, each with its place among those with a result.
    fn open_calls(&self) -> impl Iterator<Item = (usize, &AgentCall)> {
        let real = self.calls.iter().filter(|call| !call.is_finish());
        real.zip(&self.results)
            .enumerate()
            .filter(|(_, (_, result))| result.is_none())
            .map(|(place, (call, _))| (place, call))
    }

    fn caller_calls(&self, number: u32) -> Vec<CallerCall> {
        let call = |(place, call): (usize, &AgentCall)| CallerCall {
            id: call_id(number, place),
            tool: call.name.clone(),
            arguments: call.args.clone(),
        };
        self.open_calls().map(call).collect()
    }

    fn payload(&self) -> Payload {
        let call = |call: &AgentCall| {
            let members = [("name", Payload::Str(call.name.clone())), ("args", call.args.clone())];
            Payload::map(Fields::from_iter(members.map(|(name, value)| (name.into(), value))))
        };
        let result =
            |result: &Option<String>| result.as_deref().map_or(Payload::Null, Payload::from);
        let members = [
            ("thought", Payload::Str(self.thought.clone())),
            ("calls", Payload::list(self.calls.iter().map(call).collect())),
            ("results", Payload::list(self.results.iter().map(result).collect())),
        ];
        Payload::map(Fields::from_iter(members.map(|(name, value)| (name.into(), value))))
    }

    fn read(payload: &Payload) -> Option<Self> {
        let members = payload.as_map()?;
        let call = |call: &Payload| {
            let call = call.as_map()?;
            Some(AgentCall::of(call.get("name")?.as_str()?, call.get("args")?.clone()))
        };
        let result = |result: &Payload| result.as_str().map(str::to_owned);
        Some(Self {
            thought: members.get("thought")?.as_str()?.into(),
            calls: members.get("calls")?.as_list()?.iter().map(call).collect::<Option<_>>()?,
            results: members.get("results")?.as_list()?.iter().map(result).collect(),
        })
    }
}

fn call_id(number: u32, place: usize) -> Arc<str> {
    format!("{number}-{}", place + 1).into()
}

/// The pause of an agent whose last step waits for the caller. `steps` are those since the pause before.
pub(super) fn pause(number: u32, steps: &[StepTexts], open: &OpenStep) -> PredictError {
    let text = |(label, text): &(&'static str, String)| {
        Payload::list(vec![Payload::from(*label), Payload::from(text.as_str())])
    };
    let step = |step: &StepTexts| Payload::list(step.iter().map(text).collect());
    let progress =
        [("steps", Payload::list(steps.iter().map(step).collect())), ("open", open.payload())];
    waiting(NodePause {
        number,
        calls: open.caller_calls(number),
        progress: Payload::map(Fields::from_iter(
            progress.map(|(name, value)| (name.into(), value)),
        )),
    })
}

fn waiting(pause: NodePause) -> PredictError {
    let message = "waits for the caller to answer calls of its tools";
    PredictError::new(PredictErrorKind::Waiting { pause: Some(Arc::new(pause)) }, message)
}

/// The steps before a pause, and the step that its answers complete.
///
/// # Errors
/// There are no answers yet, or the stored progress cannot be read.
pub(super) fn continued(
    ctx: &Ctx,
    toolbox: &ToolDispatcher,
    pause: &NodeContinuation,
) -> Result<(StepHistory, AgentStep), PredictError> {
    let unreadable = || {
        let message = "the stored steps of the agent cannot be read; start the run again";
        PredictError::new(PredictErrorKind::Op, message)
    };
    let (steps, mut open) = read_progress(&pause.progress).ok_or_else(unreadable)?;
    let answered: Vec<(usize, String)> = open
        .open_calls()
        .filter_map(|(place, call)| {
            let answer = pause.answer(&call_id(pause.number, place))?;
            Some((place, toolbox.answered(ctx, (&call.name, &call.args), answer)))
        })
        .collect();
    for (place, text) in answered {
        open.results[place] = Some(text);
    }
    match open.completed() {
        Ok(step) => Ok((steps, step)),
        Err(open) => Err(waiting(NodePause {
            number: pause.number,
            calls: open.caller_calls(pause.number),
            progress: pause.progress.last().cloned().unwrap_or_default(),
        })),
    }
}

fn read_progress(progress: &[Payload]) -> Option<(StepHistory, OpenStep)> {
    let mut steps = Vec::new();
    for part in progress {
        for step in part.as_map()?.get("steps")?.as_list()? {
            steps.push(read_step(step)?);
        }
    }
    let open = OpenStep::read(progress.last()?.as_map()?.get("open")?)?;
    Some((StepHistory::of(steps), open))
}

fn read_step(step: &Payload) -> Option<StepTexts> {
    let text = |pair: &Payload| match pair.as_list()? {
        [label, text] => {
            let label = label.as_str()?;
            let label = LABELS.iter().find(|known| **known == label)?;
            Some((*label, text.as_str()?.to_owned()))
        }
        _ => None,
    };
    step.as_list()?.iter().map(text).collect()
}
