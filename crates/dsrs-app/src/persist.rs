//! Operations of several queries that are repeated while the database is not available.

use std::future::Future;

use dsrs_store::{Attempts, Db, SILENT};

use crate::AppError;

/// Repeats an operation as `dsrs_store::persist` repeats a query.
pub(crate) async fn persist_operation<T, F>(
    db: &Db,
    operation: impl Fn() -> F,
) -> Result<T, AppError>
where
    F: Future<Output = Result<T, AppError>>,
{
    let mut attempts = Attempts::default();
    loop {
        let silent = || Err(AppError::Unavailable(SILENT.to_owned()));
        match attempts.make(operation()).await.unwrap_or_else(silent) {
            Err(AppError::Unavailable(reason)) => {
                let failed = attempts.failed(db.ping().await.is_err(), &reason).await;
                failed.map_err(AppError::Internal)?;
            }
            done => return done,
        }
    }
}
