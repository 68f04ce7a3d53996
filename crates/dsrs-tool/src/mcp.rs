//! The MCP servers of the settings. Each is connected in the background and reconnected when the
//! connection is lost; its tools are listed periodically, so that a definition does not wait for
//! them. Calls wait for a connection; a waiting call speeds up the next attempt.

mod connect;
mod handshake;
mod listing;
mod result;
mod schema;
mod tool;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dsrs::predict::Tool;
use futures_util::future::join_all;
use indexmap::IndexMap;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, MetaObject,
    RequestMetaObject,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use connect::McpConnection;
use dsrs_config::{McpConfig, McpTransport};
use handshake::connect;
use tool::McpTool;

/// How long a server may take to start and to list its tools: some install themselves first.
const START: Duration = Duration::from_secs(300);

/// How long a server that has started may take to list its tools again.
const LIST: Duration = Duration::from_secs(60);

/// How often tools are listed again.
const REFRESH: Duration = Duration::from_secs(60);

/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// All servers.
pub(super) struct McpServers {
    servers: IndexMap<String, Arc<McpServer>>,
    changes: Arc<AtomicU64>,
}

impl McpServers {
    /// The servers of the settings. Connects to nothing yet.
    pub(super) fn new(settings: &IndexMap<String, McpConfig>) -> Self {
        let changes = Arc::new(AtomicU64::new(0));
        let server = |(name, config): (&String, &McpConfig)| {
            let server = McpServer {
                name: name.clone(),
                config: config.clone(),
                state: watch::Sender::new(ServerState::Pending),
                stale: Arc::new(Notify::new()),
                wanted: Notify::new(),
                changes: changes.clone(),
            };
            (name.clone(), Arc::new(server))
        };
        Self { servers: settings.iter().map(server).collect(), changes }
    }

    /// Connects, and stays connected as long as it is polled.
    pub(super) async fn maintain(&self) {
        join_all(self.servers.values().map(|server| server.maintain())).await;
    }

    /// Waits until every server was tried once, at most for this time.
    pub(super) async fn attempted(&self, most: Duration) {
        let all = async {
            for server in self.servers.values() {
                let mut state = server.state.subscribe();
                let attempted = state.wait_for(|state| !matches!(state, ServerState::Pending));
                // It fails if the service ends: then there is nothing to wait for.
                let _ = attempted.await;
            }
        };
        let _ = timeout(most, all).await;
    }

    /// A count that grows when any tool appears, changes or disappears.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The tools of a server, as it last listed them.
    pub(super) fn tools(&self, name: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        let Some(server) = self.servers.get(name) else {
            let known: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            let known = match known.is_empty() {
                true => "the server has no MCP servers configured".to_owned(),
                false => format!("configured are {}", known.join(", ")),
            };
            return Err(format!("there is no MCP server `{}`; {known}", name.escape_debug()));
        };
        match &*server.state.borrow() {
            ServerState::Up { tools, .. } | ServerState::Lost { tools } => {
                Ok(tools.iter().map(|tool| tool.clone() as Arc<dyn Tool>).collect())
            }
            ServerState::Pending => Err(server.pending()),
            ServerState::Down { reason } => Err(server.unreachable(reason)),
        }
    }
}

pub(super) struct McpServer {
    name: String,
    config: McpConfig,
    state: watch::Sender<ServerState>,
    /// Notified when its list of tools may be outdated.
    stale: Arc<Notify>,
    /// Notified when a call waits for a connection.
    wanted: Notify,
    changes: Arc<AtomicU64>,
}

type Tools = Arc<[Arc<McpTool>]>;

enum ServerState {
    /// No attempt has finished yet.
    Pending,
    /// Ready for calls.
    Up { peer: Peer<RoleClient>, tools: Tools },
    /// The connection ended; a new one is being made.
    Lost { tools: Tools },
    /// The last attempt failed.
    Down { reason: String },
}

impl ServerState {
    fn tools(&self) -> Option<&Tools> {
        match self {
            Self::Up { tools, .. } | Self::Lost { tools } => Some(tools),
            Self::Pending | Self::Down { .. } => None,
        }
    }
}

/// Why a call has no result, each with a sentence for the LM.
pub(super) enum CallFailure {
    /// There is no connection: the server has not received the call.
    NotSent(String),
    /// The server may have received the call.
    Unanswered(String),
    /// The server has refused the call.
    Refused(String),
}

