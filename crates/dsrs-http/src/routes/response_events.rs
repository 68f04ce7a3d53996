//! The events of a response, as the run of the graph writes its answer. Knows no route.

use std::collections::VecDeque;

use axum::response::sse::Event;
use serde_json::{Value, json};

use crate::protocol::openai_problem::error_of;
use crate::routes::answer_ending::AnswerEnding;
use crate::routes::answer_reader::{AnswerPart, AnswerReader};
use crate::views::{ResponseView, output_text, refusal_part};

pub(super) struct ResponseEvents {
    answer: AnswerReader,
    /// The graph and its version.
    model: String,
    instructions: Option<String>,
    /// The response, once its run has started.
    response: Option<ResponseView>,
    /// Events that are not sent yet.
    waiting: VecDeque<Value>,
    /// How many events there were.
    count: u64,
    is_over: bool,
}

impl ResponseEvents {
    /// The events of a run that has started.
    pub(super) fn new(model: String, instructions: Option<String>, answer: AnswerReader) -> Self {
        Self {
            answer,
            model,
            instructions,
            response: None,
            waiting: VecDeque::new(),
            count: 0,
            is_over: false,
        }
    }

    /// The next event; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Event> {
        while self.waiting.is_empty() {
            if self.is_over {
                return None;
            }
            let part = self.answer.next().await?;
            self.read(part);
        }
        let mut event = self.waiting.pop_front()?;
        event["sequence_number"] = json!(self.count);
        self.count += 1;
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        Some(Event::default().event(kind).data(event.to_string()))
    }

    fn read(&mut self, part: AnswerPart) {
        if let AnswerPart::Started(run) = &part {
            return self.start(run);
        }
        let Some(response) = self.response.take() else { return };
        match part {
            AnswerPart::Started(_) => {}
            AnswerPart::Text(text) => {
                self.waiting.push_back(delta(&response, &text));
                self.response = Some(response);
            }
            AnswerPart::Completed { rest, text, run, ending } => {
                let response = response.counted(&run["usage"]);
                self.complete(response, &rest, &text, ending);
            }
            AnswerPart::Cut => self.end(response, "max_output_tokens", None),
            AnswerPart::Refusal(refusal) => {
                let item = response.message("incomplete", &[refusal_part(&refusal)]);
                self.end(response, "content_filter", Some(item));
            }
            AnswerPart::Failed(problem) => {
                let error = error_of(&problem).error;
                let response = response.failed(&error.code, &error.message);
                self.waiting.push_back(json!({"type": "response.failed", "response": response}));
                self.is_over = true;
            }
        }
    }

    /// The end of a response that is incomplete.
    fn end(&mut self, response: ResponseView, reason: &str, item: Option<Value>) {
        let response = response.incomplete(reason, item);
        self.waiting.push_back(json!({"type": "response.incomplete", "response": response}));
        self.is_over = true;
    }

    fn start(&mut self, run: &str) {
        let created = chrono::Utc::now().timestamp();
        let response =
            ResponseView::started(run, created, &self.model, self.instructions.as_deref());
        self.waiting.extend([
            json!({"type": "response.created", "response": response}),
            json!({"type": "response.in_progress", "response": response}),
        ]);
        let added =
            |item| json!({"type": "response.output_item.added", "output_index": 0, "item": item});
        match self.answer.called() {
            Some(name) => self.waiting.push_back(added(response.call("in_progress", name, ""))),
            None => self.waiting.extend([
                added(response.message("in_progress", &[])),
                json!({"type": "response.content_part.added", "item_id": response.message_id(),
                    "output_index": 0, "content_index": 0, "part": output_text("")}),
            ]),
        }
        self.response = Some(response);
    }

    fn complete(&mut self, response: ResponseView, rest: &str, text: &str, ending: AnswerEnding) {
        let item = response.item(self.answer.called(), text, ending == AnswerEnding::Whole);
        self.waiting.extend(match self.answer.called() {
            Some(name) => written_call(&response, name, text),
            None => written_text(&response, rest, text),
        });
        let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
        self.waiting.push_back(done);
        match ending {
            AnswerEnding::Cut => self.end(response, "max_output_tokens", Some(item)),
            AnswerEnding::Whole => {
                let response = response.completed(item);
                self.waiting.push_back(json!({"type": "response.completed", "response": response}));
                self.is_over = true;
            }
        }
    }
}

/// The rest of a text, and its end.
fn written_text(response: &ResponseView, rest: &str, text: &str) -> Vec<Value> {
    let item = response.message_id();
    let rest = (!rest.is_empty()).then(|| delta(response, rest));
    let ends = [
        json!({"type": "response.output_text.done", "item_id": item, "output_index": 0,
            "content_index": 0, "text": text, "logprobs": []}),
        json!({"type": "response.content_part.done", "item_id": item, "output_index": 0,
            "content_index": 0, "part": output_text(text)}),
    ];
    rest.into_iter().chain(ends).collect()
}

fn written_call(response: &ResponseView, name: &str, arguments: &str) -> Vec<Value> {
    let item = response.call_item_id();
    vec![
        json!({"type": "response.function_call_arguments.delta", "item_id": item,
            "output_index": 0, "delta": arguments}),
        json!({"type": "response.function_call_arguments.done", "item_id": item,
            "output_index": 0, "name": name, "arguments": arguments}),
    ]
}

fn delta(response: &ResponseView, text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": response.message_id(),
        "output_index": 0, "content_index": 0, "delta": text, "logprobs": []})
}
