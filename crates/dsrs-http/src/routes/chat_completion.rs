//! `/openai/v1`: graphs as models for clients of OpenAI's API.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::stream;

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
use crate::routes::chat::{ChatAnswer, ChatQuestion, GraphChat, chat_model_row, declared_name};
use crate::routes::chat_chunks::{ChatChunks, usage_in};
use crate::routes::chat_content::text_of;
use crate::routes::chat_labels::chat_labels;
use crate::routes::chat_refusal::{Unserved, refuse_unserved, refused};
use crate::views::{
    ChatAnswerView, ChatChoiceView, ChatCompletionBody, ChatCompletionView, ChatMessageBody,
    ChatModelListView, ChatModelView, RunEvents, ToolCallView,
};
use dsrs_app::{App, ChatMessage, ChatModel};
use dsrs_store::ListQuery;
use dsrs_store::graph::GraphRef;

/// The most graphs that are listed as models: each is loaded.
const MOST_MODELS: u32 = 200;

/// List the graphs that are chat models
///
/// A graph is one if it has one text input without a default, or an input `history` or `messages`; and one
/// output, or one that is named `answer` or `response`. `expose.openai` of its definition names others, or is
/// `false` for none. At most the 200 newest graphs are considered.
#[utoipa::path(
    get, path = "/openai/v1/models", tag = "openai",
    responses((status = 200, description = "The models", body = ChatModelListView,
        example = json!({"object": "list", "data": [
            {"id": "support-reply", "object": "model", "created": 1_757_000_000, "owned_by": "dsrs"}]}))),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn chat_model_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let scope = caller.scope();
    let exposed = app.exposed_graphs(&scope).await?;
    let found = app.graph_list(&scope, ListQuery::new(None, MOST_MODELS)).await?;
    let mut data = Vec::new();
    for graph in &found.items {
        let row = app.graph_get(&scope, &GraphRef::Id(graph.id), None).await?;
        // A definition whose tools are gone from this server is no model.
        let Ok(program) = app.program_of(&scope, &row).await else { continue };
        let name = declared_name(&program);
        if ChatModel::of(&program).is_ok() && exposed.is_reached(name, graph.id) {
            let (id, created) = (name.to_owned(), graph.created_at.timestamp());
            data.push(ChatModelView { id, object: "model", created, owned_by: "dsrs" });
        }
    }
    Ok(answer::ok(&ChatModelListView { object: "list", data }))
}

/// Look a chat model up
///
/// The graph with this name, or `name@3` for its version 3, if it is a chat model.
#[utoipa::path(
    get, path = "/openai/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "The name of a chat model", example = "support-reply")),
    responses((status = 200, description = "The model", body = ChatModelView,
        example = json!({"id": "support-reply", "object": "model", "created": 1_757_000_000, "owned_by": "dsrs"}))),
    extensions(("x-scope" = json!("read")), ("x-problems" = json!(["invalid_request"])))
)]
pub(crate) async fn chat_model_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(model): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let created = chat_model_row(&app, &caller.scope(), &model).await?.created_at.timestamp();
    Ok(answer::ok(&ChatModelView { id: model, object: "model", created, owned_by: "dsrs" }))
}

/// Answer messages with a graph
///
/// The protocol of OpenAI's chat completions: `model` is the name of a graph. Sampling parameters belong to the
/// nodes of the graph and are ignored. Errors have the format of OpenAI.
#[utoipa::path(
    post, path = "/openai/v1/chat/completions", tag = "openai",
    request_body(content = ChatCompletionBody, example = json!({
        "model": "support-reply", "messages": [{"role": "user", "content": "My parcel has not arrived."}]})),
    responses((status = 200, description = "The answer, or its chunks", content(
        (ChatCompletionView = "application/json", example = json!({
            "id": "chatcmpl-01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f", "object": "chat.completion", "created": 1_757_000_000,
            "model": "support-reply@1", "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "It arrives tomorrow."}}],
            "usage": {"prompt_tokens": 1290, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 212,
                "completion_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1502}})),
        (RunEvents = "text/event-stream")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("run")))
)]
pub(crate) async fn chat_completion(
    State(app): State<Arc<App>>,
    caller: Caller,
    labels: LabelHeaders,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let request: ChatCompletionBody = serde_json::from_str(&document.parsed.payload.to_json())
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidRequest, error.to_string()))?;
    let chat = GraphChat::prepare(app, caller, question(&request, labels)?).await?;
    match request.stream {
        Some(true) => {
            let usage = request.stream_options.and_then(|options| options.include_usage);
            streamed(chat, usage.unwrap_or(false)).await
        }
        _ => whole(chat).await,
    }
}

fn question(
    request: &ChatCompletionBody,
    headers: LabelHeaders,
) -> Result<ChatQuestion<'_>, ApiProblem> {
    let labels = chat_labels(&request.user, &request.metadata, headers)?;
    if request.n.is_some_and(|n| n != 1) {
        return Err(refused("/n", "a graph answers once"));
    }
    refuse_unserved(&unserved(request))?;
    let mut messages = Vec::with_capacity(request.messages.len());
    for (index, message) in request.messages.iter().enumerate() {
        let pointer = format!("/messages/{index}/content");
        let text = text_of(&message.role, &message.content, &pointer)?;
        let content = match call_arguments(message) {
            Some(arguments) if text.is_empty() => arguments.to_owned(),
            _ => text,
        };
        messages.push(ChatMessage { role: message.role.clone(), content });
    }
    let form = answer_form(request)?;
    Ok(ChatQuestion { model: &request.model, messages, form, place: "/messages", labels })
}

