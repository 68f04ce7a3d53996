//! Reads and writes that are repeated while the database is not available, because nothing else has their
//! data. A statement that fails again and again although the database answers is given up. One that has no answer for
//! long is repeated: its connection has turned silent, and what it did is unknown, as after any lost connection.

use std::future::Future;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::StoreError;

/// The pause before the next attempt after one that failed.
const RETRY: Duration = Duration::from_millis(500);

/// How long a query may take. Postgres itself ends each of its statements after 30 s.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// How many times a statement may fail although the database answers: it took too long, a lock was not
/// granted, or another transaction was in conflict with it.
const FAILURES: u32 = 5;

/// Repeats a query until the database can be reached.
pub async fn persist<T, F>(query: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut attempts = Attempts::default();
    loop {
        match attempts.make(query()).await.unwrap_or_else(|| Err(StoreError::unavailable(SILENT))) {
            Err(error @ StoreError::Unavailable { .. }) => {
                let failed = attempts.failed(error.is_outage(), &error.cause()).await;
                failed.map_err(StoreError::internal)?;
            }
            done => return done,
        }
    }
}

/// What is logged of a query that has no answer.
pub const SILENT: &str = "the database does not answer";

/// The attempts at something that is repeated until the database can be reached.
#[derive(Debug, Default)]
pub struct Attempts {
    failures: u32,
}

impl Attempts {
    /// Makes an attempt. `None` if it does not end in time.
    pub async fn make<T>(&self, attempt: impl Future<Output = T>) -> Option<T> {
        timeout(ANSWER_TIME, attempt).await.ok()
    }

    /// Waits for the time of the next attempt after one that failed; an outage lasts as long as it lasts.
    ///
    /// # Errors
    /// Why there is none, once too many have failed although the database answers.
    pub async fn failed(&mut self, by_outage: bool, cause: &str) -> Result<(), String> {
        self.failures += u32::from(!by_outage);
        if self.failures >= FAILURES {
            return Err(format!("given up after {FAILURES} attempts: {cause}"));
        }
        sleep(RETRY).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use dsrs_test::database_error;

    use super::*;

    async fn attempts_at(error: impl Fn() -> StoreError, enough: u32) -> (u32, bool) {
        let attempts = AtomicU32::new(0);
        let query = async || match attempts.fetch_add(1, Ordering::Relaxed) + 1 {
            number if number < enough => Err(error()),
            _ => Ok(()),
        };
        let done = persist(query).await;
        (attempts.into_inner(), done.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn a_statement_that_times_out_again_and_again_is_given_up() {
        for state in ["57014", "55P03", "40001", "40P01"] {
            let error = || StoreError::from(database_error(state));
            assert_eq!(attempts_at(error, 1000).await, (FAILURES, false), "{state}");
            assert_eq!(attempts_at(error, FAILURES).await, (FAILURES, true), "{state}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_without_an_answer_is_repeated() {
        let attempts = AtomicU32::new(0);
        let query = async || match attempts.fetch_add(1, Ordering::Relaxed) {
            0 => std::future::pending().await,
            number => Ok(number),
        };
        assert_eq!(persist(query).await.unwrap(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_waits_for_the_end_of_an_outage() {
        for state in ["57P01", "53300", "08006", "25006"] {
            assert_eq!(
                attempts_at(|| StoreError::from(database_error(state)), 1000).await,
                (1000, true)
            );
        }
        let lost = || StoreError::unavailable("no connection in time");
        assert_eq!(attempts_at(lost, 1000).await, (1000, true));
    }
}
