//! One call of a tool: a run of its graph, with progress as its nodes end, and its outputs or its problem as the result.

use dsrs::problem::Problems;
use dsrs::value::Payload;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, MetaObject, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::protocol::admission::admit_start;
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use crate::routes::mcp::call_span;
use crate::routes::mcp::calls::CallName;
use crate::routes::mcp::graph_server::GraphServer;
use crate::routes::run_events;
use dsrs_app::{BackgroundRuns, EventKind, EventStream, ExecuteRequest, StreamItem, spawn_named};
use dsrs_store::graph::{GraphRef, VersionSelection};
use dsrs_store::run::RunRow;

/// A run, as a client of a tool sees it.
struct ToolRun<'c> {
    server: &'c GraphServer,
    context: &'c RequestContext<RoleServer>,
    progress: Option<ProgressToken>,
    /// How many nodes the graph has.
    nodes: usize,
    /// How many of them have ended.
    ended: usize,
    run: Option<Uuid>,
}

/// Runs the graph of a tool, within the span of the call.
pub(super) async fn call(
    server: &GraphServer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let (server, span) = call_span::begin(server, &request, context);
    let result = call_tool(&server, request, context).await;
    call_span::end(&server, span, &result);
    result
}

async fn call_tool(
    server: &GraphServer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let exposed = server.app.exposed_graphs(&server.caller.scope()).await;
    let exposed = exposed.map_err(|error| server.refusal(&error.into()))?;
    let Some(graph) = exposed.tool(&request.name).map(|graph| GraphRef::Id(graph.id)) else {
        let shown: String = request.name.chars().take(200).collect();
        let detail = format!("there is no tool `{shown}`; `tools/list` names those of this key");
        return Err(ErrorData::invalid_params(detail, None));
    };
    match Box::pin(run(server, &graph, request.arguments, context)).await {
        Ok(result) => Ok(result),
        Err(problem) => Ok(failed(document(&problem, server))),
    }
}

async fn run(
    server: &GraphServer,
    graph: &GraphRef,
    arguments: Option<Map<String, Value>>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ApiProblem> {
    let (app, scope) = (&server.app, server.caller.scope());
    let place = admit_start(&app.quotas, &server.caller.identity).await?;
    let inputs = Value::Object(arguments.unwrap_or_default()).to_string();
    let inputs = Payload::from_json(&inputs)
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidInput, error.to_string()))?;
    let (pin, program) = app.ready(&scope, graph, VersionSelection::NEWEST).await?;
    let request = ExecuteRequest {
        inputs,
        pick: VersionSelection { version: Some(pin.version), state_version: None },
        trace: false,
        timeout: None,
        labels: server.labels.clone(),
        request_id: server.caller.request_id.clone(),
        faults: Problems::new(),
        place,
    };
    let started = Box::pin(app.run_stream(&scope, graph, request, false)).await?;
    let request_id = server.caller.request_id.clone();
    spawn_named("a streamed execution", run_events::finish(started.execution, None, request_id));
    let progress = context.meta.get_progress_token().filter(|_| server.has_progress);
    let nodes = program.graph().nodes().count();
    let run = ToolRun { server, context, progress, nodes, ended: 0, run: None };
    run.follow(started.events).await
}

