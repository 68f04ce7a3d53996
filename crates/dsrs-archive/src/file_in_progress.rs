//! A file of runs that is being written, and what the database is to know of it. May not know where the runs are from.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::error::ArchiveError;
use super::files::{RunFileWriter, RunFiles};
use dsrs_store::run_archive::{ArchivedFile, ArchivedRun, FileShare};

/// A file that is being written.
pub(super) struct FileInProgress {
    name: String,
    writer: RunFileWriter,
    rows: i64,
    shares: BTreeMap<Uuid, FileShare>,
}

impl FileInProgress {
    pub(super) async fn begin(files: &RunFiles, name: String) -> Result<Self, ArchiveError> {
        let writer = files.create(&name).await?;
        Ok(Self { name, writer, rows: 0, shares: BTreeMap::new() })
    }

    /// Adds runs whose ids follow those before.
    pub(super) async fn add(&mut self, runs: &[ArchivedRun]) -> Result<(), ArchiveError> {
        for ArchivedRun { workspace_id: workspace, run } in runs {
            let (workspace, id) = (*workspace, run.id);
            let new = FileShare { workspace, first_id: id, last_id: id, rows: 0 };
            let share = self.shares.entry(workspace).or_insert(new);
            share.last_id = id;
            share.rows += 1;
            self.rows += 1;
        }
        self.writer.add(runs).await
    }

    /// Its runs so far.
    pub(super) const fn rows(&self) -> i64 {
        self.rows
    }

    /// Its bytes so far.
    pub(super) fn bytes(&self) -> i64 {
        self.writer.bytes()
    }

    /// Completes it.
    pub(super) async fn finish(
        self,
        created_at: DateTime<Utc>,
    ) -> Result<ArchivedFile, ArchiveError> {
        let bytes = self.writer.finish().await?;
        let shares = self.shares.into_values().collect();
        Ok(ArchivedFile { name: self.name, shares, bytes, created_at })
    }
}
