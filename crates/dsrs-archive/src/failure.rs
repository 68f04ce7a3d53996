//! Why a run is not found in the archive although it may be there.

use dsrs_store::StoreError;

/// A look-up that failed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFailure {
    /// The database does not say which files may have the run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Object storage refuses to read a file, or the file is damaged. The log has the reason.
    #[error("the archive of runs cannot be read")]
    Unreadable,
    /// Object storage does not answer in time.
    #[error("the archive of runs does not answer")]
    Silent,
}
