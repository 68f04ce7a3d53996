//! The work that items of a batch share: in the database, so that it outlasts the worker, and here
//! only while it is under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::graph::{SharedOutputs, WorkKey, WorkStore};
use dsrs::predict::PredictError;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::app::persist::persist;
use crate::store::{Db, Scope, StoreError, batch_share};

type Cell = Arc<OnceCell<Payload>>;

/// What is kept for a batch.
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

    fn enter(&self, key: WorkKey) -> Turn<'_> {
        let cell = self.active_work().entry(key).or_default().clone();
        Turn { shares: self, key, cell }
    }

    /// What was kept. A store that fails for good is told of, and the work is done once more.
    async fn kept(&self, key: WorkKey) -> Option<Payload> {
        let read = || batch_share::get(&self.scope, &self.db, self.batch, &key.0);
        let kept = persist(read).await.unwrap_or_else(|error| {
            complain(&error);
            None
        });
        kept.and_then(|text| Payload::from_json(&text).ok())
    }

    async fn keep(&self, key: WorkKey, outputs: &Payload) {
        let text = outputs.to_json();
        let write = || batch_share::put(&self.scope, &self.db, self.batch, &key.0, &text);
        if let Err(error) = persist(write).await {
            complain(&error);
        }
    }
}

fn complain(error: &StoreError) {
    tracing::error!(cause = error.cause(), "shared work of a batch is not kept");
}

/// One who waits for some work; the last one to leave takes it off the list of what is under way.
struct Turn<'a> {
    shares: &'a BatchShares,
    key: WorkKey,
    cell: Cell,
}

impl Drop for Turn<'_> {
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
            let turn = self.enter(key);
            let mut computed = false;
            let first = async {
                if let Some(kept) = self.kept(key).await {
                    return Ok(kept);
                }
                let outputs = call.await?;
                computed = true;
                self.keep(key, &outputs).await;
                Ok(outputs)
            };
            let outputs = turn.cell.get_or_try_init(|| first).await?.clone();
            Ok(SharedOutputs { outputs, computed })
        }
        .boxed()
    }
}
