//! What becomes of an answer that a limit of tokens cut, and of one in which the server mistook the answer for
//! reasoning. Sends no requests.

use std::sync::Arc;

use super::{PredictError, PredictErrorKind, RejectedAnswer};
use crate::adapter::{ChatPlan, ParseError, ParsedOutput};
use crate::coerce::{Leniencies, LeniencyKind, ParseReport, Path};
use crate::lm::{AnswerEnd, LmParams, LmReply, OnLength, Usage};
use crate::value::Payload;

/// The result of reading an answer.
type Reading = Result<ParsedOutput, ParseError>;

/// What was read of an answer, unless a limit cut it within an output and the predictor does not accept that.
pub(super) fn check(
    plan: &ChatPlan,
    reply: &LmReply,
    read: Reading,
    params: &LmParams,
) -> Result<Reading, PredictError> {
    if reply.end() != AnswerEnd::Cut {
        return Ok(read);
    }
    if !reply.tool_calls.is_empty() {
        return Err(incomplete(reply, None, "its tool calls", ParseReport::default(), params));
    }
    let Some(field) = plan.cut_output(&reply.text) else { return Ok(read) };
    match read {
        Ok(mut parsed) if params.on_length == Some(OnLength::Accept) => {
            parsed.report.add(&Path::Root, LeniencyKind::Cut, &reply.text, &Payload::Null);
            Ok(Ok(parsed))
        }
        read => {
            let place = format!("`{field}`");
            let report = read.map_or_else(|error| error.report, |parsed| parsed.report);
            Err(incomplete(reply, Some(field), &place, report, params))
        }
    }
}

/// Whether the rest of an answer is worth asking for.
pub(super) fn may_continue(plan: &ChatPlan, reply: &LmReply, params: &LmParams) -> bool {
    params.on_length == Some(OnLength::Continue)
        && reply.end() == AnswerEnd::Cut
        && reply.tool_calls.is_empty()
        && !reply.text.trim().is_empty()
        && plan.cut_output(&reply.text).is_some()
}

/// A cut answer with its rest.
pub(super) fn joined(plan: &ChatPlan, reply: LmReply, rest: LmReply) -> LmReply {
    let mut usage: Usage = reply.usage;
    usage += rest.usage;
    let text = plan.join(&reply.text, &rest.text).into();
    LmReply { text, usage, reasoning: reply.reasoning, ..rest }
}

/// The outputs that a reply without a text has in its reasoning: servers put them there if they expect reasoning and
/// the model does not reason. Only a text under headers counts, because all else may be thoughts.
pub(super) fn in_reasoning(plan: &ChatPlan, reply: &LmReply) -> Option<ParsedOutput> {
    if !reply.text.trim().is_empty() || reply.end() != AnswerEnd::Finished {
        return None;
    }
    let text = reply.reasoning.as_ref()?.text();
    let allowed = Leniencies::ALL.without(LeniencyKind::Layout);
    let mut parsed = plan.parse_allowing(&text, allowed).ok()?;
    parsed.report.add(&Path::Root, LeniencyKind::InReasoning, &text, &Payload::Null);
    Some(parsed)
}

fn incomplete(
    reply: &LmReply,
    field: Option<Arc<str>>,
    place: &str,
    report: ParseReport,
    params: &LmParams,
) -> PredictError {
    let reason = reason(reply, place, params);
    let message = format!("the LM's answer is incomplete: {reason}");
    let raw = reply.text.clone();
    let failure = Box::new(RejectedAnswer { raw, reason: reason.into(), report });
    PredictError::new(PredictErrorKind::Incomplete { field, failure }, message)
}

/// Where the answer was cut, by what, and the way out.
fn reason(reply: &LmReply, place: &str, params: &LmParams) -> String {
    let limit = match params.max_tokens {
        Some(tokens) => format!("`max_tokens` ({tokens})"),
        None => "the limit of its model or server".to_owned(),
    };
    let thought = reply.usage.reasoning_tokens;
    if reply.text.trim().is_empty() && (thought > 0 || reply.reasoning.is_some()) {
        let spent = if thought > 0 { format!(" ({thought} tokens)") } else { String::new() };
        return format!(
            "reasoning{spent} reached {limit} before the answer began; raise `max_tokens` or lower \
             `reasoning_effort`"
        );
    }
    let way_out = "raise `max_tokens`, or set `on_length` to `continue` or `accept`";
    format!("{limit} ended it in {place}; {way_out}")
}
