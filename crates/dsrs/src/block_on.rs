//! Runs a future to its end, for programs that are not asynchronous themselves. Knows nothing of what
//! the future does.

use std::future::Future;

use tokio::runtime::{Builder, Handle};

/// What to do instead within a runtime.
const WITHIN: &str = "`dsrs::block_on` was called within a Tokio runtime, whose thread must not block: `.await` \
                      the call in an async function. A metric or a reward that calls an LM is a `dsrs::Judge`. \
                      In `spawn_blocking`, use `tokio::runtime::Handle::current().block_on(…)`";

/// Runs a future on a runtime of this thread and returns its output. This is enough for scripts, tests
/// and examples; a program with a Tokio runtime awaits its calls instead.
///
/// ```
/// assert_eq!(dsrs::block_on(async { 2 + 2 }), 4);
/// ```
///
/// # Panics
/// When the operating system gives no event queue, and when it is called within a runtime: in a module, a
/// metric or a reward, too. A metric or a reward that calls an LM is a [`Judge`](crate::Judge).
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    assert!(Handle::try_current().is_err(), "{WITHIN}");
    match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(future),
        #[allow(clippy::panic)]
        Err(error) => panic!("no runtime could be started: {error}"),
    }
}
