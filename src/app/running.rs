//! The runs at work: how many there may be, how they are waited for and stopped when the server
//! stops. Knows no graphs.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Counts and stops runs.
pub struct Running {
    room: Arc<Semaphore>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// One run at work; it counts until this is dropped.
pub struct RunTicket {
    /// Cancelled when the run is to stop.
    pub cancelled: CancellationToken,
    _room: OwnedSemaphorePermit,
    _tracked: TaskTrackerToken,
}

impl Running {
    /// Room for this many runs at once.
    #[must_use]
    pub fn new(most: u32) -> Self {
        let room = Arc::new(Semaphore::new(most as usize));
        Self { room, tracker: TaskTracker::new(), stop: CancellationToken::new() }
    }

    /// Takes a place, waiting for one in order; `None` when the server is stopping.
    pub async fn begin(&self) -> Option<RunTicket> {
        let room = self.room.clone().acquire_owned().await.ok()?;
        if self.tracker.is_closed() {
            return None;
        }
        let cancelled = self.stop.child_token();
        Some(RunTicket { cancelled, _room: room, _tracked: self.tracker.token() })
    }

    /// Takes no more runs; those at work go on.
    pub fn close(&self) {
        self.tracker.close();
        self.room.close();
    }

    /// Waits until no run is at work; call [`Self::close`] first.
    pub async fn idle(&self) {
        self.tracker.wait().await;
    }

    /// Stops every run at work.
    pub fn cancel(&self) {
        self.stop.cancel();
    }

    /// How many runs are at work.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tracker.len()
    }
}
