//! Writes that must not be lost because the database is away for a while: asked for again and again.

use std::future::Future;
use std::time::Duration;

use crate::store::StoreError;

/// How long to wait before the database is asked again that could not be reached.
pub(crate) const RETRY: Duration = Duration::from_millis(500);

/// Asks the database again and again while it cannot be reached: nobody else could, either.
pub(crate) async fn persist<T, F>(ask: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match ask().await {
            Err(StoreError::Unavailable { .. }) => tokio::time::sleep(RETRY).await,
            done => return done,
        }
    }
}
