//! The events of a run as the parts of an answer: text as it is written, and the end. Knows no protocol.

use std::fmt::Display;

use serde_json::Value;

use crate::protocol::problem::ApiProblem;
use crate::protocol::problem_view::ProblemView;
use crate::protocol::status::ProblemCode;
use crate::routes::answer_ending::AnswerEnding;
use crate::routes::answer_form::OutputForm;
use dsrs_app::{ChatModel, EventKind, EventStream, StreamItem};
use dsrs_store::run::RunRow;

pub(super) enum AnswerPart {
    /// The run with this id has started.
    Started(String),
    /// More text.
    Text(String),
    /// The rest of the text, the whole text, and the run.
    Completed {
        /// What was not sent yet.
        rest: String,
        /// All of it.
        text: String,
        /// The record.
        run: Value,
        ending: AnswerEnding,
    },
    /// A limit of tokens cut the answer of a model.
    Cut,
    /// A model refused to answer, and said this.
    Refusal(String),
    /// The run has no answer.
    Failed(ApiProblem),
}

/// Reads the answer from the events of a run.
pub(super) struct AnswerReader {
    model: ChatModel,
    form: OutputForm,
    events: EventStream<RunRow>,
    /// The text that was sent.
    sent: String,
    /// Whether text is sent as it is written: not after a model was asked again.
    is_live: bool,
}

impl AnswerReader {
    /// The answer of a run that has started.
    pub(super) fn new(model: ChatModel, form: OutputForm, events: EventStream<RunRow>) -> Self {
        Self { model, form, events, sent: String::new(), is_live: true }
    }

    /// The tool that the answer calls; its text is the arguments then.
    pub(super) fn called(&self) -> Option<&str> {
        self.form.called()
    }

    /// The next part; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<AnswerPart> {
        loop {
            let (kind, found) = match self.events.next().await? {
                StreamItem::Event(event) => (event.kind, event.data.to_string()),
                StreamItem::Gap(..) => {
                    self.is_live = false;
                    continue;
                }
                StreamItem::Ended(..) => return None,
            };
            let found: Value = serde_json::from_str(&found).unwrap_or_default();
            if let Some(part) = self.read(kind, found) {
                return Some(part);
            }
        }
    }

    /// The part of an event of the run, if it has one.
    fn read(&mut self, kind: EventKind, found: Value) -> Option<AnswerPart> {
        match kind {
            EventKind::RunStarted => {
                Some(AnswerPart::Started(found["run_id"].as_str().unwrap_or_default().to_owned()))
            }
            EventKind::NodeDelta if self.is_live && self.is_answer(&found) => {
                let text = found["text"].as_str().unwrap_or_default();
                self.sent.push_str(text);
                Some(AnswerPart::Text(text.to_owned()))
            }
            EventKind::NodeRetry if !self.sent.is_empty() => {
                self.is_live = false;
                None
            }
            EventKind::RunCompleted => Some(self.complete(found)),
            EventKind::RunFailed | EventKind::RunCancelled => Some(failed(problem_of(&found))),
            EventKind::RunWaiting => {
                let id = [&found["id"], &found["run_id"]].into_iter().find_map(Value::as_str);
                Some(failed(waiting(id.unwrap_or_default())))
            }
            _ => None,
        }
    }

    /// Whether a text belongs to the answer.
    fn is_answer(&self, found: &Value) -> bool {
        let model = &self.model;
        let is_writer =
            |(node, field): &(String, String)| found["node"] == **node && found["field"] == **field;
        // A node with several predictors may write the field more than once.
        let is_own = found["predictor"] == found["node"] || found["predictor"].is_null();
        self.form.is_text()
            && model.is_text
            && is_own
            && model.writer.as_ref().is_some_and(is_writer)
    }

    /// The rest of the text, and the end. A text that was sent and then written otherwise cannot be taken back.
    fn complete(&mut self, run: Value) -> AnswerPart {
        let text = match self.form.render(&self.model, &run["outputs"]) {
            Ok(text) => text,
            Err(problem) => return AnswerPart::Failed(problem),
        };
        match text.strip_prefix(self.sent.as_str()).map(str::to_owned) {
            Some(rest) => {
                let ending = AnswerEnding::of(&self.model, &run["trace"]);
                AnswerPart::Completed { rest, text, run, ending }
            }
            None => {
                let detail = "the model was asked again after a part of the answer was sent; \
                              ask without `stream` for the whole one";
                AnswerPart::Failed(ApiProblem::new(ProblemCode::Internal, detail))
            }
        }
    }
}

/// The end of a run that failed.
fn failed(problem: ApiProblem) -> AnswerPart {
    match problem.code() {
        ProblemCode::AnswerIncomplete => AnswerPart::Cut,
        ProblemCode::AnswerFiltered => AnswerPart::Refusal(problem.detail().to_owned()),
        _ => AnswerPart::Failed(problem),
    }
}

/// The problem of a run that waits for a value, which a chat cannot give it.
pub(super) fn waiting(run: impl Display) -> ApiProblem {
    let detail = format!(
        "the run {run} waits for a value, which a chat cannot give it; send it with POST /v1/runs/{run}/signal, or cancel the run"
    );
    ApiProblem::new(ProblemCode::RunUnfinished, detail)
}

/// The problem of a run, from its last event.
fn problem_of(found: &Value) -> ApiProblem {
    let problem = found.to_string();
    let view = ProblemView::recorded(&problem);
    let code = ProblemCode::named(&view.code).unwrap_or(ProblemCode::Internal);
    ApiProblem::new(code, view.detail.to_string())
}
