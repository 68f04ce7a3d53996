//! One connection to an MCP server: a child process or streamable HTTP. Decides neither which handshake it begins with nor
//! when to reconnect.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use indexmap::IndexMap;
use reqwest::redirect;
use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use tokio::process::Command;
use tokio::sync::Notify;
use url::Url;

use dsrs_config::{McpTransport, SecretText};

/// An open connection.
pub(super) type McpConnection = RunningService<RoleClient, McpListener>;

/// Receives notifications of a server.
pub(super) struct McpListener {
    stale: Arc<Notify>,
}

impl ClientHandler for McpListener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("dsrs-server", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(ClientCapabilities::default(), us);
        // The newest one that `initialize` may name; discovery names its own.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }
}

/// Connects with one handshake.
///
/// # Errors
/// The reason. It may contain the address.
pub(super) async fn open(
    transport: &McpTransport,
    stale: &Arc<Notify>,
    lifecycle: ClientLifecycleMode,
) -> Result<McpConnection, String> {
    let listener = McpListener { stale: stale.clone() };
    let begun = match transport {
        McpTransport::Child { program, arguments, env } => {
            let child = child(program, arguments, env)?;
            serve_client_with_lifecycle(listener, child, lifecycle).await
        }
        McpTransport::Http { url, headers } => {
            let http = http(url, headers)?;
            serve_client_with_lifecycle(listener, http, lifecycle).await
        }
    };
    begun.map_err(|error| error.to_string())
}

fn child(
    program: &str,
    arguments: &[String],
    env: &IndexMap<String, SecretText>,
) -> Result<TokioChildProcess, String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(env.iter().map(|(name, text)| (name, text.expose())));
    // Out of reach of Ctrl-C in the server's terminal: active runs may still need it.
    command.kill_on_drop(true).process_group(0);
    TokioChildProcess::new(command)
        .map_err(|error| format!("`{program}` cannot be started: {error}"))
}

fn http(
    url: &Url,
    headers: &IndexMap<String, SecretText>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let client = reqwest::Client::builder()
        // A small compressed answer may be a huge text.
        .no_gzip()
        .tls_backend_preconfigured(dsrs::lm::tls()?)
        .no_proxy()
        // A redirect would forward the headers.
        .redirect(redirect::Policy::none())
        // As in the SDK's own client: a pooled connection may stall behind an unread stream.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| error.to_string())?;
    let headers = headers.iter().map(|(name, text)| header(name, text));
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers.collect::<Result<HashMap<_, _>, _>>()?);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn header(name: &str, text: &SecretText) -> Result<(HeaderName, HeaderValue), String> {
    let unfit =
        || format!("header `{name}` cannot be sent: its name or its text is not valid in a header");
    let mut value = HeaderValue::from_str(text.expose()).map_err(|_| unfit())?;
    value.set_sensitive(true);
    Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?, value))
}
