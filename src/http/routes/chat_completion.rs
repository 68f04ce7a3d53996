//! `/openai/v1`: graphs as models for clients of OpenAI's API.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use dsrs::problem::Problems;
use dsrs::signature::signature_to_schemas;
use dsrs::value::{Payload, parse_json};
use futures_util::stream;
use serde_json::{Map, Value, json};

use crate::app::{App, ChatMessage, ChatModel, ExecuteRequest, spawn_named};
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::refusal::run_problem;
use crate::http::protocol::sse;
use crate::http::protocol::status::ProblemCode;
use crate::http::routes::chat_chunks::{ChatChunks, usage_in};
use crate::http::routes::run_events;
use crate::http::views::{
    ChatAnswerView, ChatChoiceView, ChatCompletionBody, ChatCompletionView, ChatMessageBody,
    ChatModelListView, ChatModelView, ChatUsageView, RunEvents,
};
use crate::store::ListQuery;
use crate::store::graph::{GraphRef, GraphRow, VersionSelection};
use crate::store::run::{RunRow, RunStatus};

/// The most graphs that are listed as models: each is loaded.
const MOST_MODELS: u32 = 200;

/// List the graphs that are chat models
///
/// A graph is one if it has one text input without a default, or an input `history` or `messages`; and one
/// output, or one that is named `answer` or `response`. At most the 200 newest graphs are considered.
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
    let found = app.graph_list(&scope, ListQuery::new(None, MOST_MODELS)).await?;
    let mut data = Vec::new();
    for graph in &found.items {
        let row = app.graph_get(&scope, &GraphRef::Id(graph.id), None).await?;
        // A definition whose tools are gone from this server is no model.
        let Ok(program) = app.program_of(&scope, &row).await else { continue };
        if ChatModel::of(&program).is_ok() {
            let created = graph.created_at.timestamp();
            data.push(ChatModelView { id: row.name, object: "model", created, owned_by: "dsrs" });
        }
    }
    Ok(answer::ok(&ChatModelListView { object: "list", data }))
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
            "usage": {"prompt_tokens": 1290, "completion_tokens": 212, "total_tokens": 1502}})),
        (RunEvents = "text/event-stream")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("run")))
)]
pub(crate) async fn chat_completion(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let request: ChatCompletionBody = serde_json::from_str(&document.parsed.payload.to_json())
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidRequest, error.to_string()))?;
    let chat = Chat::prepare(app, caller, &request).await?;
    match request.stream {
        Some(true) => {
            let usage = request.stream_options.and_then(|options| options.include_usage);
            chat.stream(usage.unwrap_or(false)).await
        }
        _ => chat.answer().await,
    }
}

/// A request that is about to run.
struct Chat {
    app: Arc<App>,
    caller: Caller,
    row: GraphRow,
    model: ChatModel,
    inputs: Payload,
    /// Whether the answer is the JSON of all outputs.
    is_json: bool,
}

