//! The work that the runs of a batch share: each piece is computed once. Outputs are in the database, so
//! that they survive the worker; work in progress is tracked in memory. May not know what the work is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::graph::{SharedOutputs, WorkKey, WorkStore};
use dsrs::predict::PredictError;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use uuid::Uuid;

use dsrs_store::persist;
use dsrs_store::{Db, Scope, StoreError, batch_share};

type Cell = Arc<OnceCell<Payload>>;

/// The shared work of a batch.
pub(crate) struct BatchShares {
    db: Db,
    scope: Scope,
    batch: Uuid,
    active_work: Mutex<HashMap<WorkKey, Cell>>,
}

impl BatchShares {
    pub(crate) fn new(db: Db, scope: Scope, batch: Uuid) -> Self {
        Self { db, scope, batch, active_work: Mutex::default() }
    }

    fn active_work(&self) -> MutexGuard<'_, HashMap<WorkKey, Cell>> {
        self.active_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, key: WorkKey) -> WorkShare<'_> {
        let cell = self.active_work().entry(key).or_default().clone();
        WorkShare { shares: self, key, cell }
    }

    /// The stored outputs. If the store fails, the error is logged and the work is done again.
    async fn stored(&self, key: WorkKey) -> Option<Payload> {
        let read = || batch_share::get(&self.scope, &self.db, self.batch, &key.0);
        let stored = persist(read).await.unwrap_or_else(|error| {
            log_error(&error);
            None
        });
        stored.and_then(|text| Payload::from_json(&text).ok())
    }

    async fn store(&self, key: WorkKey, outputs: &Payload) {
        let text = outputs.to_json();
        let write = || batch_share::put(&self.scope, &self.db, self.batch, &key.0, &text);
        if let Err(error) = persist(write).await {
            log_error(&error);
        }
    }
}

fn log_error(error: &StoreError) {
    tracing::error!(cause = error.cause(), "shared work of a batch is not stored");
}

/// A run that waits for some work. The last one removes it from the active work.
struct WorkShare<'a> {
    shares: &'a BatchShares,
    key: WorkKey,
    cell: Cell,
}

impl Drop for WorkShare<'_> {
    fn drop(&mut self) {
        let mut active_work = self.shares.active_work();
        self.cell = Cell::default();
        if active_work.get(&self.key).is_some_and(|cell| Arc::strong_count(cell) == 1) {
            active_work.remove(&self.key);
        }
    }
}

impl WorkStore for BatchShares {
    fn once<'a>(
        &'a self,
        key: WorkKey,
        call: BoxFuture<'a, Result<Payload, PredictError>>,
    ) -> BoxFuture<'a, Result<SharedOutputs, PredictError>> {
        async move {
            let share = self.join(key);
            let mut computed = false;
            let first = async {
                if let Some(stored) = self.stored(key).await {
                    return Ok::<_, PredictError>(stored);
                }
                let outputs = call.await?;
                computed = true;
                self.store(key, &outputs).await;
                Ok(outputs)
            };
            let outputs = share.cell.get_or_try_init(|| first).await?.clone();
            Ok(SharedOutputs { outputs, computed })
        }
        .boxed()
    }
}
