//! Shutdown in two phases: the server reports that it is not ready and lets running work finish for a
//! while, then cancels it. Every room may use a [`Shutdown`]; this file uses no room.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long the server waits for cancelled work to end.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

/// The shutdown of one server, shared by its parts. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(Arc<ShutdownState>);

#[derive(Debug, Default)]
struct ShutdownState {
    draining: CancellationToken,
    cancelled: CancellationToken,
    work: TaskTracker,
}

/// A unit of running work. The shutdown waits until it is dropped.
#[derive(Debug)]
pub struct WorkGuard {
    cancelled: CancellationToken,
    _token: TaskTrackerToken,
}

impl WorkGuard {
    /// Cancelled when the shutdown cancels work. Cancelling it affects only this work.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }
}

impl Shutdown {
    /// A server that is not stopping.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes SIGTERM and SIGINT start the shutdown, and a second signal cancel all work.
    pub fn listen_for_signals(&self) -> io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let shutdown = self.clone();
        tokio::spawn(async move {
            for stage in [Self::begin as fn(&Self), Self::cancel] {
                let name = tokio::select! {
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                tracing::info!(signal = name, "stopping");
                stage(&shutdown);
            }
        });
        Ok(())
    }

    /// Refuses new work; running work continues.
    pub fn begin(&self) {
        self.0.draining.cancel();
        self.0.work.close();
    }

    /// Refuses new work and cancels running work.
    pub fn cancel(&self) {
        self.begin();
        self.0.cancelled.cancel();
    }

    /// Whether the shutdown has started: the server is not ready and refuses new work.
    pub fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// Waits until the shutdown starts.
    pub async fn draining(&self) {
        self.0.draining.cancelled().await;
    }

    /// Registers a unit of work; `None` once the shutdown has started.
    pub fn begin_work(&self) -> Option<WorkGuard> {
        // The token comes first, so that the shutdown cannot miss work that starts concurrently.
        let token = self.0.work.token();
        let work = WorkGuard { cancelled: self.0.cancelled.child_token(), _token: token };
        (!self.is_draining()).then_some(work)
    }

    /// Waits until the shutdown starts and all work is done. Work that takes longer than `patience` is
    /// cancelled.
    pub async fn drained(&self, patience: Duration) {
        self.draining().await;
        let done = async {
            tokio::select! {
                () = self.0.work.wait() => {}
                () = self.0.cancelled.cancelled() => {}
            }
        };
        if timeout(patience, done).await.is_err() {
            tracing::warn!(
                running = self.0.work.len(),
                "the shutdown timeout is over: cancelling running work"
            );
        }
        self.cancel();
        if timeout(CANCEL_PATIENCE, self.0.work.wait()).await.is_err() {
            tracing::warn!(
                running = self.0.work.len(),
                "cancelled work has not ended; stopping without it"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_shutdown_waits_for_running_work_and_refuses_new_work() {
        let shutdown = Shutdown::new();
        let work = shutdown.begin_work().unwrap();
        shutdown.begin();
        assert!(shutdown.is_draining() && shutdown.begin_work().is_none());
        let waiting = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.drained(LONG).await }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished() && !work.cancellation().is_cancelled());
        drop(work);
        waiting.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_cancelled_after_the_timeout() {
        let shutdown = Shutdown::new();
        let work = shutdown.begin_work().unwrap();
        let worker = tokio::spawn(async move { work.cancellation().cancelled().await });
        shutdown.begin();
        shutdown.drained(Duration::from_secs(30)).await;
        assert!(worker.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_ignores_its_cancellation_delays_a_shutdown_briefly() {
        let shutdown = Shutdown::new();
        let _work = shutdown.begin_work().unwrap();
        shutdown.begin();
        let started = tokio::time::Instant::now();
        shutdown.drained(Duration::from_secs(30)).await;
        assert_eq!(started.elapsed().as_secs(), 35);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_cancels_work_at_once() {
        let shutdown = Shutdown::new();
        let work = shutdown.begin_work().unwrap();
        let worker = tokio::spawn(async move { work.cancellation().cancelled().await });
        shutdown.begin();
        shutdown.cancel();
        let started = tokio::time::Instant::now();
        shutdown.drained(LONG).await;
        assert!(worker.is_finished() && started.elapsed() < Duration::from_secs(1));
    }
}
