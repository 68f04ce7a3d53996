//! How tests wait: for an event, with one bound for all of them. The bound only ends a test whose event never occurs;
//! no promise may depend on it.

use std::time::{Duration, Instant};

/// Longer than anything takes on a machine that compiles beside the tests.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// How long it takes to notice an event that nothing announces.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The result of something that ends by itself.
#[track_caller]
pub fn within<T>(what: &str, event: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(PATIENCE, event).await {
            Ok(result) => result,
            Err(_) => panic!("{place}: waited too long for {what}"),
        }
    }
}

/// Looks until it finds something.
#[track_caller]
pub fn found<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    within(what, async move {
        loop {
            match poll().await {
                Some(found) => return found,
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    })
}

/// Looks until a condition holds.
#[track_caller]
pub fn holds(what: &str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    found(what, async move || condition().then_some(()))
}

/// Looks until it finds something, in a test without a runtime.
#[track_caller]
pub fn found_blocking<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
