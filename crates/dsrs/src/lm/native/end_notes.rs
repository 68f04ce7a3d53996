//! What the library leaves out of an answer: why a prompt was blocked, why an answer is incomplete, what a refusal
//! says. Reads the bodies and frames of Gemini, OpenAI's responses and Anthropic.

use std::sync::{Arc, Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use crate::lm::AnswerEnd;

/// Frames with none of these are of no interest, and are not parsed.
const MARKS: [&str; 5] =
    ["blockReason", "incomplete_details", "\"refusal\"", "finishMessage", "stop_details"];

/// What the provider wrote about the end of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EndNotes {
    /// Why nothing was generated for the prompt.
    pub(super) blocked: Option<Arc<str>>,
    /// Why an answer is incomplete.
    pub(super) incomplete: Option<Arc<str>>,
    /// The text of a refusal.
    pub(super) refusal: Option<Arc<str>>,
    /// What the provider says about the end, whatever it is.
    pub(super) explanation: Option<Arc<str>>,
}

impl EndNotes {
    /// Reads the body of an answer, or one frame of a stream.
    pub(super) fn of(body: &Value) -> Self {
        // The last frames of OpenAI's responses hold the whole answer.
        let body = body.get("response").unwrap_or(body);
        let text = |place: &str| body.pointer(place)?.as_str().map(Arc::from);
        Self {
            blocked: text("/promptFeedback/blockReason"),
            incomplete: text("/incomplete_details/reason"),
            refusal: refusal_part(body),
            explanation: text("/promptFeedback/blockReasonMessage")
                .or_else(|| text("/candidates/0/finishMessage"))
                .or_else(|| text("/stop_details/explanation"))
                .or_else(|| text("/delta/stop_details/explanation")),
        }
    }

    /// What was said about an answer with this finish reason, if it was refused or filtered.
    pub(super) fn refusal_of(self, reason: Option<&str>) -> Option<Arc<str>> {
        let is_filtered = reason.map(AnswerEnd::of_reason) == Some(AnswerEnd::Filtered);
        self.refusal.or(self.explanation.filter(|_| is_filtered))
    }

    /// Adds what a later frame says.
    fn add(&mut self, later: Self) {
        self.blocked = later.blocked.or(self.blocked.take());
        self.incomplete = later.incomplete.or(self.incomplete.take());
        self.refusal = later.refusal.or(self.refusal.take());
        self.explanation = later.explanation.or(self.explanation.take());
    }
}

/// The text of a refusal among the parts of a message of OpenAI's responses.
fn refusal_part(body: &Value) -> Option<Arc<str>> {
    let items = body.get("output")?.as_array()?.iter();
    let mut parts = items.filter_map(|item| item.get("content")?.as_array()).flatten();
    parts.find_map(|part| part.get("refusal")?.as_str().map(Arc::from))
}

/// Collects the notes of a stream.
#[derive(Default)]
pub(super) struct NoteCollector(Mutex<EndNotes>);

impl NoteCollector {
    pub(super) fn notes(&self) -> EndNotes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ChatFrameSink for NoteCollector {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if !MARKS.iter().any(|mark| frame.data.contains(mark)) {
            return;
        }
        if let Some(body) = frame.json() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).add(EndNotes::of(&body));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_notes_of_each_provider_are_found() {
        let gemini = EndNotes::of(&json!({"promptFeedback": {"blockReason": "SAFETY"}}));
        assert_eq!(gemini.blocked.as_deref(), Some("SAFETY"));
        let message =
            json!({"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]});
        let body = json!({"output": [{"type": "reasoning"}, message],
            "incomplete_details": {"reason": "content_filter"}});
        for body in [body.clone(), json!({"type": "response.incomplete", "response": body})] {
            let found = EndNotes::of(&body);
            assert_eq!(found.incomplete.as_deref(), Some("content_filter"));
            assert_eq!(found.refusal.as_deref(), Some("I will not."));
        }
        assert_eq!(EndNotes::of(&json!({"incomplete_details": null})), EndNotes::default());
    }
}
