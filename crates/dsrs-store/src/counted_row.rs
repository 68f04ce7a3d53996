//! What of the row of a run is counted in the sums of usage: its documents are not read. May not know why it is counted.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::StoreError;
use super::run::RunStatus;
use super::run_label::RunLabels;
use super::run_storage::StoredUsage;
use super::run_usage::SpentUsage;
use super::usage_count::CountedRun;

/// A run as it is counted.
#[derive(Debug, FromRow)]
pub(super) struct CountedRow {
    pub(super) workspace_id: Uuid,
    pub(super) created_by: String,
    graph_id: Uuid,
    graph_name: String,
    graph_version: i32,
    state_version: i32,
    created_at: DateTime<Utc>,
    #[sqlx(try_from = "String")]
    status: RunStatus,
    duration_ms: Option<i64>,
    tags: Option<String>,
    user_id: Option<String>,
    usage: String,
    model_usage: Option<String>,
    #[sqlx(flatten)]
    stored: StoredUsage,
}

impl CountedRow {
    pub(super) async fn read(
        connection: &mut PgConnection,
        workspace: Uuid,
        run: Uuid,
    ) -> Result<Option<Self>, StoreError> {
        let found = sqlx::query_as(
            "select workspace_id, created_by, graph_id, graph_name, graph_version, state_version, created_at, status,
                    duration_ms, tags::text, user_id, usage::text, model_usage::text, counts, total_cost
             from runs where workspace_id = $1 and id = $2",
        );
        Ok(found.bind(workspace).bind(run).fetch_optional(connection).await?)
    }

    /// The run, for the caller who created it.
    pub(super) fn counted(&self) -> CountedRun<'_> {
        CountedRun {
            workspace: self.workspace_id,
            actor: &self.created_by,
            graph: self.graph_id,
            graph_name: &self.graph_name,
            version: self.graph_version,
            state_version: self.state_version,
            created_at: self.created_at,
            status: self.status,
            duration_ms: self.duration_ms.unwrap_or(0),
            tags: RunLabels::list(self.tags.as_deref()),
            user: self.user_id.as_deref(),
        }
    }

    /// The usage that was counted of it.
    pub(super) fn usage(&self) -> Result<SpentUsage, StoreError> {
        let StoredUsage { counts, total_cost } = &self.stored;
        let models = self.model_usage.as_deref();
        SpentUsage::stored(&self.usage, models, counts.as_deref(), *total_cost)
    }
}
