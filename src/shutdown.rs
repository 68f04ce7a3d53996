//! How the server stops: it first says that it is not ready, lets running work finish for a
//! while, then cancels it. Every room may hold a [`Shutdown`]; this file uses none of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long cancelled work gets to say so before nobody waits for it any more.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The server's way to its end, shared by all who take part. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(Arc<ShutdownState>);

#[derive(Debug, Default)]
struct ShutdownState {
    draining: CancellationToken,
    cancelled: CancellationToken,
    work: TaskTracker,
}

/// A piece of running work that the end of the server waits for, as long as this is held.
#[derive(Debug)]
pub struct WorkGuard {
    cancelled: CancellationToken,
    _token: TaskTrackerToken,
}

impl WorkGuard {
    /// Cancelled when the work's time is up; of this work alone, so that it may be cancelled too.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }
}

impl Shutdown {
    /// A server that is not stopping.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on SIGTERM and SIGINT begin the end; a second one cuts it short.
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

    /// Takes no more work; what runs goes on.
    pub fn begin(&self) {
        self.0.draining.cancel();
        self.0.work.close();
    }

    /// Takes no more work and cancels what runs.
    pub fn cancel(&self) {
        self.begin();
        self.0.cancelled.cancel();
    }

    /// Whether the end has begun: readiness is gone and new work is refused.
    pub fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// Waits until the end begins.
    pub async fn draining(&self) {
        self.0.draining.cancelled().await;
    }

    /// Notes that a piece of work begins; `None` once the end has.
    pub fn begin_work(&self) -> Option<WorkGuard> {
        // The token is taken before the look, so that no work slips in behind the drain.
        let token = self.0.work.token();
        let work = WorkGuard { cancelled: self.0.cancelled.child_token(), _token: token };
        (!self.is_draining()).then_some(work)
    }

    /// Waits until the end begins and all work is done; work that takes longer than `patience`
    /// is cancelled.
    pub async fn drained(&self, patience: Duration) {
        self.draining().await;
        let done = async {
            tokio::select! {
                () = self.0.work.wait() => {}
                () = self.0.cancelled.cancelled() => {}
            }
        };
        if timeout(patience, done).await.is_err() {
            tracing::warn!(running = self.0.work.len(), "work is cancelled: its time is up");
        }
        self.cancel();
        if timeout(LAST_WORDS, self.0.work.wait()).await.is_err() {
            tracing::warn!(running = self.0.work.len(), "cancelled work is left behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn work_that_runs_is_waited_for_and_new_work_is_refused() {
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
    async fn work_whose_time_is_up_is_cancelled() {
        let shutdown = Shutdown::new();
        let work = shutdown.begin_work().unwrap();
        let worker = tokio::spawn(async move { work.cancellation().cancelled().await });
        shutdown.begin();
        shutdown.drained(Duration::from_secs(30)).await;
        assert!(worker.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_ignores_its_end_holds_nobody_up_for_long() {
        let shutdown = Shutdown::new();
        let _work = shutdown.begin_work().unwrap();
        shutdown.begin();
        let started = tokio::time::Instant::now();
        shutdown.drained(Duration::from_secs(30)).await;
        assert_eq!(started.elapsed().as_secs(), 35);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_cuts_the_waiting_short() {
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