impl Chat {
    async fn prepare(
        app: Arc<App>,
        caller: Caller,
        request: &ChatCompletionBody,
    ) -> Result<Self, ApiProblem> {
        let refuse =
            |detail: &'static str| Err(ApiProblem::new(ProblemCode::InvalidRequest, detail));
        if request.n.is_some_and(|n| n != 1) {
            return refuse("`n`: a graph answers once");
        }
        if request.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            return refuse("`tools`: a graph has tools of its own; leave them out");
        }
        let scope = caller.scope();
        let (graph, version) = named_version(&request.model)?;
        let row = app.graph_get(&scope, &GraphRef::parse(graph), version).await?;
        let program = app.program_of(&scope, &row).await?;
        let model = ChatModel::of(&program).map_err(|reason| {
            let detail = format!("`model`: the graph `{}` is no chat model: {reason}", row.name);
            ApiProblem::new(ProblemCode::InvalidRequest, detail)
        })?;
        let messages: Vec<ChatMessage> = request.messages.iter().map(message).collect();
        let Some(inputs) = model.inputs(&messages) else {
            return refuse("`messages`: there is no message with the role `user`");
        };
        let outputs = || signature_to_schemas(&program.signature());
        let is_json = wants_json(&app, request.response_format.as_ref(), outputs)?;
        let inputs = Payload::from_json(&inputs.to_string())
            .map_err(|error| ApiProblem::new(ProblemCode::InvalidRequest, error.to_string()))?;
        Ok(Self { app, caller, row, model, inputs, is_json })
    }

    fn request(&self) -> ExecuteRequest {
        ExecuteRequest {
            inputs: self.inputs.clone(),
            pick: VersionSelection { version: Some(self.row.version), state_version: None },
            trace: false,
            timeout: None,
            request_id: self.caller.request_id.clone(),
            faults: Problems::new(),
            place: self.caller.place.clone(),
        }
    }

    async fn answer(self) -> Result<Response, ApiProblem> {
        let graph = GraphRef::Id(self.row.id);
        let run =
            Box::pin(self.app.run_execute(&self.caller.scope(), &graph, self.request())).await?;
        if let Some(failure) = &run.failure {
            return Err(run_problem(failure));
        }
        let content = self.content(&run.row)?;
        let message = ChatAnswerView { role: "assistant", content };
        Ok(answer::ok(&ChatCompletionView {
            id: completion_id(&run.row),
            object: "chat.completion",
            created: run.row.created_at.timestamp(),
            model: self.model_name(),
            choices: vec![ChatChoiceView { index: 0, message, finish_reason: "stop" }],
            usage: usage_of(&run.row),
        }))
    }

    /// The text of a run that succeeded.
    fn content(&self, row: &RunRow) -> Result<String, ApiProblem> {
        if row.status == RunStatus::Waiting {
            let detail = "the run waits for a value; a chat has no way to give it one";
            return Err(ApiProblem::new(ProblemCode::RunUnfinished, detail));
        }
        let stored = row.outputs.as_deref().unwrap_or("{}");
        if self.is_json {
            return Ok(stored.to_owned());
        }
        let outputs: Map<String, Value> = serde_json::from_str(stored).unwrap_or_default();
        Ok(self.model.answer(&outputs))
    }

    fn model_name(&self) -> String {
        format!("{}@{}", self.row.name, self.row.version)
    }

    /// Runs the graph and sends the answer as it is written.
    async fn stream(self, with_usage: bool) -> Result<Response, ApiProblem> {
        let scope = self.caller.scope();
        let graph = GraphRef::Id(self.row.id);
        let run = Box::pin(self.app.run_stream(&scope, &graph, self.request(), false)).await?;
        let request_id = self.caller.request_id.clone();
        spawn_named("a streamed execution", run_events::finish(run.execution, None, request_id));
        let name = (self.model_name(), self.model);
        let chunks = ChatChunks::new(name, run.events, self.is_json, with_usage);
        let events = stream::unfold(chunks, |mut chunks| async move {
            let event = chunks.next().await?;
            Some((Ok::<_, Infallible>(event), chunks))
        });
        Ok(sse::respond(events))
    }
}

fn completion_id(row: &RunRow) -> String {
    format!("chatcmpl-{}", row.id)
}

fn usage_of(row: &RunRow) -> ChatUsageView {
    usage_in(&serde_json::from_str(&row.usage).unwrap_or_default())
}

/// `name`, or `name@version`.
fn named_version(model: &str) -> Result<(&str, Option<i32>), ApiProblem> {
    let Some((name, version)) = model.rsplit_once('@') else { return Ok((model, None)) };
    match version.parse() {
        Ok(version) if version > 0 => Ok((name, Some(version))),
        _ => {
            let detail = format!("`model`: `{version}` is not a version of a graph");
            Err(ApiProblem::new(ProblemCode::InvalidRequest, detail))
        }
    }
}

/// A message, with the text of its parts.
fn message(body: &ChatMessageBody) -> ChatMessage {
    let content = match &body.content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    ChatMessage { role: body.role.clone(), content }
}

/// Whether the client wants the outputs as JSON. A schema has to accept every output of the graph.
fn wants_json(
    app: &App,
    format: Option<&Map<String, Value>>,
    outputs: impl FnOnce() -> Payload,
) -> Result<bool, ApiProblem> {
    let Some(format) = format else { return Ok(false) };
    match format.get("type").and_then(Value::as_str) {
        None | Some("text") => Ok(false),
        Some("json_object") => Ok(true),
        Some("json_schema") => {
            let outputs: Value = serde_json::from_str(&outputs().to_json()).unwrap_or_default();
            let schema = format.get("json_schema").and_then(|found| found.get("schema"));
            let request = json!({"from": outputs["output_schema"], "to": schema}).to_string();
            let request = parse_json(request.as_bytes())
                .map_err(|error| ApiProblem::new(ProblemCode::InvalidRequest, error.to_string()))?;
            match app.type_assignable(&request)?.mismatch {
                None => Ok(true),
                Some((path, reason)) => {
                    let detail = format!(
                        "`response_format`: the outputs of the graph do not fit the schema: `{path}`: {reason}"
                    );
                    Err(ApiProblem::new(ProblemCode::InvalidRequest, detail))
                }
            }
        }
        Some(other) => {
            let detail =
                format!("`response_format`: the type `{other}` is unknown; use `json_schema`");
            Err(ApiProblem::new(ProblemCode::InvalidRequest, detail))
        }
    }
}
