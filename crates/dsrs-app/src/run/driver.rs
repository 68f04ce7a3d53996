//! Drives a run for a client, on the thread of the client's connection as long as the run computes
//! little, else on the threads for computations. May not know what a run is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use dsrs::predict::RunScope;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::compute::ComputePool;

/// A run, boxed once.
pub(crate) type BoxedRun<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A run that is driven. If it is dropped, as when the client disconnects, the run is cancelled (if it
/// is to be) and still driven to its end, so that it is recorded.
pub(crate) struct RunDriver<T: Send + 'static> {
    pool: ComputePool,
    context: Arc<RunScope>,
    /// Cancelled when the driver is dropped.
    cancel: Option<CancellationToken>,
    place: RunPlace<T>,
}

/// Where a run is.
enum RunPlace<T> {
    /// On the thread that polls the driver.
    Here(BoxedRun<T>),
    /// On the threads for computations.
    Computing(JoinHandle<Option<T>>),
    /// It has ended, or panicked.
    Ended,
}

impl<T: Send + 'static> RunDriver<T> {
    /// A run; one that `computes_little` begins here.
    pub(crate) fn new(
        pool: &ComputePool,
        context: Arc<RunScope>,
        cancels: bool,
        computes_little: bool,
        run: BoxedRun<T>,
    ) -> Self {
        let cancel = cancels.then(|| context.cancelled.clone());
        let place = match computes_little {
            true => RunPlace::Here(run),
            false => RunPlace::Computing(pool.spawn("a run", run)),
        };
        Self { pool: pool.clone(), context, cancel, place }
    }

    /// Polls a run that is here. Moves it away once it begins long work.
    fn poll_here(&mut self, mut run: BoxedRun<T>, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Poll::Ready(ended) = run.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        if !self.context.long_work.load(Ordering::Relaxed) {
            self.place = RunPlace::Here(run);
            return Poll::Pending;
        }
        self.poll_away(self.pool.spawn("a run with long work", run), context)
    }

    fn poll_away(
        &mut self,
        mut running: JoinHandle<Option<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        match Pin::new(&mut running).poll(context) {
            Poll::Ready(ended) => Poll::Ready(ended.ok().flatten()),
            Poll::Pending => {
                self.place = RunPlace::Computing(running);
                Poll::Pending
            }
        }
    }
}

impl<T: Send + 'static> Future for RunDriver<T> {
    /// `None` if the run panicked elsewhere.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        // Taken out while it is polled: a run that panics is not polled again.
        let ended = match std::mem::replace(&mut self.place, RunPlace::Ended) {
            RunPlace::Here(run) => self.poll_here(run, context),
            RunPlace::Computing(running) => self.poll_away(running, context),
            RunPlace::Ended => Poll::Pending,
        };
        let ended = ready!(ended);
        self.cancel = None;
        Poll::Ready(ended)
    }
}

impl<T: Send + 'static> Drop for RunDriver<T> {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
        // Without a runtime the process is ending, and nothing could write the record. A run on other
        // threads continues by itself.
        if let (RunPlace::Here(run), Ok(_)) =
            (std::mem::replace(&mut self.place, RunPlace::Ended), Handle::try_current())
        {
            drop(self.pool.spawn("the run of a client that disconnected", run));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::panic::AssertUnwindSafe;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use dsrs::lm::Models;
    use futures_util::FutureExt;
    use tokio::time::Instant;

    use super::*;

    fn context() -> Arc<RunScope> {
        Arc::new(RunScope::new(Arc::new(Models::new(None, None)), Instant::now()))
    }

    fn is_computing() -> bool {
        thread::current().name().is_some_and(|name| name.starts_with("compute"))
    }

    #[tokio::test]
    async fn a_run_that_panicked_is_not_polled_again() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let run = Box::pin(poll_fn(move |_| -> Poll<()> {
            counted.fetch_add(1, Ordering::SeqCst);
            panic!("a bug")
        }));
        let pool = ComputePool::start().unwrap();
        let driver = RunDriver::new(&pool, context(), false, true, run);
        assert!(AssertUnwindSafe(driver).catch_unwind().await.is_err());
        tokio::task::yield_now().await;
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_run_moves_to_the_threads_for_computations_once_it_begins_long_work() {
        let (pool, context) = (ComputePool::start().unwrap(), context());
        let scope = context.clone();
        let run = Box::pin(async move {
            let before = is_computing();
            tokio::task::yield_now().await;
            let between = is_computing();
            scope.long_work.store(true, Ordering::Relaxed);
            tokio::task::yield_now().await;
            [before, between, is_computing()]
        });
        let driver = RunDriver::new(&pool, context.clone(), false, true, run);
        assert_eq!(driver.await, Some([false, false, true]));
        let run = Box::pin(async { is_computing() });
        assert_eq!(RunDriver::new(&pool, context, false, false, run).await, Some(true));
    }

    #[tokio::test]
    async fn the_run_of_a_dropped_driver_is_cancelled_and_driven_to_its_end() {
        let pool = ComputePool::start().unwrap();
        for computes_little in [true, false] {
            let context = context();
            let (cancelled, (ended, end)) =
                (context.cancelled.clone(), tokio::sync::oneshot::channel());
            let run = Box::pin(async move {
                cancelled.cancelled().await;
                let _ = ended.send(());
            });
            let mut driver = RunDriver::new(&pool, context, true, computes_little, run);
            assert!(futures_util::poll!(&mut driver).is_pending());
            drop(driver);
            end.await.unwrap();
        }
    }
}
