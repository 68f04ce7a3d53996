//! Reads the evidence of decisions from the probabilities of an answer's tokens. Sends no requests.

use std::sync::Arc;

use super::{AnswerWords, Decision};
use crate::adapter::{ChatPlan, ParseError, ParsedOutput};
use crate::lm::{LmError, LmErrorKind, LmReply, Model};

/// What a predictor reads from tokens: its decisions, and what an LM may write for the answers of each.
pub(super) type EvidenceReader = Arc<[(Decision, AnswerWords)]>;

/// The refusal of a model that reports no probabilities.
pub(super) fn no_logprobs(model: &Model) -> LmError {
    let alias = &model.alias;
    refused(format!(
        "the evidence of the node is `logprobs`, which are off for the model `{alias}`; if its endpoint reports them, add \
         `logprobs` to its `capabilities`, or set `evidence` to `words`"
    ))
}

/// The failure of a reply without the probabilities that were asked for.
pub(super) fn no_probabilities(model: &Model) -> LmError {
    let alias = &model.alias;
    refused(format!(
        "the endpoint of the model `{alias}` reported no probabilities of tokens; remove `logprobs` from its \
         `capabilities`, or set `evidence` to `words`"
    ))
}

const fn refused(message: String) -> LmError {
    LmError { kind: LmErrorKind::Refused, message, status: None, retry_after: None }
}

/// What was read of an answer, with the evidence in its tokens.
///
/// # Errors
/// An answer in whose tokens no answer of a decision is found: the LM is asked again.
pub(super) fn with_evidence(
    mut parsed: ParsedOutput,
    reply: &LmReply,
    plan: &ChatPlan,
    reader: &EvidenceReader,
) -> Result<ParsedOutput, ParseError> {
    for (decision, words) in reader.iter() {
        let name = &decision.field.name;
        let start = plan.value_start(&reply.text, name);
        let found =
            start.and_then(|start| decision.of_tokens(&reply.logprobs, &reply.text, start, words));
        let Some(found) = found else {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            let why = format!("write `{name}` as one of {}", words.join(", "));
            return Err(ParseError::of_answer(why));
        };
        parsed.fields.insert(decision.evidence.clone(), found.to_payload(decision));
    }
    Ok(parsed)
}
