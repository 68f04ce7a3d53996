//! Writes that are retried while the database is not available, because nothing else has their data.

use std::future::Future;
use std::time::Duration;

use crate::store::StoreError;

/// The pause before the next attempt after one that could not reach the database.
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// Repeats a query until the database can be reached.
pub(crate) async fn persist<T, F>(query: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match query().await {
            Err(StoreError::Unavailable { .. }) => tokio::time::sleep(RETRY).await,
            done => return done,
        }
    }
}
