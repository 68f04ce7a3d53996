//! The archive of a server that was built without the feature `archive`: there is none, and a configured one is
//! refused.

use std::convert::Infallible;
use std::io;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::failure::ArchiveFailure;
use dsrs_config::ArchiveConfig;
use dsrs_store::partition::PartitionArchive;
use dsrs_store::retention::Expiry;
use dsrs_store::run::RunRow;
use dsrs_store::run_archive::{ArchivedFile, EndedRuns};
use dsrs_store::{Db, Scope, StoreError};

/// An archive, which this server cannot have.
pub struct NoRunArchive(Infallible);

/// Refuses an archive that is configured.
pub fn open(config: Option<&ArchiveConfig>, _: &Db) -> io::Result<Option<NoRunArchive>> {
    match config {
        None => Ok(None),
        Some(_) => Err(io::Error::other(
            "`archive.url`: this server was built without the feature `archive`",
        )),
    }
}

impl NoRunArchive {
    pub async fn move_oldest(&self, _: &Scope, _: Expiry) -> Result<u64, StoreError> {
        match self.0 {}
    }

    pub async fn find(&self, _: &Scope, _: Uuid) -> Result<Option<RunRow>, ArchiveFailure> {
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
