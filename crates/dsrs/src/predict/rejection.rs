//! What follows an answer that does not fit: the LM sees it again with what is wrong, and after the last one the
//! prediction fails. Sends no requests.

use std::sync::Arc;

use super::step_turns::repeat;
use super::{PredictError, PredictErrorKind, RejectedAnswer};
use crate::adapter::ParseError;
use crate::lm::{LmReply, Message, Role};

/// Shows the LM its answer with what is wrong with it. An empty answer is not shown: endpoints refuse a turn without
/// content, and two turns of the user in a row; so the correction follows the question in its turn.
pub(super) fn correct(turns: &mut Vec<Message>, reply: &LmReply, correction: Message) {
    let text = reply_text(reply);
    if !text.trim().is_empty() {
        turns.push(Message::assistant(text));
        turns.push(correction);
        return;
    }
    match turns.last_mut().filter(|turn| turn.role == Role::User) {
        Some(turn) => turn.content = format!("{}\n\n{}", turn.content, correction.content).into(),
        None => turns.push(correction),
    }
}

/// Shows the LM its native tool calls with what is wrong with them, as their results. A reply in words is shown as it is.
pub(super) fn correct_calls(turns: &mut Vec<Message>, reply: &LmReply, error: &ParseError) {
    let text = format!("Error: {error}");
    if reply.tool_calls.is_empty() {
        correct(turns, reply, Message::user(text));
        return;
    }
    turns.push(repeat(reply.clone()));
    turns.extend(reply.tool_calls.iter().map(|call| Message::result(call, text.as_str())));
}

/// A reply as text, to show it to the LM again.
fn reply_text(reply: &LmReply) -> Arc<str> {
    if !reply.text.is_empty() || reply.tool_calls.is_empty() {
        return reply.text.clone();
    }
    let calls = reply.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
    calls.collect::<Vec<_>>().join("\n").into()
}

/// What explains an answer without a text.
fn hint(reply: &LmReply) -> &'static str {
    match (reply.text.trim().is_empty(), &reply.reasoning) {
        (true, Some(_)) => {
            "; the reply has only reasoning: if the model wrote its answer there, turn off the reasoning parser of \
             its server"
        }
        (true, None) => "; the answer is empty",
        (false, _) => "",
    }
}

/// The error after the last answer that does not fit.
pub(super) fn rejected(error: &ParseError, reply: &LmReply) -> PredictError {
    let failure = Box::new(RejectedAnswer {
        raw: reply.text.clone(),
        reason: error.reason().into(),
        report: error.report.clone(),
    });
    match error.failed_assert() {
        Some((field, constraint)) => {
            let (field, constraint) = (field.clone(), constraint.clone());
            let kind = PredictErrorKind::Constraint { field, constraint, failure };
            PredictError::new(kind, format!("the LM's answer breaks a constraint: {error}"))
        }
        None => {
            let kind = PredictErrorKind::Parse { field: error.field().cloned(), failure };
            PredictError::new(kind, format!("the LM's answer does not fit: {error}{}", hint(reply)))
        }
    }
}
