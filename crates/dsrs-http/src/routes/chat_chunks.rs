//! The chunks of a chat completion, as the run of the graph writes its answer. Knows no route.

use axum::response::sse::Event;
use serde_json::{Value, json};

use crate::protocol::openai_problem::error_of;
use crate::protocol::problem::ApiProblem;
use crate::routes::answer_ending::AnswerEnding;
use crate::routes::answer_reader::{AnswerPart, AnswerReader};
use crate::views::{CachedTokensView, ChatUsageView, ReasoningTokensView, ToolCallView};

/// What a stream sends next.
#[derive(Clone, Copy)]
enum ChunkState {
    Text,
    Usage(ChatUsageView),
    Done,
    Ended,
}

/// The chunks of an answer.
pub(super) struct ChatChunks {
    /// The graph and its version.
    name: String,
    answer: AnswerReader,
    id: String,
    created: i64,
    with_usage: bool,
    state: ChunkState,
}

impl ChatChunks {
    /// The chunks of a run that has started.
    pub(super) fn new(name: String, answer: AnswerReader, with_usage: bool) -> Self {
        let created = chrono::Utc::now().timestamp();
        Self { name, answer, id: String::new(), created, with_usage, state: ChunkState::Text }
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
            ChunkState::Text => {}
        }
        Some(match self.answer.next().await? {
            AnswerPart::Started(run) => {
                self.id = format!("chatcmpl-{run}");
                let content = self.answer.called().is_none().then_some("");
                data(&self.chunk(&[json!({"role": "assistant", "content": content})]))
            }
            AnswerPart::Text(text) => data(&self.chunk(&[json!({"content": text})])),
            AnswerPart::Completed { rest, run, ending, .. } => self.complete(rest, &run, ending),
            AnswerPart::Cut => self.end(&json!({}), "length"),
            AnswerPart::Refusal(refusal) => {
                self.end(&json!({"refusal": refusal}), "content_filter")
            }
            AnswerPart::Failed(problem) => self.error(&problem),
        })
    }

    /// The rest of the text or the call, and the end.
    fn complete(&mut self, rest: String, run: &Value, ending: AnswerEnding) -> Event {
        let (delta, whole) = match self.answer.called() {
            None => (json!({"content": rest}), "stop"),
            Some(name) => (json!({"tool_calls": [self.call(name, rest)]}), "tool_calls"),
        };
        let mut chunk = self.chunk(&[delta]);
        let reason = if ending == AnswerEnding::Cut { "length" } else { whole };
        chunk["choices"][0]["finish_reason"] = json!(reason);
        self.state = match self.with_usage {
            true => ChunkState::Usage(usage_in(&run["usage"])),
            false => ChunkState::Done,
        };
        data(&chunk)
    }

    /// The call of a tool, as one delta.
    fn call(&self, name: &str, arguments: String) -> Value {
        let run = self.id.trim_start_matches("chatcmpl-");
        let mut call = json!(ToolCallView::of_run(run, name, arguments));
        call["index"] = json!(0);
        call
    }

    /// The end of an answer without the rest of its text.
    fn end(&mut self, delta: &Value, reason: &str) -> Event {
        let mut chunk = self.chunk(std::slice::from_ref(delta));
        chunk["choices"][0]["finish_reason"] = json!(reason);
        self.state = ChunkState::Done;
        data(&chunk)
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
        prompt_tokens_details: CachedTokensView { cached_tokens: count("cached_tokens") },
        completion_tokens,
        completion_tokens_details: ReasoningTokensView {
            reasoning_tokens: count("reasoning_tokens"),
        },
        total_tokens: prompt_tokens + completion_tokens,
    }
}
