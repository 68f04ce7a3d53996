//! The steps of one call of an agent, as texts and as turns. Both hide the same steps from the LM.

use super::step::AgentStep;
use crate::lm::{LmReply, Message, Role};
use crate::predict::StepTurns;
use crate::strategy::steps::StepHistory;

/// The steps so far.
#[derive(Default)]
pub(super) struct AgentSteps {
    pub(super) texts: StepHistory,
    turns: Vec<Vec<Message>>,
}

impl AgentSteps {
    /// Adds a step and the reply that it was read from.
    pub(super) fn push(&mut self, step: &AgentStep, reply: LmReply) {
        let turns = step.turns(reply, &self.turns.concat());
        self.texts.push(step.texts());
        self.turns.push(turns);
    }

    /// The steps that the LM sees, as turns.
    pub(super) fn turns(&self) -> StepTurns {
        let shown = self.turns.iter().skip(self.texts.hidden());
        StepTurns { note: self.texts.note(), messages: shown.flatten().cloned().collect() }
    }

    /// Asks for something after the last step. Results of calls are a turn of the user already.
    pub(super) fn request(&mut self, text: &str) {
        if let Some(last) = self.turns.last_mut()
            && last.last().is_some_and(|turn| turn.role == Role::Assistant)
        {
            last.push(Message::user(text));
        }
    }
}
