//! A run that has ended, as its row has it: few columns, its usage and its body. Made by the caller who ends the run, so
//! that the documents themselves wait for no commit. May not know the statements that write it.

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use super::Scope;
use super::run::RunRow;
use super::run_bodies::RunBodies;
use super::run_body::RunDocuments;
use super::run_label::RunLabel;
use super::run_label_index;
use super::run_usage::RunUsage;

/// A packed run. Cheap to share.
#[derive(Clone, Debug)]
pub(crate) struct PackedRun {
    pub(crate) workspace: Uuid,
    /// The label of the caller.
    pub(crate) actor: Arc<str>,
    /// The row without its documents, except the error.
    pub(crate) row: RunRow,
    /// By what it is found.
    pub(crate) found_by: BTreeSet<RunLabel>,
    pub(crate) usage: RunUsage,
    /// The compact form of the usage.
    pub(crate) counts: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl PackedRun {
    /// Packs a run with what is known of its graph. Never waits.
    pub(crate) fn new(scope: &Scope, bodies: &RunBodies, run: &RunRow) -> Self {
        let documents = RunDocuments {
            inputs: &run.inputs,
            outputs: run.outputs.as_deref(),
            nodes: &run.nodes,
            trace: &run.trace,
        };
        let known = run.storage.known_usage.clone();
        let usage = known.unwrap_or_else(|| RunUsage::of(&run.usage, &run.trace));
        Self {
            workspace: scope.workspace,
            actor: scope.actor.clone(),
            row: run.without_documents(),
            found_by: run_label_index::labels_of(run),
            counts: usage.compact(&run.usage),
            usage,
            body: bodies.write(scope.workspace, run, &documents),
        }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.body.len() + self.counts.len() + self.row.size()
    }
}
