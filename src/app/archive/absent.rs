//! The archive of a server that was built without the feature `archive`: there is none, and a configured one is
//! refused.

use std::convert::Infallible;
use std::io;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::app::AppError;
use crate::config::ArchiveConfig;
use crate::store::partition::PartitionArchive;
use crate::store::retention::Expiry;
use crate::store::run::RunRow;
use crate::store::run_archive::{ArchivedFile, EndedRuns};
use crate::store::{Db, Scope, StoreError};

/// An archive, which this server cannot have.
pub(crate) struct NoRunArchive(Infallible);

/// Refuses an archive that is configured.
pub(crate) fn open(config: Option<&ArchiveConfig>, _: &Db) -> io::Result<Option<NoRunArchive>> {
    match config {
        None => Ok(None),
        Some(_) => Err(io::Error::other(
            "`archive.url`: this server was built without the feature `archive`",
        )),
    }
}

impl NoRunArchive {
    pub(crate) async fn move_oldest(&self, _: &Scope, _: Expiry) -> Result<u64, StoreError> {
        match self.0 {}
    }

    pub(crate) async fn find(&self, _: &Scope, _: Uuid) -> Result<Option<RunRow>, AppError> {
        match self.0 {}
    }
}

impl PartitionArchive for NoRunArchive {
    fn store<'a>(
        &'a self,
        _: &'a str,
        _: EndedRuns,
    ) -> BoxFuture<'a, Result<Vec<ArchivedFile>, StoreError>> {
        match self.0 {}
    }
}
