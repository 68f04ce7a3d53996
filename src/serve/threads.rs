//! The threads on which connections live. Each has a runtime of its own, so that a connection, its
//! runs and their requests to LMs wake nobody on another thread (docs/performance.md). Knows no
//! HTTP.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Shorter than the time limits that requests usually have.
const BEAT: Duration = Duration::from_secs(1);

/// One thread for each processor, until dropped.
pub(super) struct Threads {
    first: Thread,
    others: Vec<Thread>,
    _stop: DropGuard,
}

struct Thread {
    runtime: Handle,
    /// Every seat holds a copy.
    seats: Arc<()>,
}

/// A place on a thread, taken until dropped.
pub(super) struct Seat {
    runtime: Handle,
    _taken: Arc<()>,
}

impl Threads {
    /// Starts as many as there are processors.
    pub(super) fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let stop = CancellationToken::new();
        let first = start(0, &stop)?;
        let others = (1..count).map(|number| start(number, &stop)).collect::<io::Result<_>>()?;
        Ok(Self { first, others, _stop: stop.drop_guard() })
    }

    /// A place on the thread that has the fewest taken.
    pub(super) fn seat(&self) -> Seat {
        let emptiest = self.all().min_by_key(|thread| Arc::strong_count(&thread.seats));
        let emptiest = emptiest.unwrap_or(&self.first);
        Seat { runtime: emptiest.runtime.clone(), _taken: emptiest.seats.clone() }
    }

    fn all(&self) -> impl Iterator<Item = &Thread> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl Seat {
    /// Where the work of whoever sits here is done.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

fn start(number: usize, stop: &CancellationToken) -> io::Result<Thread> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let stopped = stop.clone();
    let work = move || runtime.block_on(stopped.run_until_cancelled(beat()));
    thread::Builder::new().name(format!("connections-{number}")).spawn(work)?;
    Ok(Thread { runtime: handle, seats: Arc::default() })
}

/// Keeps a timer that is due soon. A runtime asleep is told of each new timer that is due before
/// all others, by a call into the kernel; behind the beat, those of requests are not.
async fn beat() {
    let mut beat = tokio::time::interval(BEAT);
    loop {
        beat.tick().await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn whoever_comes_sits_where_the_fewest_sit() {
        let threads = Threads::start().unwrap();
        let ids =
            |seats: &[Seat]| -> HashSet<_> { seats.iter().map(|s| s.runtime().id()).collect() };
        let mut seats: Vec<Seat> = threads.all().map(|_| threads.seat()).collect();
        assert_eq!(ids(&seats).len(), threads.all().count());
        let left = seats.pop().unwrap().runtime().id();
        assert_eq!(threads.seat().runtime().id(), left);
    }

    #[tokio::test]
    async fn work_is_done_on_the_thread_of_its_seat_until_the_threads_are_stopped() {
        let threads = Threads::start().unwrap();
        let seat = threads.seat();
        let here = seat.runtime().spawn(async { thread::current().name().map(str::to_owned) });
        assert!(here.await.unwrap().unwrap().starts_with("connections-"));
        let unending = seat.runtime().spawn(std::future::pending::<()>());
        drop(threads);
        assert!(unending.await.unwrap_err().is_cancelled());
    }
}
