//! Uploads of batches: the items arrive in pieces. In the end the batch, its items and its job are
//! stored, or nothing is.

use sqlx::{Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::batch::BatchRow;
use super::job::{self, Ending};
use super::run_label::RunLabels;
use super::{Db, Scope, StoreError};

/// A batch whose items are being stored. Dropping it before [`BatchUpload::accept`] leaves nothing.
pub struct BatchUpload<'a> {
    scope: &'a Scope,
    db: Db,
    batch: Uuid,
    stored: i32,
    tx: Transaction<'static, Postgres>,
    _place: OwnedSemaphorePermit,
}

impl<'a> BatchUpload<'a> {
    /// Opens the upload of a batch with this id, among the writers of uploads.
    pub async fn begin(scope: &'a Scope, db: &Db, batch: Uuid) -> Result<Self, StoreError> {
        let place = db.upload_place().await?;
        let tx = db.begin_upload(scope).await?;
        Ok(Self { scope, db: db.clone(), batch, stored: 0, tx, _place: place })
    }

    /// Stores the next items: their inputs as JSON texts.
    pub async fn add(&mut self, inputs: &[String]) -> Result<(), StoreError> {
        let first = self.stored;
        let positions: Vec<i32> = (first..).take(inputs.len()).collect();
        sqlx::query!(
            "insert into batch_items (batch_id, position, workspace_id, inputs, size)
             select $1, position, $2, inputs::json, octet_length(inputs)
             from unnest($3::int4[], $4::text[]) as item (position, inputs)",
            self.batch,
            self.scope.workspace,
            &positions,
            inputs
        )
        .execute(&mut *self.tx)
        .await?;
        self.stored = first.saturating_add(i32::try_from(inputs.len()).unwrap_or(i32::MAX));
        Ok(())
    }

    /// Stores the batch itself and its job. `request` has the options of the request, as JSON text for the worker.
    pub async fn accept(
        mut self,
        batch: &BatchRow,
        request: &str,
        ending: &Ending,
    ) -> Result<(), StoreError> {
        let inserted = sqlx::query(
            "insert into batches (id, workspace_id, graph_id, graph_name, graph_version,
                                  state_version, status, concurrency, dedupe, total,
                                  created_at, created_by, tags, session_id, user_id, metadata)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::text::json, $14, $15,
                     $16::text::json)",
        );
        let RunLabels { tags, session_id, user_id, metadata } = &batch.labels;
        let inserted = inserted.bind(self.batch).bind(self.scope.workspace).bind(batch.graph_id);
        let inserted = inserted.bind(&batch.graph_name).bind(batch.graph_version);
        let inserted = inserted.bind(batch.state_version).bind(batch.status.as_str());
        let inserted = inserted.bind(batch.concurrency).bind(batch.dedupe).bind(batch.counts.total);
        let inserted = inserted.bind(batch.created_at).bind(&*self.scope.actor).bind(tags);
        let inserted = inserted.bind(session_id).bind(user_id).bind(metadata);
        inserted.execute(&mut *self.tx).await?;
        job::commit_queued(self.scope, &self.db, self.tx, batch, request, ending).await
    }
}
