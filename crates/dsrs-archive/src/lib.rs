//! The archive of runs: before retention removes runs, they are written to files in object storage, where look-ups
//! find them. A file is listed in the transaction that removes its runs, so a run is in the database or in a listed
//! file. May not know when runs are removed.

#[cfg(not(feature = "archive"))]
mod absent;
#[cfg(feature = "archive")]
mod columns;
#[cfg(feature = "archive")]
mod error;
#[cfg(feature = "archive")]
mod export;
mod failure;
#[cfg(feature = "archive")]
mod file_in_progress;
#[cfg(feature = "archive")]
mod files;
#[cfg(feature = "archive")]
mod object_reader;
#[cfg(feature = "archive")]
mod run_archive;

#[cfg(not(feature = "archive"))]
pub use absent::{NoRunArchive as RunArchive, open};
pub use failure::ArchiveFailure;
#[cfg(feature = "archive")]
pub use run_archive::{RunArchive, open};
#[cfg(feature = "archive")]
pub use {error::ArchiveError, export::export, files::RunFiles};
