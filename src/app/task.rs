//! The one place that spawns tasks: each has a name, and one that panics is told of in the log.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Runs a future as a task of its own; `None` when it panicked, which is logged.
pub(crate) fn spawn_named<T: Send + 'static>(
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    tokio::spawn(watched(name, future))
}

/// The same on another runtime than the caller's.
pub(crate) fn spawn_named_on<T: Send + 'static>(
    runtime: &Handle,
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    runtime.spawn(watched(name, future))
}

/// Runs what waits for files or computes for long on a thread of its own; `None` when it panicked,
/// which the runtime tells of.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

async fn watched<T>(name: &'static str, future: impl Future<Output = T>) -> Option<T> {
    let done = AssertUnwindSafe(future).catch_unwind().await;
    if done.is_err() {
        tracing::error!(name, "a task panicked");
    }
    done.ok()
}
