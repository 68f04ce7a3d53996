//! Writes ended runs of all workspaces to files, in the order of their ids. May not know why.

use uuid::Uuid;

use super::file_in_progress::FileInProgress;
use super::files::RunFiles;
use dsrs_store::persist;
use dsrs_store::run_archive::{ArchivedFile, EndedRuns};
use dsrs_store::{Db, StoreError};

/// A file has at most so many runs, and few more bytes than this.
const MOST_RUNS: i64 = 100_000;
const MOST_BYTES: i64 = 256 << 20;

/// Writes runs to files. `name` makes the name of the file that begins with a run, and `progress` is called with each
/// file that is complete.
pub async fn export(
    db: &Db,
    files: &RunFiles,
    runs: EndedRuns,
    name: impl Fn(Uuid) -> String,
    progress: impl Fn(&ArchivedFile),
) -> Result<Vec<ArchivedFile>, StoreError> {
    let (mut complete, mut current, mut last) = (Vec::new(), None::<FileInProgress>, None);
    loop {
        let page = persist(|| runs.page(db, last)).await?;
        let is_full = current.as_ref().is_some_and(is_full);
        if (page.is_empty() || is_full)
            && let Some(file) = current.take()
        {
            let file = file.finish(db.now().await?).await?;
            progress(&file);
            complete.push(file);
        }
        let Some(first) = page.first().map(|run| run.run.id) else { return Ok(complete) };
        let file = match current.take() {
            Some(file) => file,
            None => FileInProgress::begin(files, name(first)).await?,
        };
        last = page.last().map(|run| run.run.id);
        current.insert(file).add(&page).await?;
    }
}

fn is_full(file: &FileInProgress) -> bool {
    file.rows() >= MOST_RUNS || file.bytes() >= MOST_BYTES
}
