//! A small MCP server, made with the official SDK, to try the tools of MCP servers with and to test
//! them against: `cargo run --example mcp_server` speaks over its input and output,
//! `cargo run --example mcp_server http TOKEN` over HTTP at the address that it prints, to callers
//! with that bearer token.

use std::error::Error;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, stdio};
use rmcp::{RoleServer, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::json;

/// An office that knows about parcels.
#[derive(Clone)]
struct Office;

#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Parcel {
    /// its number, such as `P-7`
    number: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Distance {
    from_km: i64,
    to_km: i64,
}

#[tool_router]
impl Office {
    #[tool(description = "Where a parcel is.")]
    fn track(&self, Parameters(Parcel { number }): Parameters<Parcel>) -> CallToolResult {
        match number.strip_prefix("P-") {
            Some(_) => CallToolResult::structured(json!({"number": number, "town": "Turku"})),
            None => CallToolResult::error(vec![ContentBlock::text(format!(
                "`{number}` is no number of a parcel; they begin with P-"
            ))]),
        }
    }

    #[tool(description = "How far apart two places of the road are.")]
    fn distance(&self, Parameters(asked): Parameters<Distance>) -> String {
        format!("{} km", asked.to_km.abs_diff(asked.from_km))
    }

    #[tool(description = "The names of the variables that this server was started with.")]
    fn variables(&self) -> String {
        let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        names.sort();
        names.join(" ")
    }

    #[tool(description = "The span that calls it.")]
    fn span(&self, caller: RequestContext<RoleServer>) -> String {
        let span = caller.meta.0.0.get("traceparent").and_then(|span| span.as_str());
        span.unwrap_or("none").to_owned()
    }

    #[tool(description = "Never comes back.")]
    async fn wait(&self) -> String {
        std::future::pending().await
    }

    #[tool(description = "Closes the office for good.")]
    fn close(&self) -> String {
        std::process::exit(1)
    }
}

#[tool_handler]
impl ServerHandler for Office {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            Office.serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        ["http", token] => serve_http(token.to_owned()).await,
        _ => Err("expected no argument, or `http TOKEN`".into()),
    }
}

async fn serve_http(token: String) -> Result<(), Box<dyn Error>> {
    let config = StreamableHttpServerConfig::default();
    let service =
        StreamableHttpService::new(|| Ok(Office), Arc::new(LocalSessionManager::default()), config);
    let bearer = format!("Bearer {token}");
    let router = axum::Router::new()
        .nest_service("/mcp", service)
        .layer(from_fn(move |request, next| admit(bearer.clone(), request, next)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

async fn admit(bearer: String, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    match given.is_some_and(|given| given.as_bytes() == bearer.as_bytes()) {
        true => next.run(request).await,
        false => (StatusCode::UNAUTHORIZED, "who are you?").into_response(),
    }
}
