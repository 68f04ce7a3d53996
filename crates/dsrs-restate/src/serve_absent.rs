//! The listener of a server that was built without the feature `restate`: it does not open.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use super::{ServiceNames, Worker};
use dsrs_config::EngineKey;
use dsrs_shutdown::Shutdown;

/// Refuses to listen.
pub fn listen(_: SocketAddr) -> io::Result<TcpListener> {
    Err(io::Error::other("this server was built without the feature `restate`"))
}

/// Where the engine finds this worker, which has no listener.
pub struct NoEngineEndpoint {
    /// What makes the attempts.
    pub worker: Arc<dyn Worker>,
    pub names: ServiceNames,
    /// The key that signs the requests.
    pub key: Option<EngineKey>,
    /// Whether the server stops.
    pub shutdown: Shutdown,
}

impl NoEngineEndpoint {
    /// Serves nobody.
    pub async fn serve(self, _: TcpListener) {}
}
