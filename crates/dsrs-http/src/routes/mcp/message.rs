//! A message of an MCP client, answered by the SDK. Knows no tool.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dsrs::value::Payload;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use uuid::Uuid;

use super::calls::CallName;
use super::graph_server::GraphServer;
use super::{McpRoute, PostedMessage, wrong_params};
use crate::protocol::accept::{accepts_events, accepts_json};
use crate::protocol::answer;
use crate::protocol::body::PostedBody;
use crate::protocol::label_headers::LabelHeaders;
use crate::protocol::problem::{ApiProblem, ForeignError};
use crate::protocol::status::{ProblemCode, code_of};
use dsrs_app::App;
use dsrs_store::run_label::RunLabels;

/// Names the messages of one client, so that a notification can name a call of another request.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) async fn answer_message(
    app: Arc<App>,
    route: McpRoute,
    message: PostedMessage,
) -> Result<Response, ApiProblem> {
    let PostedMessage { caller, headers, uri, body } = message;
    let PostedBody { bytes, document, permit: _permit } = body;
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
        other => code_of(other),
    };
    Err(ApiProblem::new(code, detail))
}
