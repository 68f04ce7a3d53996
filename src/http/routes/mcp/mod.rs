//! `/mcp`: the exposed graphs of a workspace as tools of an MCP server, over streamable HTTP. Every message is a request
//! of its own, admitted like any other; there are no sessions that occupy anything.

mod calls;
mod graph_server;
mod handler;
mod resources;
mod tool_call;
mod wrong_params;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use dsrs::value::Payload;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use uuid::Uuid;

use crate::app::App;
use crate::http::protocol::accept::{accepts_events, accepts_json};
use crate::http::protocol::answer;
use crate::http::protocol::body::PostedBody;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::label_headers::LabelHeaders;
use crate::http::protocol::problem::{ApiProblem, ForeignError};
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::same_site::OwnOrigins;
use crate::http::protocol::status::ProblemCode;
use crate::http::views::{McpMessage, RunEvents};
use crate::store::run_label::RunLabels;
use calls::CallName;
pub(crate) use calls::McpCalls;
use graph_server::GraphServer;

/// Names the messages of one client, so that a notification can name a call of another request.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// What the route shares between requests.
#[derive(Clone)]
pub(crate) struct McpRoute {
    pub(crate) origins: Arc<OwnOrigins>,
    pub(crate) calls: Arc<McpCalls>,
}

/// Send a message to the MCP server
///
/// The streamable HTTP transport of the Model Context Protocol: each graph with `expose.mcp` is a tool, and the states of
/// graphs and the runs are resources. A body is one JSON-RPC message. For a client that accepts events, the answer to
/// `tools/call` is a stream of progress notifications that ends with the result. A
/// client that disconnects, or sends `notifications/cancelled`, cancels the run. There are no streams of the server's own
/// (`GET`), and no sessions to end (`DELETE`). Reading resources needs the scope `read`, too.
#[utoipa::path(
    post, path = "/mcp", tag = "mcp",
    request_body(content = McpMessage, example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
    responses(
        (status = 200, description = "The answer, or progress and the answer", content(
            (McpMessage = "application/json", example = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})),
            (RunEvents = "text/event-stream"))),
        (status = 202, description = "The notification was accepted"),
        (status = 400, description = "A message that the protocol does not allow", body = McpMessage)),
    extensions(("x-scope" = json!("execute")),
        ("x-problems" = json!(["method_not_allowed", "forbidden_origin"])))
)]
pub(crate) async fn mcp_message(
    State(app): State<Arc<App>>,
    Extension(route): Extension<McpRoute>,
    caller: Caller,
    _: NoQuery,
    headers: HeaderMap,
    uri: Uri,
    PostedBody { bytes, document, permit }: PostedBody,
) -> Result<Response, ApiProblem> {
    route.origins.admit(&headers)?;
    let _permit = permit;
    let document = document?;
    if !document.parsed.duplicates.is_empty() {
        // The SDK might read another one of them.
        return Err(ApiProblem::of(
            ProblemCode::InvalidRequest,
            document.parsed.duplicates.clone(),
        ));
    }
    let session = session_of(&headers);
    let method = method_of(&document.parsed.payload)?;
    if method.as_deref() == Some("notifications/cancelled") {
        let name = |request| CallName::new(&caller, session?, request);
        if let Some(name) = cancelled_request(&document.parsed.payload).and_then(name) {
            route.calls.cancel(&name);
        }
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let (json, events) = (accepts_json(&headers), accepts_events(&headers));
    if let Some(error) = wrong_params::answer_to_no_object(&document.parsed.payload)
        && json
    {
        return Ok(answer::ok(&error));
    }
    let is_call = method.as_deref() == Some("tools/call");
    let labels = LabelHeaders::read(&headers)?.or_body(RunLabels::default());
    let (calls, has_progress) = (route.calls, events);
    let server = GraphServer { app, caller, session, labels, calls, has_progress };
    let service = service(server, json && !(is_call && events));
    let mut request = Request::new(Full::new(bytes));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    // The SDK serves only clients that accept both; this route answers in what they accept.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    request.headers_mut().insert(header::ACCEPT, both);
    let mut answer = rendered(service.handle(request).await.map(Body::new)).await?;
    if method.as_deref() == Some("initialize") && answer.status().is_success() {
        let session = HeaderValue::from_str(&Uuid::now_v7().to_string());
        answer.headers_mut().extend(session.ok().map(|session| (SESSION, session)));
    }
    Ok(answer)
}

/// The service of the SDK for one message. The front has checked the host, and the body is within the limit.
fn service(
    server: GraphServer,
    is_json: bool,
) -> StreamableHttpService<GraphServer, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        // A call may take long: its stream has comments that show the client that the server lives.
        .with_json_response(is_json)
        .with_max_request_body_bytes(usize::MAX)
        .disable_allowed_hosts();
    StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
}

/// The method of a message; `None` for a response.
fn method_of(message: &Payload) -> Result<Option<String>, ApiProblem> {
    match message {
        Payload::Map(members) => {
            Ok(members.get("method").and_then(Payload::as_str).map(str::to_owned))
        }
        Payload::List(_) => {
            let detail = "a body is one JSON-RPC message: this version of MCP has no batches";
            Err(ApiProblem::new(ProblemCode::InvalidRequest, detail))
        }
        _ => {
            let detail = "a body is a JSON-RPC message, an object";
            Err(ApiProblem::new(ProblemCode::InvalidRequest, detail))
        }
    }
}

/// The id of the request that a notification cancels, as JSON.
fn cancelled_request(message: &Payload) -> Option<String> {
    let request = message.as_map()?.get("params")?.as_map()?.get("requestId")?;
    Some(request.to_json())
}

fn session_of(headers: &HeaderMap) -> Option<Uuid> {
    headers.get(SESSION)?.to_str().ok()?.parse().ok()
}

/// The answer of the SDK. Its refusals that are no JSON-RPC errors become problems.
async fn rendered(answer: Response) -> Result<Response, ApiProblem> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let is_json = answer.headers().get(header::CONTENT_TYPE);
    if is_json.is_some_and(|found| found.as_bytes().starts_with(b"application/json")) {
        let mut answer = answer;
        answer.extensions_mut().insert(ForeignError);
        return Ok(answer);
    }
    let text = answer.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let detail = String::from_utf8_lossy(&text).into_owned();
    let code = match status {
        // The media type was checked: the SDK answers so if it recognizes no message.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ProblemCode::InvalidRequest,
        other => ProblemCode::of_status(other),
    };
    Err(ApiProblem::new(code, detail))
}
