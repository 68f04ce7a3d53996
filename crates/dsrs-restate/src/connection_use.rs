//! How long a connection of the engine is used. The engine reuses its connections, so without this all its attempts
//! would go to the worker that accepted the first one. A connection that has had its share of attempts is closed,
//! and the next one may reach another worker. May not know what an attempt does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Attempts of one connection.
const MOST_ATTEMPTS: u32 = 16;

/// The use of one connection. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionUse {
    counts: Arc<Mutex<AttemptCounts>>,
    retired: CancellationToken,
}

#[derive(Debug, Default)]
struct AttemptCounts {
    running: u32,
    ended: u32,
    /// No attempt follows those that run.
    is_last: bool,
}

impl ConnectionUse {
    /// An attempt has begun.
    pub(super) fn begin(&self) {
        self.counts().running += 1;
    }

    pub(super) fn end(&self) {
        let mut counts = self.counts();
        counts.running -= 1;
        counts.ended += 1;
        self.retire_if_over(&counts);
    }

    /// Lets no attempt follow those that run.
    pub(super) fn retire_next(&self) {
        let mut counts = self.counts();
        counts.is_last = true;
        self.retire_if_over(&counts);
    }

    /// Whether no attempt has begun on it.
    pub(super) fn is_unused(&self) -> bool {
        let counts = self.counts();
        counts.running == 0 && counts.ended == 0
    }

    /// Ends when no further attempt may use it.
    pub(super) async fn retired(&self) {
        self.retired.cancelled().await;
    }

    fn retire_if_over(&self, counts: &AttemptCounts) {
        if counts.running == 0 && (counts.is_last || counts.ended >= MOST_ATTEMPTS) {
            self.retired.cancel();
        }
    }

    fn counts(&self) -> MutexGuard<'_, AttemptCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_retired(connection: &ConnectionUse) -> bool {
        connection.retired().now_or_never().is_some()
    }

    #[test]
    fn a_connection_is_retired_after_its_share_of_attempts_when_none_runs() {
        let connection = ConnectionUse::default();
        assert!(connection.is_unused());
        for _ in 1..MOST_ATTEMPTS {
            connection.begin();
            connection.end();
        }
        assert!(!is_retired(&connection) && !connection.is_unused());
        connection.begin();
        connection.begin();
        connection.end();
        assert!(!is_retired(&connection), "one still runs");
        connection.end();
        assert!(is_retired(&connection));
    }

    #[test]
    fn the_last_attempt_of_a_connection_ends_first() {
        let idle = ConnectionUse::default();
        idle.retire_next();
        assert!(is_retired(&idle));
        let busy = ConnectionUse::default();
        busy.begin();
        busy.retire_next();
        assert!(!is_retired(&busy));
        busy.end();
        assert!(is_retired(&busy));
    }
}
