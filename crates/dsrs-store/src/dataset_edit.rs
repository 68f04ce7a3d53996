//! Datasets being made and changed: a version's examples come in pieces, and all of it is there in
//! the end, or nothing. One writer at a time holds the dataset's row from look to commit.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::dataset::{self, DatasetRow, DatasetVersionRow};
use super::dataset_example::{self, ExampleRow, PageLimits};
use super::error::violated_index;
use super::run::{self, RunValues};
use super::run_bodies::RunBodies;
use super::{Db, Scope, StoreError, feedback};

/// Positions that one statement copies, so that none takes too long.
const COPIED: i32 = 50_000;

/// An example to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewExample {
    /// Its id in the dataset.
    pub id: String,
    /// The hash of what it says.
    pub hash: Vec<u8>,
    /// The split that it names.
    pub split: Option<String>,
    /// The length of its text.
    pub size: i32,
    /// Its inputs, as JSON text.
    pub inputs: String,
    /// What is expected, as JSON text.
    pub expected: String,
    /// Whether its values are texts of table cells.
    pub cells: bool,
}

/// What is known of a version once its examples are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDatasetVersion<'a> {
    /// What it says of itself: a JSON string, as JSON text.
    pub description: Option<&'a str>,
    /// The length of the examples' texts.
    pub bytes: i64,
    /// How many examples name which split: JSON text.
    pub splits: &'a str,
    /// The hash of the examples' texts.
    pub content_hash: &'a str,
    pub at: DateTime<Utc>,
}

/// A dataset whose next version is being made. Dropping it lets go and changes nothing.
pub struct DatasetEdit {
    tx: Transaction<'static, Postgres>,
    bodies: Arc<RunBodies>,
    scope: Scope,
    id: Uuid,
    name: String,
    head: Option<DatasetRow>,
    stored: i32,
    _place: OwnedSemaphorePermit,
}

/// Begins a dataset; a name in use is [`StoreError::AlreadyExists`].
pub async fn create(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    name: &str,
    at: DateTime<Utc>,
) -> Result<DatasetEdit, StoreError> {
    let place = db.upload_place().await?;
    let mut tx = db.begin_upload(scope).await?;
    let inserted = sqlx::query!(
        "insert into datasets (id, workspace_id, name, version, created_at, created_by)
         values ($1, $2, $3, 1, $4, $5)",
        id,
        scope.workspace,
        name,
        at,
        &*scope.actor
    )
    .execute(&mut *tx)
    .await;
    match inserted {
        Err(error) if violated_index(&error) == Some("datasets_name") => {
            return Err(StoreError::AlreadyExists { what: "dataset", name: name.to_owned() });
        }
        other => other?,
    };
    let (scope, name) = (scope.clone(), name.to_owned());
    let bodies = db.bodies.clone();
    Ok(DatasetEdit { tx, bodies, scope, id, name, head: None, stored: 0, _place: place })
}

