//! The only place that spawns tasks: each has a name, and the log reports one that panics.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Runs a future as a task; `None` if it panicked, which is logged.
pub fn spawn_named<T: Send + 'static>(
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    tokio::spawn(log_panic(name, future))
}

/// The same on another runtime.
pub fn spawn_named_on<T: Send + 'static>(
    runtime: &Handle,
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Option<T>> {
    runtime.spawn(log_panic(name, future))
}

/// Runs code that waits for files or computes for long on a blocking thread; `None` if it panicked,
/// which is printed to stderr.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

async fn log_panic<T>(name: &'static str, future: impl Future<Output = T>) -> Option<T> {
    let done = AssertUnwindSafe(future).catch_unwind().await;
    if done.is_err() {
        tracing::error!(name, "a task panicked");
    }
    done.ok()
}