/// The arguments of the first call in a message of the assistant: what it said, if it has no text.
fn call_arguments(message: &ChatMessageBody) -> Option<&str> {
    let is_answer = message.role == "assistant";
    is_answer.then(|| message.tool_calls[0]["function"]["arguments"].as_str()).flatten()
}

fn answer_form(request: &ChatCompletionBody) -> Result<AnswerForm<'_>, ApiProblem> {
    let (tools, choice) = (request.tools.as_ref(), &request.tool_choice);
    match AnswerTools::of(tools, choice, FunctionPlace::Member)? {
        Some(tools) => Ok(AnswerForm::Call(tools)),
        None => {
            let format = request.response_format.as_ref();
            AnswerForm::of("/response_format", format, &["json_schema", "schema"])
        }
    }
}

fn unserved(request: &ChatCompletionBody) -> [Unserved<'_>; 6] {
    let of = |member, value, reason| Unserved { member, value, reason };
    let own = "a graph has tools of its own; leave it out";
    let no_tokens = "a graph has no probabilities of tokens; leave it out";
    [
        of("functions", &request.functions, own),
        of("function_call", &request.function_call, own),
        of("modalities", &request.modalities, "a graph answers with text only; leave it out"),
        of("audio", &request.audio, "a graph answers with text only; leave it out"),
        of("logprobs", &request.logprobs, no_tokens),
        of("top_logprobs", &request.top_logprobs, no_tokens),
    ]
}

async fn whole(chat: GraphChat) -> Result<Response, ApiProblem> {
    let empty = ChatAnswerView::default();
    let (run, message, finish_reason) = match chat.answer().await? {
        ChatAnswer::Text(run, content, end) => {
            let reason = match end {
                AnswerEnding::Cut => "length",
                AnswerEnding::Whole if chat.form.called().is_some() => "tool_calls",
                AnswerEnding::Whole => "stop",
            };
            let message = match chat.form.called() {
                None => ChatAnswerView { content: Some(content), ..empty },
                Some(name) => {
                    let call = ToolCallView::of_run(&run.row.id.to_string(), name, content);
                    ChatAnswerView { tool_calls: Some(vec![call]), ..empty }
                }
            };
            (run, message, reason)
        }
        ChatAnswer::Cut(run) => (run, empty, "length"),
        ChatAnswer::Refusal(run, refusal) => {
            (run, ChatAnswerView { refusal: Some(refusal), ..empty }, "content_filter")
        }
    };
    let usage = serde_json::from_str(&run.row.usage).unwrap_or_default();
    Ok(answer::ok(&ChatCompletionView {
        id: format!("chatcmpl-{}", run.row.id),
        object: "chat.completion",
        created: run.row.created_at.timestamp(),
        model: chat.model_name(),
        choices: vec![ChatChoiceView { index: 0, message, finish_reason }],
        usage: usage_in(&usage),
    }))
}

/// Runs the graph and sends the answer as it is written.
async fn streamed(chat: GraphChat, with_usage: bool) -> Result<Response, ApiProblem> {
    let events = chat.stream().await?;
    let name = chat.model_name();
    let answer = AnswerReader::new(chat.model, chat.form, events);
    let chunks = ChatChunks::new(name, answer, with_usage);
    let events = stream::unfold(chunks, |mut chunks| async move {
        let event = chunks.next().await?;
        Some((Ok::<_, Infallible>(event), chunks))
    });
    Ok(sse::respond(events))
}
