//! The limits of keys, over all servers: each counts what it admits, and about every second they exchange
//! their counts through the database. Keys without limits are not counted. No lock is held over a query.
//! May not know routes.

mod counts;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::OnceCell;
use tokio::time::sleep;
use uuid::Uuid;

use crate::AppError;
use crate::access::{Identity, IdentityKey};
use counts::Counts;
use dsrs_api::key::KeyLimits;
use dsrs_store::{Db, Scope, StoreError, key_count};

pub use counts::{QuotaRefusal, QuotaStatus, Start};

/// How often counts are exchanged.
const EXCHANGE: Duration = Duration::from_secs(1);

/// A key that was not used for this long is forgotten.
const IDLE: Duration = Duration::from_secs(150);

/// The keys with limits that call this server.
pub struct Quotas {
    db: Db,
    replica: Uuid,
    keys: RwLock<HashMap<Uuid, Arc<KeyQuota>>>,
    clock: Mutex<(Instant, DateTime<Utc>)>,
}

/// The counts of one key on this server.
pub struct KeyQuota {
    id: Uuid,
    scope: Scope,
    limits: KeyLimits,
    state: Mutex<QuotaState>,
    /// Set when the counts of others and what was spent were read for the first time.
    is_read: OnceCell<()>,
}

struct QuotaState {
    counts: Counts,
    used_at: Instant,
}

/// The place of a run among those of its key, until dropped.
pub struct RunPlace {
    quota: Arc<KeyQuota>,
    start: Start,
}

impl fmt::Debug for RunPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPlace").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        self.quota.state().counts.end(self.start);
    }
}

impl Quotas {
    /// Without any counts.
    #[must_use]
    pub fn new(db: Db) -> Self {
        let clock = Mutex::new((Instant::now(), Utc::now()));
        Self { db, replica: Uuid::now_v7(), keys: RwLock::default(), clock }
    }

    /// The counts of a caller's key; `None` if it has no limits.
    pub fn of(&self, caller: &Identity) -> Option<Arc<KeyQuota>> {
        let key = caller.key.filter(|key| key.limits != KeyLimits::default())?;
        let known = self.keys.read().unwrap_or_else(PoisonError::into_inner).get(&key.id).cloned();
        Some(known.unwrap_or_else(|| self.add(key, &caller.scope)))
    }

    fn add(&self, key: IdentityKey, scope: &Scope) -> Arc<KeyQuota> {
        let now = Instant::now();
        let state = QuotaState { counts: Counts::default(), used_at: now };
        let quota = Arc::new(KeyQuota {
            id: key.id,
            scope: scope.clone(),
            limits: key.limits,
            state: Mutex::new(state),
            is_read: OnceCell::new(),
        });
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.entry(key.id).or_insert(quota).clone()
    }

    /// Admits a request, or names the limit that it exceeds. The first request of a key waits until the counts
    /// of the other servers are read.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn admit(
        &self,
        quota: &Arc<KeyQuota>,
        start: Option<Start>,
    ) -> Result<Result<Option<Arc<RunPlace>>, QuotaRefusal>, AppError> {
        if !quota.is_read.initialized() {
            Box::pin(quota.is_read.get_or_try_init(|| self.exchange(quota))).await?;
        }
        let mut state = quota.state();
        state.used_at = Instant::now();
        let admitted = state.counts.admit(&quota.limits, self.now(), start);
        drop(state);
        let place = |()| Some(Arc::new(RunPlace { quota: quota.clone(), start: start? }));
        Ok(admitted.map(place))
    }

    /// Admits what a request begins that was admitted itself, or names the limit that it exceeds.
    ///
    /// # Errors
    /// The limit.
    pub fn admit_start(
        &self,
        quota: &Arc<KeyQuota>,
        start: Start,
    ) -> Result<Arc<RunPlace>, QuotaRefusal> {
        quota.state().counts.admit_start(&quota.limits, self.now())?;
        Ok(Arc::new(RunPlace { quota: quota.clone(), start }))
    }

    /// The limits of a key and what is left of them.
    pub fn status(&self, quota: &KeyQuota) -> Vec<QuotaStatus> {
        quota.state().counts.status(&quota.limits, self.now())
    }

    /// Exchanges counts for as long as the server runs.
    pub async fn exchange_always(&self) {
        loop {
            sleep(EXCHANGE).await;
            for quota in self.active() {
                if let Err(error) = self.exchange(&quota).await {
                    tracing::warn!(cause = error.cause(), "cannot exchange the counts of a key");
                    // Every other key would wait for the same database.
                    if matches!(error, StoreError::Unavailable { .. }) {
                        break;
                    }
                }
            }
        }
    }

    /// The keys that are in use. Others are forgotten.
    fn active(&self) -> Vec<Arc<KeyQuota>> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, quota| {
            let state = quota.state();
            // A key with runs in progress stays, or they would no longer count against its limit.
            state.used_at.elapsed() < IDLE || !state.counts.is_idle()
        });
        keys.values().cloned().collect()
    }

    async fn exchange(&self, quota: &KeyQuota) -> Result<(), StoreError> {
        // Read before the query: jobs that begin during it are not in its answer, and stay in `recent_jobs`.
        let (sent, recent) = {
            let mut state = quota.state();
            (state.counts.own(self.now()), state.counts.recent_jobs())
        };
        let others = key_count::exchange(&quota.scope, &self.db, quota.id, self.replica, sent);
        let others = others.await?;
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), others.now);
        quota.state().counts.receive(sent, others, recent);
        Ok(())
    }

    /// The time of the database's clock.
    fn now(&self) -> DateTime<Utc> {
        let (at, now) = *self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        now + TimeDelta::from_std(at.elapsed()).unwrap_or_default()
    }
}

impl KeyQuota {
    fn state(&self) -> MutexGuard<'_, QuotaState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
