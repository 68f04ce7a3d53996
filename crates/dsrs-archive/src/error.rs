//! What can go wrong with the files of the archive.

use dsrs_store::StoreError;

/// Why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveError(String);

impl ArchiveError {
    pub(super) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<ArchiveError> for StoreError {
    fn from(error: ArchiveError) -> Self {
        Self::internal(format!("the archive: {error}"))
    }
}
