//! The listener for monitoring alone: the only one of a worker, and of a server one that its callers need not reach.
//! Knows no routes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connections::{self, ConnectionLimits};
use super::threads::Threads;
use super::{ServeError, listen};
use dsrs_app::{App, spawn_named};
use dsrs_config::Config;

/// Enough for collectors of metrics and for probes; a slow peer is disconnected.
const LIMITS: ConnectionLimits = ConnectionLimits {
    count: 64,
    head_time: Duration::from_secs(10),
    write_time: Duration::from_secs(10),
};

/// A listener for monitoring that does not answer yet.
pub(super) struct MonitorListener {
    listener: TcpListener,
    address: SocketAddr,
}

/// Answers until it is dropped.
pub(super) struct Monitor {
    _stop: DropGuard,
}

impl MonitorListener {
    /// Listens on `monitor_bind`, if it is set.
    pub(super) async fn open(bind: Option<SocketAddr>) -> Result<Option<Self>, ServeError> {
        let Some(bind) = bind else { return Ok(None) };
        let listener = listen(bind, "--monitor-bind").await?;
        let address = listener.local_addr()?;
        Ok(Some(Self { listener, address }))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers, on a thread of its own.
    pub(super) fn serve(self, app: &Arc<App>, config: &Config) -> io::Result<Monitor> {
        let stop = CancellationToken::new();
        let threads = Threads::one()?;
        let (router, stopped) =
            (dsrs_http::monitor_router(app.clone(), self.address, config), stop.clone());
        spawn_named("monitoring", async move {
            connections::serve(self.listener, router, &threads, LIMITS, stopped).await;
        });
        Ok(Monitor { _stop: stop.drop_guard() })
    }
}
