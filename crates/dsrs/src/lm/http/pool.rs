//! The connections to one address: how many are open, and which of them are idle. Closes connections that
//! stay idle. Opens none, and knows no requests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::HttpLimits;

/// The longest timeout of idle connections. Longer ones could exceed the range of the clock.
const LONGEST_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// The connections to one address.
pub(super) struct Pool {
    /// The most open connections.
    limit: usize,
    idle_timeout: Duration,
    /// One for each connection in use.
    permits: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// Those that were used last are at the end.
    connections: Vec<IdleConnection>,
    /// Runs while there are connections.
    reaper: Option<JoinHandle<()>>,
}

struct IdleConnection {
    stream: TcpStream,
    /// A connection wakes its user through the runtime that opened it, so it stays there.
    runtime: runtime::Id,
    since: Instant,
}

/// The right to one open connection.
pub(super) struct ConnectionPermit(OwnedSemaphorePermit);

/// A connection in use. Dropping it closes the connection and then frees its place.
pub(super) struct PooledStream {
    pub(super) stream: TcpStream,
    pub(super) permit: ConnectionPermit,
}

impl Pool {
    /// A pool without connections.
    pub(super) fn new(limits: &HttpLimits) -> Arc<Self> {
        let limit = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            limit,
            idle_timeout: limits.idle_timeout.min(LONGEST_IDLE),
            permits: Arc::new(Semaphore::new(limit)),
            idle: Mutex::default(),
        })
    }

    /// Waits until a connection may be used. `None` if the pool is closed, which it never is.
    pub(super) async fn permit(&self) -> Option<ConnectionPermit> {
        self.permits.clone().acquire_owned().await.ok().map(ConnectionPermit)
    }

    /// The usable connection of this runtime that was used last. If there is none, a new one may be opened; for
    /// it, the connection that was idle longest is closed if too many are open.
    pub(super) fn take(&self, runtime: runtime::Id) -> Option<TcpStream> {
        let mut idle = self.idle();
        let connections = &mut idle.connections;
        connections.drain(..self.expired(connections));
        while let Some(own) = connections.iter().rposition(|idle| idle.runtime == runtime) {
            let stream = connections.remove(own).stream;
            if is_silent(&stream) {
                return Some(stream);
            }
        }
        let used = self.limit - self.permits.available_permits().min(self.limit);
        let surplus = (used + connections.len()).saturating_sub(self.limit);
        connections.drain(..surplus.min(connections.len()));
        None
    }

    /// Closes the idle connections of a runtime. One of them was lost when it was used, and the others have not been used for
    /// longer: what forgot it, such as a load balancer, has forgotten them, too.
    pub(super) fn forget(&self, runtime: runtime::Id) {
        self.idle().connections.retain(|idle| idle.runtime != runtime);
    }

    /// Stores a connection for the next request.
    pub(super) fn store(self: &Arc<Self>, runtime: &runtime::Handle, pooled: PooledStream) {
        let PooledStream { stream, permit } = pooled;
        let (id, since) = (runtime.id(), Instant::now());
        let mut idle = self.idle();
        idle.connections.push(IdleConnection { stream, runtime: id, since });
        // While the lock is held, so that the connection always counts.
        drop(permit.0);
        if idle.reaper.as_ref().is_none_or(JoinHandle::is_finished) {
            let reaper = reap(Arc::downgrade(self), since + self.idle_timeout);
            idle.reaper = Some(runtime.spawn(reaper));
        }
    }

    /// Closes connections that have been idle for too long. Returns when the next one will have been.
    fn close_expired(&self) -> Option<Instant> {
        let mut idle = self.idle();
        let expired = self.expired(&idle.connections);
        idle.connections.drain(..expired);
        let next = idle.connections.first().map(|idle| idle.since + self.idle_timeout);
        if next.is_none() {
            idle.reaper = None;
        }
        next
    }

    fn expired(&self, connections: &[IdleConnection]) -> usize {
        let now = Instant::now();
        connections.partition_point(|idle| idle.since + self.idle_timeout <= now)
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server has left the connection open and sent nothing unasked.
fn is_silent(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

async fn reap(pool: Weak<Pool>, first: Instant) {
    let mut next = Some(first);
    while let Some(time) = next {
        sleep_until(time).await;
        next = pool.upgrade().and_then(|pool| pool.close_expired());
    }
}
