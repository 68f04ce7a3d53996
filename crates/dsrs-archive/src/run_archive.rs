//! The archive that is configured: runs are moved to it, and found in it. A file has a name of its own, so that a
//! server that is slow or has lost its locks never writes over a file that is listed. A file that a killed server has
//! not listed is deleted by the one that writes its runs again. May not know the format of the files.

use std::io;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;
use uuid::Uuid;

use super::error::ArchiveError;
use super::export::export;
use super::failure::ArchiveFailure;
use super::file_in_progress::FileInProgress;
use super::files::RunFiles;
use dsrs_config::ArchiveConfig;
use dsrs_store::partition::PartitionArchive;
use dsrs_store::persist;
use dsrs_store::retention::Expiry;
use dsrs_store::run::RunRow;
use dsrs_store::run_archive::{self, ArchivedFile, EndedRuns, OldRuns};
use dsrs_store::{Db, Scope, StoreError};

/// Runs that are removed one by one go to files of at most so many, and of few more bytes than this: they are locked
/// meanwhile.
const STEP: i64 = 10_000;
const STEP_BYTES: i64 = 32 << 20;

/// How long a look-up waits for object storage.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the archive that is configured, if there is one.
pub fn open(config: Option<&ArchiveConfig>, db: &Db) -> io::Result<Option<RunArchive>> {
    let Some(ArchiveConfig { url, options }) = config else { return Ok(None) };
    let files = RunFiles::open(url.as_str(), options);
    let files = files.map_err(|error| io::Error::other(format!("`archive.url`: {error}")))?;
    Ok(Some(RunArchive { db: db.clone(), files }))
}

/// The archive that is configured.
pub struct RunArchive {
    db: Db,
    files: RunFiles,
}

impl RunArchive {
    /// Moves the oldest runs of a workspace to a file. Returns how many, which is 0 once none is left.
    pub async fn move_oldest(&self, scope: &Scope, expiry: Expiry) -> Result<u64, StoreError> {
        let mut runs = OldRuns::lock(scope, &self.db, expiry, STEP).await?;
        let Some(first) = runs.first() else { return Ok(0) };
        let directory = format!("runs/removed/{first}");
        self.delete_unlisted(&directory).await?;
        let mut file = FileInProgress::begin(&self.files, new_name(&directory)).await?;
        let mut last = None;
        while file.bytes() < STEP_BYTES {
            let page = runs.page(last).await?;
            let Some(run) = page.last() else { break };
            last = Some(run.run.id);
            file.add(&page).await?;
        }
        let file = file.finish(self.db.now().await?).await?;
        runs.remove(last, &file).await
    }

    /// A run of a workspace. `None` if no file has it.
    pub async fn find(&self, scope: &Scope, id: Uuid) -> Result<Option<RunRow>, ArchiveFailure> {
        let names = run_archive::files_with(scope, &self.db, id).await?;
        match timeout(PATIENCE, self.look_up(scope, &names, id)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                tracing::error!(run = %id, %error, "the archive cannot be read");
                Err(ArchiveFailure::Unreadable)
            }
            Err(_) => Err(ArchiveFailure::Silent),
        }
    }

    async fn look_up(
        &self,
        scope: &Scope,
        names: &[String],
        id: Uuid,
    ) -> Result<Option<RunRow>, ArchiveError> {
        for name in names {
            let found = self.files.find(name, id).await?;
            if let Some(found) = found.filter(|run| run.workspace_id == scope.workspace) {
                return Ok(Some(found.run));
            }
        }
        Ok(None)
    }

    async fn store_partition(
        &self,
        partition: &str,
        runs: EndedRuns,
    ) -> Result<Vec<ArchivedFile>, StoreError> {
        let directory = format!("runs/{partition}");
        self.delete_unlisted(&directory).await?;
        let name = |_| new_name(&directory);
        let files = export(&self.db, &self.files, runs, name, |_| {}).await?;
        let rows: i64 = files.iter().map(ArchivedFile::rows).sum();
        tracing::info!(partition, rows, files = files.len(), "archived the runs of a partition");
        Ok(files)
    }

    /// Deletes what a server has left that was killed before it removed the runs of a directory. The caller has the
    /// lock without which no file of it is listed.
    async fn delete_unlisted(&self, directory: &str) -> Result<(), StoreError> {
        for name in self.files.list(directory).await? {
            if !persist(|| run_archive::is_listed(&self.db, &name)).await? {
                self.files.delete(&name).await?;
            }
        }
        Ok(())
    }
}

/// A name that no other file has. Names are in the order in which files are begun.
fn new_name(directory: &str) -> String {
    format!("{directory}/{}.parquet", Uuid::now_v7())
}

impl PartitionArchive for RunArchive {
    fn store<'a>(
        &'a self,
        partition: &'a str,
        runs: EndedRuns,
    ) -> BoxFuture<'a, Result<Vec<ArchivedFile>, StoreError>> {
        self.store_partition(partition, runs).boxed()
    }
}
