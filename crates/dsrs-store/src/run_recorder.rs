//! Records finished runs that clients waited for: before their answer, after it, or never. May not know how
//! a run is made, nor how it is written (`group_writer`).

use std::sync::Arc;

use super::group_writer::{self, GroupWriter, Write, WriterStats, WriterTask};
use super::packed_run::PackedRun;
use super::run::RunRow;
use super::run_bodies::RunBodies;
use super::{Db, Scope, StoreError};
use dsrs_config::Record;

/// Takes finished runs. Cheap to clone.
#[derive(Clone)]
pub struct RunRecorder {
    mode: Record,
    writer: GroupWriter,
    bodies: Arc<RunBodies>,
}

/// A recorder, and the task that must run for it. From now on the task writes what background runs store
/// over this database, too.
pub fn recorder(db: Db, mode: Record) -> (RunRecorder, WriterTask) {
    let (writer, task) = group_writer::open(db.clone());
    let bodies = db.bodies.clone();
    db.use_writer(writer.clone());
    (RunRecorder { mode, writer, bodies }, task)
}

impl RunRecorder {
    /// Hands a finished run over. In [`Record::Ack`] this returns when it is committed, or says
    /// why it could not be. The run is written even if the caller stops waiting.
    pub async fn record(&self, scope: &Scope, run: &RunRow) -> Result<(), StoreError> {
        if self.mode == Record::Off {
            return Ok(());
        }
        let write = Write::Record { run: Arc::new(PackedRun::new(scope, &self.bodies, run)) };
        match self.mode {
            Record::Ack => self.writer.write(write).await.map(drop),
            _ => self.writer.enqueue(write).await,
        }
    }

    /// When a run is written: before its answer, after it, or never.
    pub fn mode(&self) -> Record {
        self.mode
    }

    /// What has been written so far.
    pub fn stats(&self) -> WriterStats {
        self.writer.stats()
    }

    /// How many writes wait.
    pub fn queued(&self) -> usize {
        self.writer.queued()
    }

    /// Takes no more runs. The task ends when everything taken so far is written; wait for it before
    /// closing the database.
    pub fn close(&self) {
        self.writer.close();
    }
}
