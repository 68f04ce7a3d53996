//! A replica of the database, which answers lists of runs and look-ups of runs that have succeeded while it is at
//! most so far behind. Otherwise, and if it fails, the database itself answers. May not know tables.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPool;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};
use tokio::time::{Instant, sleep, timeout};

use super::isolation::Visible;
use super::{Db, StoreError};

/// How often the lag of the replica is measured.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long a measurement may take, and how long its result is valid.
const PATIENCE: Duration = Duration::from_secs(3);

/// Positions of the database that are remembered: more than any useful delay has measurements.
const POSITIONS: usize = 3600;

/// A replica, as the rooms above know it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Replica(Arc<ReplicaState>);

#[derive(Debug)]
struct ReplicaState {
    pool: PgPool,
    max_lag: Duration,
    /// Until then it may be asked.
    usable_until: Mutex<Option<Instant>>,
}

impl Replica {
    pub(super) fn new(pool: PgPool, max_lag: Duration) -> Self {
        Self(Arc::new(ReplicaState { pool, max_lag, usable_until: Mutex::new(None) }))
    }

    /// A connection that sees the rows of one workspace; `None` if the replica is not to be asked now.
    pub(super) async fn connection(&self, visible: Visible) -> Option<PoolConnection<Postgres>> {
        let usable_until = *self.usable_until();
        usable_until.filter(|until| Instant::now() < *until)?;
        let opened = timeout(PATIENCE, self.open(visible)).await;
        match opened.unwrap_or_else(|_| Err(StoreError::unavailable("a connection is silent"))) {
            Ok(connection) => Some(connection),
            Err(error) => {
                self.give_up(&error);
                None
            }
        }
    }

    async fn open(&self, visible: Visible) -> Result<PoolConnection<Postgres>, StoreError> {
        let mut connection = self.0.pool.acquire().await?;
        sqlx::raw_sql(AssertSqlSafe(visible.set_session())).execute(&mut *connection).await?;
        Ok(connection)
    }

    /// Sends it no queries until the next measurement.
    pub(super) fn give_up(&self, error: &StoreError) {
        tracing::warn!(cause = error.cause(), "the replica failed; the database itself answers");
        *self.usable_until() = None;
    }

    pub(super) async fn close(&self) {
        self.0.pool.close().await;
    }

    fn usable_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.usable_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the replica from time to time. Never ends.
    pub(super) async fn watch(&self, db: &Db) {
        let mut positions = Positions::default();
        loop {
            let begun = Instant::now();
            let lag = match timeout(PATIENCE, self.measure(db, &mut positions)).await {
                Ok(Ok(lag)) => lag,
                Ok(Err(_)) | Err(_) => None,
            };
            let is_usable = lag.is_some_and(|lag| lag <= self.0.max_lag);
            let was_usable = self.usable_until().is_some();
            if is_usable != was_usable {
                tracing::info!(is_usable, ?lag, "the replica has another state");
            }
            *self.usable_until() = is_usable.then(|| begun + PATIENCE);
            sleep(POLL_INTERVAL).await;
        }
    }

    /// How far it is behind. `None` if that is unknown: it has none of the positions that are remembered.
    async fn measure(
        &self,
        db: &Db,
        positions: &mut Positions,
    ) -> Result<Option<Duration>, StoreError> {
        let written = "select (pg_current_wal_lsn() - '0/0')::int8";
        positions.add(Instant::now(), position(&mut *db.unscoped().await?, written).await?);
        // A database that is no standby has nothing to replay, and is never behind.
        let replayed = "select case when pg_is_in_recovery()
                               then (pg_last_wal_replay_lsn() - '0/0')::int8 else 9223372036854775807 end";
        let mut replica = self.open(Visible::Nothing).await?;
        let replayed = position(&mut replica, replayed).await?;
        Ok(positions.lag(Instant::now(), replayed))
    }
}

async fn position(connection: &mut PgConnection, query: &'static str) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(query).fetch_one(connection).await?)
}

/// Positions in the log of the database, each with a time at which it was already written.
#[derive(Debug, Default)]
struct Positions(VecDeque<(Instant, i64)>);

impl Positions {
    fn add(&mut self, at: Instant, position: i64) {
        if self.0.len() >= POSITIONS {
            self.0.pop_front();
        }
        self.0.push_back((at, position));
    }

    /// How long ago the newest position was written that has been replayed: the lag is at most that.
    fn lag(&self, now: Instant, replayed: i64) -> Option<Duration> {
        let newest = self.0.iter().rfind(|(_, position)| *position <= replayed);
        newest.map(|(at, _)| now.duration_since(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_the_age_of_the_newest_position_that_was_replayed() {
        let start = Instant::now();
        let second = |number: u64| start + Duration::from_secs(number);
        let mut positions = Positions::default();
        for (at, position) in [(0, 100), (1, 200), (2, 200), (3, 500)] {
            positions.add(second(at), position);
        }
        let lag = |replayed| positions.lag(second(4), replayed).map(|lag| lag.as_secs());
        assert_eq!(lag(99), None);
        assert_eq!((lag(100), lag(300), lag(500)), (Some(4), Some(2), Some(1)));
    }
}