/// Locks a dataset for its next version; waits while another writer holds it.
pub async fn lock(scope: &Scope, db: &Db, name: &str) -> Result<DatasetEdit, StoreError> {
    let place = db.upload_place().await?;
    let mut tx = db.begin_upload(scope).await?;
    let missing = || StoreError::not_found("dataset", name);
    let seen = dataset::find(scope, &mut tx, name, None).await?.ok_or_else(missing)?;
    sqlx::query_scalar!(
        "select id from datasets where id = $1 and deleted_at is null for no key update",
        seen.id
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(missing)?;
    // once more, to see what the writer before us committed
    let head = dataset::find(scope, &mut tx, name, None).await?.ok_or_else(missing)?;
    let (scope, name, id) = (scope.clone(), head.name.clone(), head.id);
    let bodies = db.bodies.clone();
    Ok(DatasetEdit { tx, bodies, scope, id, name, head: Some(head), stored: 0, _place: place })
}

impl DatasetEdit {
    /// The newest version, as it stays until this is let go; `None` of a new dataset.
    pub fn head(&self) -> Option<&DatasetRow> {
        self.head.as_ref()
    }

    fn next(&self) -> i32 {
        self.head.as_ref().map_or(1, |head| head.version.version.saturating_add(1))
    }

    /// Examples of the version before, behind a position.
    pub async fn known(
        &mut self,
        after: i32,
        limits: PageLimits,
    ) -> Result<Vec<ExampleRow>, StoreError> {
        let Some(head) = &self.head else { return Ok(Vec::new()) };
        let version = (self.id, head.version.version);
        dataset_example::page_on(&self.scope, &mut self.tx, version, None, after, limits).await
    }

    /// The inputs and outputs of these runs, over the connection of the upload: a caller that holds one
    /// does not wait for another.
    pub async fn runs(&mut self, ids: &[Uuid]) -> Result<Vec<RunValues>, StoreError> {
        run::run_values(&self.scope, &self.bodies, &mut self.tx, ids).await
    }

    /// The newest corrected outputs of these runs, over the same connection.
    pub async fn corrections(&mut self, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>, StoreError> {
        feedback::corrections(&self.scope, &mut self.tx, ids).await
    }

    /// Begins the version with all examples of the one before.
    pub async fn keep(&mut self) -> Result<(), StoreError> {
        let Some(head) = &self.head else { return Ok(()) };
        let (from, count, next) = (head.version.version, head.version.count, self.next());
        for first in (0..count).step_by(COPIED.unsigned_abs() as usize) {
            sqlx::query!(
                "insert into dataset_examples (dataset_id, version, position, workspace_id,
                                               example_id, hash, split, size)
                 select dataset_id, $3, position, workspace_id, example_id, hash, split, size
                 from dataset_examples
                 where dataset_id = $1 and version = $2 and position >= $4 and position < $5",
                self.id,
                from,
                next,
                first,
                first.saturating_add(COPIED)
            )
            .execute(&mut *self.tx)
            .await?;
        }
        self.stored = count;
        Ok(())
    }

    /// Stores the next examples.
    pub async fn add(&mut self, examples: &[NewExample]) -> Result<(), StoreError> {
        let first = self.stored;
        let positions: Vec<i32> = (first..).take(examples.len()).collect();
        let column = |read: fn(&NewExample) -> &str| -> Vec<String> {
            examples.iter().map(|example| read(example).to_owned()).collect()
        };
        let hashes: Vec<Vec<u8>> = examples.iter().map(|example| example.hash.clone()).collect();
        let splits: Vec<Option<String>> = examples.iter().map(|e| e.split.clone()).collect();
        let sizes: Vec<i32> = examples.iter().map(|example| example.size).collect();
        let cells: Vec<bool> = examples.iter().map(|example| example.cells).collect();
        sqlx::query!(
            "insert into dataset_contents (dataset_id, hash, workspace_id, inputs, expected, cells)
             select $1, hash, $2, inputs::json, expected::json, cells
             from unnest($3::bytea[], $4::text[], $5::text[], $6::bool[])
                  as item (hash, inputs, expected, cells)
             on conflict do nothing",
            self.id,
            self.scope.workspace,
            &hashes,
            &column(|example| &example.inputs),
            &column(|example| &example.expected),
            &cells
        )
        .execute(&mut *self.tx)
        .await?;
        sqlx::query!(
            "insert into dataset_examples (dataset_id, version, position, workspace_id,
                                           example_id, hash, split, size)
             select $1, $2, position, $3, id, hash, split, size
             from unnest($4::int4[], $5::text[], $6::bytea[], $7::text[], $8::int4[])
                  as item (position, id, hash, split, size)",
            self.id,
            self.next(),
            self.scope.workspace,
            &positions,
            &column(|example| &example.id),
            &hashes,
            &splits as &[Option<String>],
            &sizes
        )
        .execute(&mut *self.tx)
        .await?;
        self.stored = first.saturating_add(i32::try_from(examples.len()).unwrap_or(i32::MAX));
        Ok(())
    }

    /// Makes the version of what was stored the newest.
    pub async fn finish(mut self, new: NewDatasetVersion<'_>) -> Result<DatasetRow, StoreError> {
        let version = DatasetVersionRow {
            version: self.next(),
            description: new.description.map(str::to_owned),
            count: self.stored,
            bytes: new.bytes,
            splits: new.splits.to_owned(),
            content_hash: new.content_hash.to_owned(),
            created_at: new.at,
            created_by: self.scope.actor.to_string(),
        };
        sqlx::query!(
            "insert into dataset_versions (dataset_id, version, workspace_id, description, count,
                                           bytes, splits, content_hash, created_at, created_by)
             values ($1, $2, $3, $4::text::json, $5, $6, $7::text::json, $8, $9, $10)",
            self.id,
            version.version,
            self.scope.workspace,
            new.description,
            version.count,
            version.bytes,
            version.splits,
            version.content_hash,
            version.created_at,
            version.created_by
        )
        .execute(&mut *self.tx)
        .await?;
        sqlx::query!("update datasets set version = $2 where id = $1", self.id, version.version)
            .execute(&mut *self.tx)
            .await?;
        let action = match self.head {
            None => AuditAction::Create,
            Some(_) => AuditAction::Change,
        };
        let thing = AuditThing::named("dataset", self.id, &self.name).version(version.version);
        audit::add(&self.scope, &mut self.tx, action, thing, new.at).await?;
        self.tx.commit().await?;
        let made_at = self.head.map_or(new.at, |head| head.made_at);
        Ok(DatasetRow { id: self.id, name: self.name, made_at, version })
    }

    /// Deletes the dataset softly: who holds its id still reads it, its name is free.
    pub async fn delete(mut self, at: DateTime<Utc>) -> Result<(), StoreError> {
        sqlx::query!(
            "update datasets set deleted_at = $2, deleted_by = $3 where id = $1",
            self.id,
            at,
            &*self.scope.actor
        )
        .execute(&mut *self.tx)
        .await?;
        let thing = AuditThing::named("dataset", self.id, &self.name);
        audit::add(&self.scope, &mut self.tx, AuditAction::Delete, thing, at).await?;
        Ok(self.tx.commit().await?)
    }
}
