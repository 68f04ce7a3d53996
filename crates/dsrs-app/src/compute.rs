//! The threads for what callers make the server compute. All else (health checks, leases, records,
//! signals, connections) is on other threads, which no computation of a caller occupies. May not know
//! what is computed.

use std::future::Future;
use std::io;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use dsrs::time_limit::TimeLimit;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::task::{run_blocking, spawn_named_on};

/// Computations outside of futures, at a time.
static BLOCKING: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(processors())));

/// One thread for each processor, which the system shares with all other threads. Cheap to clone.
/// Dropping the last one does not wait for computations.
#[derive(Clone)]
pub struct ComputePool {
    threads: Arc<ComputeThreads>,
    /// The runtime of timers, connections and everything that is not computed.
    service: Handle,
}

struct ComputeThreads {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl ComputePool {
    /// Starts the threads beside the current runtime.
    pub fn start() -> io::Result<Self> {
        // No timers and no connections: nothing waits for a thread that computes.
        let threads = Builder::new_multi_thread()
            .worker_threads(processors())
            .thread_name("compute")
            .build()?;
        let handle = threads.handle().clone();
        let threads = Arc::new(ComputeThreads { runtime: Some(threads), handle });
        Ok(Self { threads, service: Handle::current() })
    }

    /// The runtime of everything that is not computed.
    pub fn service(&self) -> &Handle {
        &self.service
    }

    /// Runs a future on these threads; `None` if it panicked, which is logged. Its timers and
    /// connections, and the tasks that it spawns, are on the other runtime.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        name: &'static str,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let service = self.service.clone();
        let future = Computing { service, future: Some(Box::pin(future)) };
        spawn_named_on(&self.threads.handle, name, future)
    }

    /// The same, with a limit for its computations: they end after that time, and when `cancelled`.
    pub fn spawn_within<T: Send + 'static>(
        &self,
        name: &'static str,
        time: Duration,
        cancelled: &CancellationToken,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let limit = TimeLimit::new(Instant::now() + time, cancelled);
        self.spawn(name, limit.within(Box::pin(future)))
    }
}

impl Drop for ComputeThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Computes on a blocking thread, as one of a bounded number; `None` if it panicked, which is printed
/// to stderr. The computation ends after `time`, and when the caller stops waiting.
pub async fn compute_blocking<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let turn = BLOCKING.clone().acquire_owned().await.ok()?;
    let cancelled = CancellationToken::new();
    let limit = TimeLimit::new(Instant::now() + time, &cancelled);
    let _cancelled = cancelled.drop_guard();
    let work = move || {
        // The thread computes on for a moment after the caller has left.
        let _turn = turn;
        limit.apply(work)
    };
    run_blocking(work).await
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// A future whose timers, connections and tasks are on the runtime of the service.
struct Computing<F> {
    service: Handle,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Computing<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { service, future } = &mut *self;
        let _entered = service.enter();
        match future {
            Some(future) => future.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl<F> Drop for Computing<F> {
    fn drop(&mut self) {
        let _entered = self.service.enter();
        self.future = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn computations_occupy_their_own_threads_only() {
        let pool = ComputePool::start().unwrap();
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = std::sync::Arc::new(std::sync::Mutex::new(blocked));
        let busy: Vec<_> = (0..2 * processors())
            .map(|_| {
                let blocked = blocked.clone();
                pool.spawn("a computation", async move { blocked.lock().unwrap().recv().is_err() })
            })
            .collect();
        let beside = spawn_named_on(pool.service(), "beside", async { 1 });
        assert_eq!(beside.await.unwrap(), Some(1));
        drop(release);
        for computation in busy {
            computation.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_future_on_these_threads_has_timers_and_spawns_tasks_beside_them() {
        let pool = ComputePool::start().unwrap();
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let found = pool.spawn("a computation", async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let beside = crate::spawn_named("a task", async move { name() });
            (name(), beside.await.unwrap().unwrap())
        });
        let (own, beside) = found.await.unwrap().unwrap();
        assert_eq!(own, "compute");
        assert_ne!(beside, "compute");
    }

    #[tokio::test]
    async fn a_computation_ends_with_its_caller_and_at_its_limit() {
        let pool = ComputePool::start().unwrap();
        let cancelled = CancellationToken::new();
        let endless = || async {
            while !TimeLimit::is_over() {
                thread::yield_now();
            }
        };
        let hour = Duration::from_secs(3600);
        let running = pool.spawn_within("a computation", hour, &cancelled, endless());
        cancelled.cancel();
        running.await.unwrap();
        let open = CancellationToken::new();
        pool.spawn_within("a computation", Duration::ZERO, &open, endless()).await.unwrap();
        assert_eq!(compute_blocking(Duration::ZERO, TimeLimit::is_over).await, Some(true));
    }
}
