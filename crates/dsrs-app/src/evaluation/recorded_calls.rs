//! The results of calls that evaluations of a workspace reuse. Knows neither SQL nor tools.

use dsrs::predict::{CallRecord, RecordedCallKey};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::clock::now;
use dsrs_store::recorded_call;
use dsrs_store::{Db, Scope, StoreError};

/// The recorded calls of a workspace.
pub(crate) struct RecordedCalls {
    db: Db,
    scope: Scope,
}

impl RecordedCalls {
    pub(crate) const fn new(db: Db, scope: Scope) -> Self {
        Self { db, scope }
    }
}

impl CallRecord for RecordedCalls {
    fn find(&self, key: RecordedCallKey) -> BoxFuture<'_, Option<Payload>> {
        async move {
            let found = recorded_call::find(&self.scope, &self.db, &key).await;
            let text = found.unwrap_or_else(|error| warn("read", &error))?;
            Payload::from_record(&text).ok()
        }
        .boxed()
    }

    fn record<'a>(&'a self, key: RecordedCallKey, result: &'a Payload) -> BoxFuture<'a, ()> {
        async move {
            let text = result.to_json();
            let stored = recorded_call::record(&self.scope, &self.db, &key, &text, now()).await;
            stored.unwrap_or_else(|error| warn("store", &error));
        }
        .boxed()
    }
}

fn warn<T: Default>(what: &str, error: &StoreError) -> T {
    tracing::warn!(cause = error.cause(), "cannot {what} the result of a call; it is called again");
    T::default()
}
