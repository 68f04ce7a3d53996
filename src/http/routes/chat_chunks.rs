//! The chunks of a chat completion, as the run of the graph writes its answer. Knows events, and no route.

use axum::response::sse::Event;
use serde_json::{Value, json};

use crate::app::{ChatModel, EventKind, EventStream, StreamItem};
use crate::http::protocol::openai_problem::error_of;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::problem_view::ProblemView;
use crate::http::protocol::status::ProblemCode;
use crate::http::views::ChatUsageView;
use crate::store::run::RunRow;

/// What a stream sends next.
#[derive(Clone, Copy)]
enum ChunkState {
    First,
    Text,
    Usage(ChatUsageView),
    Done,
    Ended,
}

/// The chunks of an answer.
pub(super) struct ChatChunks {
    model: ChatModel,
    /// The graph and its version.
    name: String,
    /// Whether the answer is the JSON of all outputs.
    is_json: bool,
    events: EventStream<RunRow>,
    id: String,
    created: i64,
    /// The text that was sent.
    sent: String,
    /// Whether text is sent as it is written: not after a model was asked again.
    is_live: bool,
    with_usage: bool,
    state: ChunkState,
}

impl ChatChunks {
    /// The chunks of a run that has started.
    pub(super) fn new(
        (name, model): (String, ChatModel),
        events: EventStream<RunRow>,
        is_json: bool,
        with_usage: bool,
    ) -> Self {
        Self {
            model,
            name,
            is_json,
            events,
            id: String::new(),
            created: chrono::Utc::now().timestamp(),
            sent: String::new(),
            is_live: true,
            with_usage,
            state: ChunkState::First,
        }
    }

    /// The next chunk; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Event> {
        match self.state {
            ChunkState::Usage(usage) => {
                self.state = ChunkState::Done;
                let mut chunk = self.chunk(&[]);
                chunk["usage"] = json!(usage);
                return Some(data(&chunk));
            }
            ChunkState::Done => {
                self.state = ChunkState::Ended;
                return Some(Event::default().data("[DONE]"));
            }
            ChunkState::Ended => return None,
            ChunkState::First | ChunkState::Text => {}
        }
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
            if let Some(event) = self.read(kind, &found) {
                return Some(event);
            }
        }
    }

    /// The chunk for an event of the run, if it has one.
    fn read(&mut self, kind: EventKind, found: &Value) -> Option<Event> {
        match kind {
            EventKind::RunStarted => {
                self.id = format!("chatcmpl-{}", found["run_id"].as_str().unwrap_or_default());
                self.state = ChunkState::Text;
                Some(data(&self.chunk(&[json!({"role": "assistant", "content": ""})])))
            }
            EventKind::NodeDelta if self.is_live && self.is_answer(found) => {
                let text = found["text"].as_str().unwrap_or_default();
                self.sent.push_str(text);
                Some(data(&self.chunk(&[json!({"content": text})])))
            }
            EventKind::NodeRetry if !self.sent.is_empty() => {
                self.is_live = false;
                None
            }
            EventKind::RunCompleted => Some(self.complete(found)),
            EventKind::RunFailed | EventKind::RunCancelled | EventKind::RunWaiting => {
                Some(self.fail(found))
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
        !self.is_json && model.is_text && is_own && model.writer.as_ref().is_some_and(is_writer)
    }

    /// The rest of the text, and the end. A text that was sent and then written otherwise cannot be taken back.
    fn complete(&mut self, run: &Value) -> Event {
        let outputs = run["outputs"].as_object().cloned().unwrap_or_default();
        let text = match self.is_json {
            true => run["outputs"].to_string(),
            false => self.model.answer(&outputs),
        };
        let Some(rest) = text.strip_prefix(self.sent.as_str()) else {
            let detail = "the model was asked again after a part of the answer was sent; \
                          ask without `stream` for the whole one";
            return self.error(&ApiProblem::new(ProblemCode::Internal, detail));
        };
        let mut chunk = self.chunk(&[json!({"content": rest})]);
        chunk["choices"][0]["finish_reason"] = json!("stop");
        self.state = match self.with_usage {
            true => ChunkState::Usage(usage_in(&run["usage"])),
            false => ChunkState::Done,
        };
        data(&chunk)
    }

    fn fail(&mut self, found: &Value) -> Event {
        let problem = found.to_string();
        let view = ProblemView::recorded(&problem);
        let code = ProblemCode::named(&view.code).unwrap_or(ProblemCode::Internal);
        let problem = ApiProblem::new(code, view.detail.to_string());
        self.error(&problem)
    }

    fn error(&mut self, problem: &ApiProblem) -> Event {
        self.state = ChunkState::Done;
        data(&json!(error_of(problem)))
    }

    fn chunk(&self, deltas: &[Value]) -> Value {
        let choice = |delta: &Value| json!({"index": 0, "delta": delta, "finish_reason": null});
        json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created,
            "model": self.name, "choices": deltas.iter().map(choice).collect::<Vec<_>>()
        })
    }
}

fn data(chunk: &Value) -> Event {
    Event::default().data(chunk.to_string())
}

/// The tokens of a run.
pub(super) fn usage_in(usage: &Value) -> ChatUsageView {
    let count = |name: &str| usage[name].as_i64().unwrap_or_default();
    let (prompt_tokens, completion_tokens) = (count("input_tokens"), count("output_tokens"));
    ChatUsageView {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
    }
}
