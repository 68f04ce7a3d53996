//! The time limit of a computation. A future sets it for its thread whenever it is polled; what
//! computes for long without waiting asks whether it is over. Knows nothing of what is computed.

use std::cell::RefCell;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use tokio::time::Instant;
pub use tokio_util::sync::CancellationToken;

thread_local! {
    /// The limit of what this thread computes.
    static CURRENT: RefCell<Option<TimeLimit>> = const { RefCell::new(None) };
}

/// When a computation has to end: at its deadline, or when it is cancelled.
///
/// ```
/// use std::time::Duration;
/// use dsrs::time_limit::{CancellationToken, Instant, TimeLimit};
/// let cancelled = CancellationToken::new();
/// let limit = TimeLimit::new(Instant::now() + Duration::from_secs(60), &cancelled);
/// assert!(!TimeLimit::is_over());
/// limit.apply(|| {
///     assert!(!TimeLimit::is_over());
///     cancelled.cancel();
///     assert!(TimeLimit::is_over());
/// });
/// assert!(!TimeLimit::is_over());
/// ```
#[derive(Clone, Debug)]
pub struct TimeLimit {
    deadline: Instant,
    cancelled: CancellationToken,
}

impl TimeLimit {
    /// The error text of a computation that is over its limit.
    pub(crate) const OVER: &str = "the time limit is over";

    /// A limit.
    #[must_use]
    pub fn new(deadline: Instant, cancelled: &CancellationToken) -> Self {
        Self { deadline, cancelled: cancelled.clone() }
    }

    /// Whether the computation of this thread has to end. Without a limit it does not.
    #[must_use]
    pub fn is_over() -> bool {
        CURRENT.with_borrow(|limit| {
            let over =
                |limit: &Self| limit.cancelled.is_cancelled() || Instant::now() >= limit.deadline;
            limit.as_ref().is_some_and(over)
        })
    }

    /// Computes within the limit.
    pub fn apply<T>(self, compute: impl FnOnce() -> T) -> T {
        let mut limit = Some(self);
        let _applied = Applied::new(&mut limit);
        compute()
    }

    /// The future, which computes within the limit whenever it is polled.
    pub fn within<F: Future + Unpin>(self, future: F) -> Limited<F> {
        Limited { limit: Some(self), future }
    }
}

/// A future with a time limit. It is not ended from outside: its computations end by themselves.
#[derive(Debug)]
pub struct Limited<F> {
    limit: Option<TimeLimit>,
    future: F,
}

impl<F: Future + Unpin> Future for Limited<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { limit, future } = &mut *self;
        let _applied = Applied::new(limit);
        Pin::new(future).poll(context)
    }
}

/// Exchanges a limit with that of the thread, and back when it is dropped.
struct Applied<'l>(&'l mut Option<TimeLimit>);

impl<'l> Applied<'l> {
    fn new(limit: &'l mut Option<TimeLimit>) -> Self {
        let mut applied = Self(limit);
        applied.exchange();
        applied
    }

    fn exchange(&mut self) {
        CURRENT.with_borrow_mut(|current| mem::swap(current, self.0));
    }
}

impl Drop for Applied<'_> {
    fn drop(&mut self) {
        self.exchange();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    fn over() -> TimeLimit {
        TimeLimit::new(Instant::now(), &CancellationToken::new())
    }

    fn open() -> TimeLimit {
        TimeLimit::new(Instant::now() + Duration::from_secs(3600), &CancellationToken::new())
    }

    #[test]
    fn the_innermost_limit_counts_and_ends_with_its_computation_even_if_that_panics() {
        open().apply(|| {
            assert!(over().apply(TimeLimit::is_over));
            assert!(!TimeLimit::is_over());
        });
        assert!(catch_unwind(AssertUnwindSafe(|| over().apply(|| panic!("a bug")))).is_err());
        assert!(!TimeLimit::is_over());
    }

    #[tokio::test]
    async fn a_future_has_its_limit_only_while_it_is_polled() {
        let mut twice = Box::pin(async {
            let before = TimeLimit::is_over();
            tokio::task::yield_now().await;
            (before, TimeLimit::is_over())
        });
        let mut limited = over().within(&mut twice);
        let first = futures_util::poll!(&mut limited);
        assert!(first.is_pending() && !TimeLimit::is_over());
        assert_eq!(limited.await, (true, true));
    }
}
