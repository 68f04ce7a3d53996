//! A run that has ended, as its row has it. Made by the caller who ends the run, so that in the compact form the
//! documents themselves wait for no commit. May not know the statements that write it.

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use super::Scope;
use super::run::RunRow;
use super::run_bodies::RunBodies;
use super::run_body::RunDocuments;
use super::run_label::RunLabel;
use super::run_label_index;
use super::run_usage::SpentUsage;

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
    pub(crate) usage: SpentUsage,
    pub(crate) form: PackedForm,
}

/// The documents and the usage. A server stores runs in one form or in the other, so each has parameters for both.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedForm {
    /// The usage in the compact form.
    pub(crate) counts: Option<Vec<u8>>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) json: JsonForm,
}

/// Documents as JSON text; none of a run in the compact form.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonForm {
    pub(crate) inputs: Option<String>,
    pub(crate) outputs: Option<String>,
    pub(crate) usage: Option<String>,
    pub(crate) nodes: Option<String>,
    pub(crate) trace: Option<String>,
    pub(crate) models: Option<String>,
}

impl PackedRun {
    /// Packs a run in the form of the database. Never waits.
    pub(crate) fn new(scope: &Scope, bodies: &RunBodies, run: &RunRow) -> Self {
        let known = run.storage.known_usage.clone();
        let usage = known.unwrap_or_else(|| SpentUsage::of(&run.usage, &run.trace));
        let form = match bodies.is_compact() {
            true => PackedForm::compact(scope, bodies, run, &usage),
            false => PackedForm::json(run, &usage),
        };
        Self::with_form(scope, run, usage, form)
    }

    /// Packs a run in the compact form.
    pub(crate) fn compact(
        scope: &Scope,
        bodies: &RunBodies,
        run: &RunRow,
        usage: SpentUsage,
    ) -> Self {
        let form = PackedForm::compact(scope, bodies, run, &usage);
        Self::with_form(scope, run, usage, form)
    }

    fn with_form(scope: &Scope, run: &RunRow, usage: SpentUsage, form: PackedForm) -> Self {
        Self {
            workspace: scope.workspace,
            actor: scope.actor.clone(),
            row: run.without_documents(),
            found_by: run_label_index::labels_of(run),
            usage,
            form,
        }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        let bytes = [&self.form.counts, &self.form.body].into_iter().flatten().map(Vec::len);
        let JsonForm { inputs, outputs, usage, nodes, trace, models } = &self.form.json;
        let texts = [inputs, outputs, usage, nodes, trace, models].into_iter().flatten();
        self.row.size() + bytes.sum::<usize>() + texts.map(String::len).sum::<usize>()
    }
}

impl PackedForm {
    fn compact(scope: &Scope, bodies: &RunBodies, run: &RunRow, usage: &SpentUsage) -> Self {
        let documents = RunDocuments {
            inputs: &run.inputs,
            outputs: run.outputs.as_deref(),
            nodes: &run.nodes,
            trace: &run.trace,
        };
        let body = bodies.write(scope.workspace, run, &documents);
        Self {
            counts: Some(usage.compact(&run.usage)),
            body: Some(body),
            json: JsonForm::default(),
        }
    }

    fn json(run: &RunRow, usage: &SpentUsage) -> Self {
        let json = JsonForm {
            inputs: Some(run.inputs.clone()),
            outputs: run.outputs.clone(),
            usage: Some(run.usage.clone()),
            nodes: Some(run.nodes.clone()),
            trace: Some(run.trace.clone()),
            models: usage.models_json(),
        };
        Self { counts: None, body: None, json }
    }
}
