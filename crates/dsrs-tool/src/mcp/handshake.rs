//! Which handshake a connection to an MCP server begins with: that of the newest protocol, or the older one for servers that
//! refuse or ignore it. Knows no transport.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::connect::{McpConnection, open};
use dsrs_config::McpTransport;

/// When a second connection begins with the older protocol, and for how long the first one may still be the better one.
#[derive(Clone, Copy)]
struct Silence {
    /// How long a server may be silent before the second connection. An old server ignores what it does not know.
    longest: Duration,
    /// How many times as long as the second handshake took the first one has after it.
    grace: u32,
}

/// A server that starts in less than this answers before a second one is started.
const SILENCE: Silence = Silence { longest: Duration::from_secs(10), grace: 1 };

/// Connects; `stale` is notified when the server reports that its tools changed.
///
/// # Errors
/// The reason. It may contain the address.
pub(super) async fn connect(
    transport: &McpTransport,
    stale: &Arc<Notify>,
) -> Result<McpConnection, String> {
    connect_within(transport, stale, SILENCE).await
}

/// Each handshake has a connection of its own: a process that is slow to start would read both from its input. A silent
/// server keeps the first connection, so that its revision does not depend on how long it takes to start.
async fn connect_within(
    transport: &McpTransport,
    stale: &Arc<Notify>,
    silence: Silence,
) -> Result<McpConnection, String> {
    let newest =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
    let mut newest = pin!(open(transport, stale, newest));
    let older = open(transport, stale, ClientLifecycleMode::Initialize);
    match timeout(silence.longest, &mut newest).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(_)) => older.await,
        Err(_) => first_of(newest, older, silence).await,
    }
}

/// What answers first; the newest protocol even if it is later by a little: its connection is then one that started more
/// slowly, and not one of an old server.
async fn first_of(
    mut newest: Pin<&mut impl Future<Output = Result<McpConnection, String>>>,
    older: impl Future<Output = Result<McpConnection, String>>,
    silence: Silence,
) -> Result<McpConnection, String> {
    let begun = Instant::now();
    let mut older = pin!(older);
    let answered = tokio::select! {
        biased;
        answered = &mut newest => return match answered {
            Ok(connection) => Ok(connection),
            Err(_) => older.await,
        },
        answered = &mut older => answered,
    };
    match answered {
        Ok(older) => match timeout(begun.elapsed() * silence.grace, newest).await {
            Ok(Ok(newest)) => Ok(newest),
            _ => Ok(older),
        },
        Err(_) => newest.await,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;
    use tokio::time::sleep;

    use super::*;
    use dsrs_config::{Config, Environment, Flags};

    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/gated_server.py");

    /// Longer than anything takes.
    const PATIENCE: Duration = Duration::from_secs(300);

    /// A server whose processes wait for their gates: `1` with the newest handshake, `2` with the older one.
    struct GatedServer {
        directory: TempDir,
        transport: McpTransport,
    }

    impl GatedServer {
        /// `methods`: what it answers besides `tools/list`.
        fn new(methods: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let place = directory.path().display();
            let file = directory.path().join("dsrs.toml");
            let command = format!("['python3', '{SERVER}', '{place}', '{methods}']");
            std::fs::write(&file, format!("[mcp.gated]\ncommand = {command}")).unwrap();
            let flags = Flags { config: Some(file), ..Flags::default() };
            let env = Environment::from_iter([("PATH", std::env::var("PATH").unwrap())]);
            let config = Config::load(&flags, &env).unwrap_or_else(|error| panic!("{error}"));
            let transport = config.tools.mcp["gated"].transport.clone();
            Self { directory, transport }
        }

        /// Lets a process continue.
        fn open(&self, process: &str) {
            std::fs::write(self.file(process, "gate"), "").unwrap();
        }

        /// Waits until a process has read a message.
        async fn has_read(&self, process: &str, method: &str) {
            let log = self.file(process, "log");
            let read = async {
                let has = |text: String| text.lines().any(|line| line == method);
                while !std::fs::read_to_string(&log).is_ok_and(has) {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            timeout(PATIENCE, read).await.unwrap();
        }

        fn file(&self, process: &str, kind: &str) -> PathBuf {
            self.directory.path().join(format!("{process}.{kind}"))
        }

        /// The revision that a connection agrees on.
        async fn revision(&self, silence: Silence) -> String {
            let stale = Arc::default();
            let connected = connect_within(&self.transport, &stale, silence);
            let connection = timeout(PATIENCE, connected).await.unwrap().unwrap();
            connection.peer_info().unwrap().protocol_version.to_string()
        }
    }

    const SHORT: Silence = Silence { longest: Duration::from_millis(1), grace: 1 };

    #[tokio::test]
    async fn a_server_that_is_slow_to_start_speaks_the_newest_revision() {
        let server = GatedServer::new("server/discover,initialize");
        let opening = async {
            // The second process exists: the first one has been silent for too long.
            server.has_read("2", "started").await;
            server.open("1");
        };
        let (revision, ()) = tokio::join!(server.revision(SHORT), opening);
        assert_eq!(revision, "2026-07-28");
    }

    #[tokio::test]
    async fn a_first_process_that_starts_more_slowly_than_the_second_still_counts() {
        let server = GatedServer::new("server/discover,initialize");
        let opening = async {
            server.has_read("2", "started").await;
            server.open("2");
            server.has_read("2", "notifications/initialized").await;
            server.open("1");
        };
        let patient = Silence { grace: 1_000_000, ..SHORT };
        let (revision, ()) = tokio::join!(server.revision(patient), opening);
        assert_eq!(revision, "2026-07-28");
    }

    #[tokio::test]
    async fn an_old_server_that_ignores_the_newest_handshake_connects() {
        let server = GatedServer::new("initialize");
        server.open("1");
        server.open("2");
        assert_eq!(server.revision(SHORT).await, "2025-11-25");
    }

    #[tokio::test]
    async fn an_old_server_that_refuses_the_newest_handshake_connects_at_once() {
        let server = GatedServer::new("initialize,refuse");
        server.open("1");
        server.open("2");
        let never = Silence { longest: PATIENCE, grace: 1 };
        assert_eq!(server.revision(never).await, "2025-11-25");
        // No process has read two handshakes.
        let read = |process| std::fs::read_to_string(server.file(process, "log")).unwrap();
        assert!(!read("1").contains("initialize") && !read("2").contains("discover"));
    }
}
