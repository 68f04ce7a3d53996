//! Batches being accepted: the items come in pieces, and all of it is there in the end, with the
//! job that works on it, or nothing.

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::batch::BatchRow;
use super::job::{self, JobKind, NewJob};
use super::{Db, Scope, StoreError};

/// A batch whose items are being stored. Dropped before [`Upload::accept`], it leaves nothing.
pub struct Upload<'a> {
    scope: &'a Scope,
    batch: Uuid,
    stored: i32,
    tx: Transaction<'static, Postgres>,
}

impl<'a> Upload<'a> {
    /// Begins with a batch of this id.
    pub async fn begin(scope: &'a Scope, db: &Db, batch: Uuid) -> Result<Self, StoreError> {
        Ok(Self { scope, batch, stored: 0, tx: db.pool().begin().await? })
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

    /// Stores the batch itself and its job. `request` is how it was asked for: JSON text, read by
    /// whoever works on it.
    pub async fn accept(mut self, batch: &BatchRow, request: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into batches (id, workspace_id, graph_id, graph_name, graph_version,
                                  state_version, status, concurrency, dedupe, total,
                                  created_at, created_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            self.batch,
            self.scope.workspace,
            batch.graph_id,
            batch.graph_name,
            batch.graph_version,
            batch.state_version,
            batch.status.as_str(),
            batch.concurrency,
            batch.dedupe,
            batch.counts.total,
            batch.created_at,
            &*self.scope.actor
        )
        .execute(&mut *self.tx)
        .await?;
        let new = NewJob { id: self.batch, kind: JobKind::Batch, request, at: batch.created_at };
        job::add(self.scope, &mut self.tx, new).await?;
        Ok(self.tx.commit().await?)
    }
}
