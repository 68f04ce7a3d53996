//! The trait of a kind of job. May not know the driver.

use std::sync::Arc;

use uuid::Uuid;

use crate::job::active::ActiveGuard;
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::job::{self, JobRow, JobType};

/// A kind of job. The worker and the driver do what all kinds share: the worker claims jobs and
/// renews leases; the driver ends a job that is cancelled or has had too many attempts, and
/// requeues one when the server stops.
pub trait JobKind: Send + Sync + 'static {
    /// The status row, as clients read it.
    type Row: JobRow;

    /// Everything that an attempt needs, loaded.
    type Work: Send;

    /// The result of an attempt that finished the work.
    type Output: Send;

    /// The type of the job in the store.
    const TYPE: JobType = <Self::Row as JobRow>::JOB;

    /// Whether work of this kind also runs without a job, and has no row until it ends.
    const RUNS_WITHOUT_JOB: bool = false;

    /// Whether workers of several servers may work on one job: it has parts.
    const IS_DIVIDED: bool = false;

    /// Reads the status row.
    fn row(
        app: &Arc<App>,
        scope: &Scope,
        id: Uuid,
    ) -> impl Future<Output = Result<Self::Row, AppError>> + Send {
        async move { Ok(job::get(scope, &app.db, id).await?) }
    }

    /// Ends work that has no job, as cancelled: if no attempt has begun, or in any case with `force`, because its
    /// attempt does not answer.
    fn cancel_in_engine(
        _: &Arc<App>,
        _: &Scope,
        _: Uuid,
        _force: bool,
    ) -> impl Future<Output = Result<(), AppError>> + Send {
        async { Ok(()) }
    }

    /// Loads what an attempt needs. If the database is unavailable, the job is requeued; any other
    /// error fails it.
    fn load(
        attempt: &JobAttempt,
        guard: &ActiveGuard,
    ) -> impl Future<Output = Result<Self::Work, AppError>> + Send;

    /// Runs one attempt. After an error the lease expires, and another attempt follows.
    fn run(
        attempt: &JobAttempt,
        work: Self::Work,
        guard: &Arc<ActiveGuard>,
    ) -> impl Future<Output = Result<AttemptEnd<Self::Output>, AppError>> + Send;

    /// Writes how the job ended. False if the lease is lost.
    fn conclude(
        attempt: &JobAttempt,
        conclusion: Conclusion<Self::Output>,
    ) -> impl Future<Output = Result<bool, AppError>> + Send;

    /// The error detail of a job that `limit` attempts did not finish.
    fn abandoned(limit: u32) -> String;
}
