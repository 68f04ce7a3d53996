//! The threads that serve connections. Each has a runtime of its own, so that a connection, its runs
//! and their LM requests wake no other thread (docs/performance-history.md). Knows no HTTP.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Shorter than the usual time limits of requests.
const KEEPALIVE_TICK: Duration = Duration::from_secs(1);

/// One thread for each processor. Dropping it stops them.
pub(super) struct Threads {
    first: Thread,
    others: Vec<Thread>,
    _stop: DropGuard,
}

struct Thread {
    runtime: Handle,
    /// Every slot holds a copy.
    slots: Arc<()>,
}

/// A connection's slot on a thread. Dropping it frees the slot.
pub(super) struct ThreadSlot {
    runtime: Handle,
    _count: Arc<()>,
}

impl Threads {
    /// Starts one thread for each processor.
    pub(super) fn start() -> io::Result<Self> {
        Self::of(thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// Starts a single thread.
    pub(super) fn one() -> io::Result<Self> {
        Self::of(1)
    }

    fn of(count: usize) -> io::Result<Self> {
        let stop = CancellationToken::new();
        let first = start(0, &stop)?;
        let others = (1..count).map(|number| start(number, &stop)).collect::<io::Result<_>>()?;
        Ok(Self { first, others, _stop: stop.drop_guard() })
    }

    /// A slot on the thread with the fewest connections.
    pub(super) fn slot(&self) -> ThreadSlot {
        let emptiest = self.all().min_by_key(|thread| Arc::strong_count(&thread.slots));
        let emptiest = emptiest.unwrap_or(&self.first);
        ThreadSlot { runtime: emptiest.runtime.clone(), _count: emptiest.slots.clone() }
    }

    fn all(&self) -> impl Iterator<Item = &Thread> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl ThreadSlot {
    /// The runtime of the thread.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

fn start(number: usize, stop: &CancellationToken) -> io::Result<Thread> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let stopped = stop.clone();
    let work = move || runtime.block_on(stopped.run_until_cancelled(tick()));
    thread::Builder::new().name(format!("connections-{number}")).spawn(work)?;
    Ok(Thread { runtime: handle, slots: Arc::default() })
}

/// Always has a timer that is due soon. A new timer that is due before all others wakes a sleeping
/// runtime, which costs a system call; behind this tick, the timers of requests do not.
async fn tick() {
    let mut tick = tokio::time::interval(KEEPALIVE_TICK);
    loop {
        tick.tick().await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_connection_is_assigned_to_the_thread_with_the_fewest() {
        let threads = Threads::start().unwrap();
        let ids = |slots: &[ThreadSlot]| -> HashSet<_> {
            slots.iter().map(|s| s.runtime().id()).collect()
        };
        let mut slots: Vec<ThreadSlot> = threads.all().map(|_| threads.slot()).collect();
        assert_eq!(ids(&slots).len(), threads.all().count());
        let left = slots.pop().unwrap().runtime().id();
        assert_eq!(threads.slot().runtime().id(), left);
    }

    #[tokio::test]
    async fn work_runs_on_the_thread_of_its_slot_until_the_threads_stop() {
        let threads = Threads::start().unwrap();
        let slot = threads.slot();
        let here = slot.runtime().spawn(async { thread::current().name().map(str::to_owned) });
        assert!(here.await.unwrap().unwrap().starts_with("connections-"));
        let unending = slot.runtime().spawn(std::future::pending::<()>());
        drop(threads);
        assert!(unending.await.unwrap_err().is_cancelled());
    }
}
