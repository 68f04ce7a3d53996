//! The database as the engine: workers claim jobs, and hold them with leases that they renew.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::{AcceptedRun, Engine};
use dsrs_store::background_run;
use dsrs_store::job::{self, JobType, RenewedLease};
use dsrs_store::run_progress::NodeRow;
use dsrs_store::{Db, Scope, StoreError};

/// The table of jobs.
pub(super) struct PostgresEngine;

impl Engine for PostgresEngine {
    fn is_claimed(&self) -> bool {
        true
    }

    fn accept_run<'a>(
        &'a self,
        db: &'a Db,
        AcceptedRun { scope, run, request, ending }: AcceptedRun<'a>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        background_run::accept(scope, db, run, request, ending).boxed()
    }

    fn progress(&self, _: Uuid) -> BoxFuture<'_, Vec<NodeRow>> {
        async { Vec::new() }.boxed()
    }

    fn count_queued<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a Db,
        _: u32,
    ) -> BoxFuture<'a, Result<u32, StoreError>> {
        async { Ok(0) }.boxed()
    }

    fn dispatch<'a>(
        &'a self,
        _: &'a Db,
        _: &'a [JobType],
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async { Ok(false) }.boxed()
    }

    fn confirm<'a>(
        &'a self,
        db: &'a Db,
        holders: &'a [Uuid],
        length: Duration,
    ) -> BoxFuture<'a, Result<Vec<RenewedLease>, StoreError>> {
        job::renew(db, holders, length).boxed()
    }
}