impl McpServer {
    /// Calls a tool by the server's name for it; an error has a sentence for the LM.
    pub(super) async fn call(
        &self,
        tool: &str,
        args: JsonObject,
        trace: Vec<(&'static str, String)>,
    ) -> Result<CallToolResult, CallFailure> {
        let limit = self.config.timeout;
        let called = timeout(limit, async {
            let peer = self.peer().await.map_err(CallFailure::NotSent)?;
            let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
            // Where the conventions expect the place in a trace.
            if !trace.is_empty() {
                let members = trace.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
                params.meta = Some(RequestMetaObject(MetaObject(members.collect())));
            }
            let answer = peer.call_tool_once(params).await;
            answer.map_err(|error| self.failed(&error))
        });
        match called.await {
            Ok(Ok(CallToolResponse::Complete(result))) => Ok(result),
            Ok(Ok(_)) => Err(CallFailure::Refused(format!(
                "the MCP server `{}` asks for input beyond the arguments of `{tool}`, which is not supported",
                self.name
            ))),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(CallFailure::Unanswered(format!(
                "the MCP server `{}` did not respond within {} ms (its timeout_ms)",
                self.name,
                limit.as_millis()
            ))),
        }
    }

    /// The connection, once there is one; fails if an attempt that began after this call fails.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut state = self.state.subscribe();
        let mut hurried = false;
        loop {
            match &*state.borrow_and_update() {
                ServerState::Up { peer, .. } if !peer.is_transport_closed() => {
                    return Ok(peer.clone());
                }
                ServerState::Down { reason } if hurried => return Err(self.unreachable(reason)),
                _ => {}
            }
            hurried = true;
            self.wanted.notify_one();
            let closed = |_| self.unreachable("the service ends");
            state.changed().await.map_err(closed)?;
        }
    }

    fn failed(&self, error: &ServiceError) -> CallFailure {
        match error {
            ServiceError::McpError(refusal) => CallFailure::Refused(format!(
                "the MCP server `{}` refused the call: {}",
                self.name, refusal.message
            )),
            other => {
                // Listing its tools shows whether the server still exists.
                self.stale.notify_one();
                let reason = self.without_url(other.to_string());
                let name = &self.name;
                CallFailure::Unanswered(format!(
                    "the MCP server `{name}` did not respond: {reason}"
                ))
            }
        }
    }

    /// What stands before the names of its tools.
    pub(super) fn prefix(&self) -> &str {
        &self.config.prefix
    }

    fn pending(&self) -> String {
        format!(
            "the tools of the MCP server `{}` are pending: it is still starting; try again when it is connected",
            self.name
        )
    }

    fn unreachable(&self, reason: &str) -> String {
        format!("the MCP server `{}` cannot be reached: {reason}", self.name)
    }

    /// A reason without the address, which may contain a key.
    fn without_url(&self, reason: String) -> String {
        match &self.config.transport {
            McpTransport::Http { url, .. } => reason.replace(url.as_str(), "its url"),
            McpTransport::Child { .. } => reason,
        }
    }

    async fn maintain(self: &Arc<Self>) {
        let mut pause = PAUSES.0;
        loop {
            let began = Instant::now();
            match self.connect().await {
                Ok((running, tools)) => {
                    tracing::info!(server = self.name, tools = tools.len(), "MCP server connected");
                    self.stay(running, tools).await;
                    tracing::warn!(server = self.name, "MCP server lost");
                }
                Err(reason) => {
                    tracing::warn!(server = self.name, reason, "MCP server not reachable");
                    self.enter(ServerState::Down { reason });
                }
            }
            // A server that ends right after its start is not restarted in a tight loop.
            if began.elapsed() > PAUSES.1 {
                pause = PAUSES.0;
                continue;
            }
            tokio::select! {
                () = sleep(pause) => pause = PAUSES.1.min(pause * 2),
                () = self.wanted.notified() => {}
            }
        }
    }

    fn enter(&self, state: ServerState) {
        let listed = |tools: Option<&Tools>| tools.map(|tools| tools.to_vec());
        let before = listed(self.state.borrow().tools());
        let after = listed(state.tools());
        self.state.send_replace(state);
        let same = match (before, after) {
            (Some(before), Some(after)) => before
                .iter()
                .map(|tool| tool.description())
                .eq(after.iter().map(|tool| tool.description())),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<(McpConnection, Tools), String> {
        let connecting = async {
            let running = connect(&self.config.transport, &self.stale).await;
            let running = running.map_err(|reason| self.without_url(reason))?;
            let tools = self.list(&running).await?;
            Ok((running, tools))
        };
        let connected = timeout(START, connecting).await;
        connected.unwrap_or_else(|_| Err(format!("no answer within {} s", START.as_secs())))
    }

    /// Waits until the connection ends.
    async fn stay(self: &Arc<Self>, running: McpConnection, mut tools: Tools) {
        let peer = running.peer().clone();
        let mut ended = pin!(running.waiting());
        loop {
            self.enter(ServerState::Up { peer: peer.clone(), tools: tools.clone() });
            tokio::select! {
                _ = &mut ended => break,
                () = sleep(REFRESH) => {}
                () = self.stale.notified() => {}
            }
            match timeout(LIST, self.list(&peer)).await {
                Ok(Ok(listed)) => tools = listed,
                _ => break,
            }
        }
        self.enter(ServerState::Lost { tools });
    }

    async fn list(self: &Arc<Self>, peer: &Peer<RoleClient>) -> Result<Tools, String> {
        let tools = listing::all_tools(peer, &self.name).await;
        let tools = tools.map_err(|error| self.without_url(format!("its tools: {error}")))?;
        Ok(tools.iter().filter_map(|tool| McpTool::new(tool, self.clone())).map(Arc::new).collect())
    }
}