impl ToolRun<'_> {
    /// Follows the run to its end. Dropping it cancels the run.
    async fn follow(
        mut self,
        mut events: EventStream<RunRow>,
    ) -> Result<CallToolResult, ApiProblem> {
        let cancelled = CancellationToken::new();
        let request = serde_json::to_string(&self.context.id).unwrap_or_default();
        let name = self
            .server
            .session
            .and_then(|session| CallName::new(&self.server.caller, session, request));
        let _call = name.and_then(|name| self.server.calls.begin(name, cancelled.clone()));
        loop {
            let item = tokio::select! {
                item = events.next() => item,
                () = cancelled.cancelled() => {
                    self.cancel().await;
                    // The rest of the events ends with that of the cancelled run.
                    events.next().await
                }
            };
            match item {
                Some(StreamItem::Event(event)) => {
                    let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
                    if let Some(result) = self.read(event.kind, data).await {
                        return Ok(result);
                    }
                }
                Some(StreamItem::Gap(..)) => {}
                Some(StreamItem::Ended(..)) | None => {
                    let detail = "the run ended without a result; read it by its id";
                    return Err(ApiProblem::new(ProblemCode::Internal, detail));
                }
            }
        }
    }

    async fn cancel(&self) {
        let Some(id) = self.run else { return };
        let scope = self.server.caller.scope();
        // A run that has ended meanwhile needs no cancellation.
        let _ended = self.server.app.job_cancel::<BackgroundRuns>(&scope, id).await;
    }

    /// Reports progress; returns the result with the last event.
    async fn read(&mut self, kind: EventKind, data: Value) -> Option<CallToolResult> {
        match kind {
            EventKind::RunStarted => {
                self.run = data["run_id"].as_str().and_then(|id| id.parse().ok());
                self.notify("started".to_owned()).await;
                None
            }
            EventKind::NodeCompleted | EventKind::NodeFailed => {
                self.ended += 1;
                let word = if kind == EventKind::NodeCompleted { "completed" } else { "failed" };
                self.notify(format!("{} {word}", data["node"].as_str().unwrap_or_default())).await;
                None
            }
            EventKind::RunCompleted => Some(succeeded(data)),
            EventKind::RunFailed | EventKind::RunCancelled => Some(failed(data)),
            EventKind::RunWaiting => Some(self.waits()),
            _ => None,
        }
    }

    async fn notify(&self, message: String) {
        let Some(token) = self.progress.clone() else { return };
        let progress = ProgressNotificationParam::new(token, self.ended as f64)
            .with_total(self.nodes.max(self.ended) as f64)
            .with_message(message);
        // A client that has left needs no progress; its run is cancelled.
        let _sent = self.context.peer.notify_progress(progress).await;
    }

    /// A tool has no way to give a run the value that it waits for.
    fn waits(&self) -> CallToolResult {
        let id = self.run.map(|id| id.to_string()).unwrap_or_default();
        let detail = format!("the run waits for a value; send it to /v1/runs/{id}/signal");
        let problem = ApiProblem::new(ProblemCode::RunUnfinished, detail);
        failed(document(&problem.with(|view| view.run_id = self.run), self.server))
    }
}

fn document(problem: &ApiProblem, server: &GraphServer) -> Value {
    serde_json::from_str(&problem.to_json(&server.caller.request_id)).unwrap_or_default()
}

/// The outputs of a run.
fn succeeded(mut run: Value) -> CallToolResult {
    let meta = json!({"run_id": run["id"], "usage": run["usage"].take()});
    CallToolResult::structured(run["outputs"].take()).with_meta(as_meta(meta))
}

/// A problem, for a model that can correct its arguments: the places are those of the arguments.
fn failed(mut problem: Value) -> CallToolResult {
    // The detail repeats the first of the errors, with the place that it has in a body.
    let has_places = problem["errors"].as_array().is_some_and(|errors| !errors.is_empty());
    let summary = if has_places { "title" } else { "detail" };
    let code = problem["code"].as_str().unwrap_or("internal");
    let mut lines = vec![format!("{code}: {}", problem[summary].as_str().unwrap_or_default())];
    for item in problem["errors"].as_array_mut().into_iter().flatten() {
        let pointer = item["pointer"].as_str().unwrap_or_default();
        let place = pointer.strip_prefix("/inputs").map(|rest| format!("/arguments{rest}"));
        let place = place.unwrap_or_else(|| pointer.to_owned());
        lines.push(format!("{place}: {}", item["detail"].as_str().unwrap_or_default()));
        item["pointer"] = json!(place);
    }
    let meta = json!({"run_id": problem["run_id"], "problem": problem});
    CallToolResult::error(vec![ContentBlock::text(lines.join("\n"))]).with_meta(as_meta(meta))
}

fn as_meta(value: Value) -> Option<MetaObject> {
    match value {
        Value::Object(members) => Some(MetaObject(members)),
        _ => None,
    }
}
