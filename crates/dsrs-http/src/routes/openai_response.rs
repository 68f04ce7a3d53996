//! `/openai/v1/responses`: graphs as models for clients of OpenAI's responses.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::sse;
use crate::protocol::status::ProblemCode;
use crate::routes::answer_ending::AnswerEnding;
use crate::routes::answer_form::AnswerForm;
use crate::routes::answer_reader::AnswerReader;
use crate::routes::answer_tool::{AnswerTools, FunctionPlace};
use crate::routes::chat::{ChatAnswer, ChatQuestion, GraphChat};
use crate::routes::chat_content::text_of;
use crate::routes::chat_labels::chat_labels;
use crate::routes::chat_refusal::{Unserved, refuse_unserved, refused, shown};
use crate::routes::response_events::ResponseEvents;
use crate::views::{ResponseBody, ResponseView, RunEvents, refusal_part};
use dsrs_app::{App, ChatMessage};

/// Respond with a graph
///
/// The protocol of OpenAI's responses: `model` is the name of a graph. Sampling parameters belong to the nodes of the
/// graph and are ignored. No conversation is stored: `input` has all of it. Errors have the format of OpenAI.
#[utoipa::path(
    post, path = "/openai/v1/responses", tag = "openai",
    request_body(content = ResponseBody, example = json!({
        "model": "support-reply", "input": "My parcel has not arrived."})),
    responses((status = 200, description = "The response, or its events", content(
        (ResponseView = "application/json", example = json!(example())),
        (RunEvents = "text/event-stream")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("run")))
)]
pub(crate) async fn openai_response(
    State(app): State<Arc<App>>,
    caller: Caller,
    labels: LabelHeaders,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let request: ResponseBody = serde_json::from_str(&document.parsed.payload.to_json())
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidRequest, error.to_string()))?;
    let chat = GraphChat::prepare(app, caller, question(&request, labels)?).await?;
    match request.stream {
        Some(true) => streamed(chat, request.instructions).await,
        _ => whole(chat, request.instructions.as_deref()).await,
    }
}

fn question(request: &ResponseBody, headers: LabelHeaders) -> Result<ChatQuestion<'_>, ApiProblem> {
    let labels = chat_labels(&request.user, &request.metadata, headers)?;
    if request.previous_response_id.is_some() {
        let detail = "no conversation is stored; send all its messages in `input`";
        return Err(refused("/previous_response_id", detail));
    }
    if request.background == Some(true) {
        let detail = "start a run with `/v1/graphs/{graph}/runs` instead";
        return Err(refused("/background", detail));
    }
    refuse_unserved(&unserved(request))?;
    let form = answer_form(request)?;
    let mut messages = Vec::new();
    if let Some(instructions) = &request.instructions {
        let content = instructions.clone();
        messages.push(ChatMessage { role: "system".to_owned(), content });
    }
    messages.extend(messages_of(&request.input)?);
    Ok(ChatQuestion { model: &request.model, messages, form, place: "/input", labels })
}

/// The response of the example.
fn example() -> ResponseView {
    let run = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    let response = ResponseView::started(run, 1_757_000_000, "support-reply@1", None);
    let item = response.item(None, "It arrives tomorrow.", true);
    response.counted(&json!({"input_tokens": 1290, "output_tokens": 212})).completed(item)
}

fn answer_form(request: &ResponseBody) -> Result<AnswerForm<'_>, ApiProblem> {
    let (tools, choice) = (request.tools.as_ref(), &request.tool_choice);
    match AnswerTools::of(tools, choice, FunctionPlace::Root)? {
        Some(tools) => Ok(AnswerForm::Call(tools)),
        None => {
            let format = request.text.as_ref().and_then(|text| text.format.as_ref());
            AnswerForm::of("/text/format", format, &["schema"])
        }
    }
}

fn unserved(request: &ResponseBody) -> [Unserved<'_>; 3] {
    let of = |member, value, reason| Unserved { member, value, reason };
    let whole = "no conversation is stored; send all its messages in `input`";
    let prompt = "no prompts are stored; the nodes of the graph have their instructions";
    let text = "a graph answers with text only; leave it out";
    [
        of("conversation", &request.conversation, whole),
        of("prompt", &request.prompt, prompt),
        of("modalities", &request.modalities, text),
    ]
}

/// The messages of an input.
fn messages_of(input: &Value) -> Result<Vec<ChatMessage>, ApiProblem> {
    let items = match input {
        Value::String(text) => {
            return Ok(vec![ChatMessage { role: "user".to_owned(), content: text.clone() }]);
        }
        Value::Array(items) => items,
        _ => return Err(refused("/input", "expected a text or a list of messages")),
    };
    let mut messages = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        messages.extend(message_of(item, &format!("/input/{index}"))?);
    }
    Ok(messages)
}

/// The message of an item; `None` for what a model of OpenAI thought, which is nothing to a graph.
fn message_of(item: &Value, pointer: &str) -> Result<Option<ChatMessage>, ApiProblem> {
    match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
        ("message", Some(role)) => {
            let content = text_of(role, &item["content"], &format!("{pointer}/content"))?;
            Ok(Some(ChatMessage { role: role.to_owned(), content }))
        }
        ("reasoning", _) => Ok(None),
        ("function_call", _) => Ok(call_message("assistant", &item["arguments"])),
        ("function_call_output", _) => Ok(call_message("tool", &item["output"])),
        ("message", None) => Err(refused(pointer, "a message has a `role`")),
        (other, _) => {
            let detail = format!("a graph reads messages, and no `{}`", shown(other));
            Err(refused(pointer, detail))
        }
    }
}

/// A call of a tool, or its result, as a message.
fn call_message(role: &str, text: &Value) -> Option<ChatMessage> {
    let content = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
    Some(ChatMessage { role: role.to_owned(), content })
}

async fn whole(chat: GraphChat, instructions: Option<&str>) -> Result<Response, ApiProblem> {
    let answered = chat.answer().await?;
    let (ChatAnswer::Text(run, ..) | ChatAnswer::Cut(run) | ChatAnswer::Refusal(run, _)) =
        &answered;
    let usage: Value = serde_json::from_str(&run.row.usage).unwrap_or_default();
    let (id, created) = (run.row.id.to_string(), run.row.created_at.timestamp());
    let started = ResponseView::started(&id, created, &chat.model_name(), instructions);
    let started = started.counted(&usage);
    Ok(answer::ok(&match &answered {
        ChatAnswer::Text(_, content, ending) => {
            let item = started.item(chat.form.called(), content, *ending == AnswerEnding::Whole);
            match ending {
                AnswerEnding::Whole => started.completed(item),
                AnswerEnding::Cut => started.incomplete("max_output_tokens", Some(item)),
            }
        }
        ChatAnswer::Cut(_) => started.incomplete("max_output_tokens", None),
        ChatAnswer::Refusal(_, refusal) => {
            let item = started.message("incomplete", &[refusal_part(refusal)]);
            started.incomplete("content_filter", Some(item))
        }
    }))
}

/// Runs the graph and sends the answer as it is written.
async fn streamed(chat: GraphChat, instructions: Option<String>) -> Result<Response, ApiProblem> {
    let events = chat.stream().await?;
    let name = chat.model_name();
    let answer = AnswerReader::new(chat.model, chat.form, events);
    let events = ResponseEvents::new(name, instructions, answer);
    let events = stream::unfold(events, |mut events| async move {
        let event = events.next().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    Ok(sse::respond(events))
}
