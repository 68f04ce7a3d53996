//! How the documents of a run are stored: in columns with JSON until it ends, in a body afterwards. May not know what a
//! document says.

use std::sync::Arc;

use dsrs::lm::Prefix;
use sqlx::{FromRow, PgConnection};

use super::StoreError;
use super::run::RunRow;
use super::run_bodies::RunBodies;
use super::run_body::OwnedDocuments;
use super::run_usage::SpentUsage;

/// How the documents of a run are stored. A run that was read has none of it.
#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct RunStorage {
    /// The prefixes that prompts in the trace may begin with: each is stored once.
    #[sqlx(skip)]
    pub prefixes: Vec<Arc<Prefix>>,
    /// The usage, if it is known besides its text and the trace.
    #[sqlx(skip)]
    pub known_usage: Option<SpentUsage>,
    /// The documents, until they are read.
    pub(super) body: Option<Vec<u8>>,
    #[sqlx(flatten)]
    pub(super) usage: StoredUsage,
}

/// The usage of a run in its compact form, until it is read.
#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct StoredUsage {
    pub(super) counts: Option<Vec<u8>>,
    pub(super) total_cost: Option<f64>,
}

impl StoredUsage {
    /// The JSON text, if the row has the compact form.
    pub(super) fn take_text(&mut self) -> Result<Option<String>, StoreError> {
        let Some(counts) = self.counts.take() else { return Ok(None) };
        let read = SpentUsage::read(&counts, self.total_cost.take());
        read.map(|(_, text)| Some(text)).map_err(|error| StoreError::internal(error.to_string()))
    }
}

impl RunStorage {
    /// With these prefixes.
    #[must_use]
    pub fn with_prefixes(prefixes: Vec<Arc<Prefix>>) -> Self {
        Self { prefixes, ..Self::default() }
    }

    /// With this usage, too.
    #[must_use]
    pub fn with_usage(self, usage: SpentUsage) -> Self {
        Self { known_usage: Some(usage), ..self }
    }
}

/// A run as it is stored, with its usage by model.
#[derive(Clone, Debug, FromRow)]
pub(super) struct StoredRow {
    pub(super) model_usage: Option<String>,
    #[sqlx(flatten)]
    pub(super) run: RunRow,
}

impl StoredRow {
    /// The usage that was counted of it.
    pub(super) fn usage(&self) -> Result<SpentUsage, StoreError> {
        let StoredUsage { counts, total_cost } = &self.run.storage.usage;
        let models = self.model_usage.as_deref();
        SpentUsage::stored(&self.run.usage, models, counts.as_deref(), *total_cost)
    }
}

/// The columns of [`RunRow`].
pub(super) const COLUMNS: &str = "id, graph_id, graph_name, graph_version, state_version, status, created_at, \
     started_at, finished_at, duration_ms, inputs::text, outputs::text, error::text, usage::text, nodes::text, \
     trace::text, created_by, tags::text, session_id, user_id, metadata::text, body, counts, total_cost";

/// Reads the documents of runs that have a body, on a connection that sees their workspaces.
pub(super) async fn complete(
    bodies: &RunBodies,
    connection: &mut PgConnection,
    mut runs: Vec<RunRow>,
) -> Result<Vec<RunRow>, StoreError> {
    for run in &mut runs {
        run.usage =
            run.storage.usage.take_text()?.unwrap_or_else(|| std::mem::take(&mut run.usage));
    }
    let packed: Vec<&[u8]> = runs.iter().filter_map(|run| run.storage.body.as_deref()).collect();
    let documents = bodies.read(connection, &packed).await?;
    let with_body = runs.iter_mut().filter_map(|run| run.storage.body.take().map(|_| run));
    for (run, read) in with_body.zip(documents) {
        let OwnedDocuments { inputs, outputs, nodes, trace } = read;
        (run.inputs, run.outputs, run.nodes, run.trace) = (inputs, outputs, nodes, trace);
    }
    Ok(runs)
}
