//! Webhooks: created, listed, changed, deleted. Their secrets are written here and read by `webhook_delivery`, and
//! are in no row that is shown. May not know what a secret looks like.

use chrono::{DateTime, Utc};
use dsrs::document::parse_word;
use dsrs_api::webhook::{ScoreThreshold, WebhookSettings};
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::{AssertSqlSafe, FromRow, Postgres, QueryBuilder, Transaction};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// Waits until no other transaction creates a webhook of the workspace: otherwise two could both be the last.
const CREATION_TURN: &str =
    "select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1::uuid::text, 0))";

/// The most webhooks of a workspace.
pub const MOST_WEBHOOKS: i64 = 50;

/// What clients set of a webhook, as the table has it.
#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct WebhookColumns {
    /// Its name, unique within the workspace.
    pub name: String,
    /// Where messages are sent.
    pub url: String,
    /// A text for people.
    pub description: String,
    /// The events that it reports.
    pub events: Vec<String>,
    /// The graph whose events it reports; `None`: every graph.
    pub graph_id: Option<Uuid>,
    /// The name of that graph.
    pub graph_name: Option<String>,
    /// The metric of `score.below`.
    pub score_metric: Option<String>,
    /// The threshold of that metric.
    pub score_below: Option<f64>,
    /// Whether it reports anything.
    pub enabled: bool,
}

impl WebhookColumns {
    /// The columns of a document whose graph is known.
    #[must_use]
    pub fn of(settings: WebhookSettings, graph_id: Option<Uuid>) -> Self {
        let WebhookSettings { name, url, description, events, graph, score, enabled } = settings;
        let events = events.into_iter().map(|event| event.as_str().to_owned()).collect();
        let (score_metric, score_below) = score.map(|score| (score.metric, score.below)).unzip();
        let graph_name = graph;
        Self {
            name,
            url,
            description,
            events,
            graph_id,
            graph_name,
            score_metric,
            score_below,
            enabled,
        }
    }

    /// The document. Events of a newer release are left out.
    #[must_use]
    pub fn document(&self) -> WebhookSettings {
        let score = self.score_metric.clone().zip(self.score_below);
        WebhookSettings {
            name: self.name.clone(),
            url: self.url.clone(),
            description: self.description.clone(),
            events: self.events.iter().filter_map(|word| parse_word(word)).collect(),
            graph: self.graph_name.clone(),
            score: score.map(|(metric, below)| ScoreThreshold { metric, below }),
            enabled: self.enabled,
        }
    }
}

/// A webhook, without its secrets.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct WebhookRow {
    pub id: Uuid,
    /// What clients set.
    #[sqlx(flatten)]
    pub settings: WebhookColumns,
    /// Why the server disabled it: `failing` or `gone`.
    pub disabled_because: Option<String>,
    /// Since when every attempt has failed.
    pub failing_since: Option<DateTime<Utc>>,
    /// How long the secret before signs, too.
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When a client changed it.
    pub updated_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
    /// Counts the changes of clients.
    pub revision: i32,
}

impl ListedRow for WebhookRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const COLUMNS: &str = "id, name, url, description, events, graph_id, graph_name, score_metric, score_below, enabled,
     disabled_because, failing_since,
     case when previous_secret_until > clock_timestamp() then previous_secret_until end as previous_secret_until,
     created_at, updated_at, created_by, revision";

/// Creates a webhook. A name that a webhook of the workspace has is [`StoreError::AlreadyExists`]; `None` if the
/// workspace has as many as it may.
pub async fn create(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    new: &WebhookColumns,
    secret: &str,
    at: DateTime<Utc>,
) -> Result<Option<WebhookRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    sqlx::query(CREATION_TURN).bind(scope.workspace).execute(&mut *tx).await?;
    let sql = format!(
        "insert into webhooks (name, url, description, events, graph_id, graph_name, score_metric, score_below,
                               enabled, updated_at, workspace_id, id, secret, created_by, created_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $10
         where (select count(*) from webhooks where workspace_id = $11) < {MOST_WEBHOOKS}
         returning {COLUMNS}"
    );
    let inserted = bind_settings(sqlx::query_as(AssertSqlSafe(sql)), new, at)
        .bind(scope.workspace)
        .bind(id)
        .bind(secret)
        .bind(&*scope.actor)
        .fetch_optional(&mut *tx)
        .await;
    let row: Option<WebhookRow> = inserted.map_err(|error| name_taken(error, &new.name))?;
    commit_changed(scope, tx, AuditAction::Create, row, at).await
}

/// Binds the parameters 1 to 10: what clients set, and the time of it.
fn bind_settings<'q, O>(
    query: QueryAs<'q, Postgres, O, PgArguments>,
    new: &'q WebhookColumns,
    at: DateTime<Utc>,
) -> QueryAs<'q, Postgres, O, PgArguments> {
    query
        .bind(&new.name)
        .bind(&new.url)
        .bind(&new.description)
        .bind(&new.events)
        .bind(new.graph_id)
        .bind(&new.graph_name)
        .bind(&new.score_metric)
        .bind(new.score_below)
        .bind(new.enabled)
        .bind(at)
}

/// Commits a change of a webhook with its entry in the audit log. Without a row nothing has changed.
async fn commit_changed(
    scope: &Scope,
    mut tx: Transaction<'static, Postgres>,
    action: AuditAction,
    changed: Option<WebhookRow>,
    at: DateTime<Utc>,
) -> Result<Option<WebhookRow>, StoreError> {
    let Some(row) = changed else { return Ok(None) };
    let thing = AuditThing::named("webhook", row.id, &row.settings.name);
    audit::add(scope, &mut tx, action, thing, at).await?;
    tx.commit().await?;
    Ok(Some(row))
}

fn name_taken(error: sqlx::Error, name: &str) -> StoreError {
    match violated_index(&error) {
        Some("webhooks_name") => {
            StoreError::AlreadyExists { what: "webhook", name: name.to_owned() }
        }
        _ => error.into(),
    }
}

pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<WebhookRow, StoreError> {
    let sql = format!("select {COLUMNS} from webhooks where workspace_id = $1 and id = $2");
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(id);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("webhook", id))
}

/// One page of the webhooks of the workspace, newest first.
pub async fn list(scope: &Scope, db: &Db, list: ListQuery) -> Result<Page<WebhookRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from webhooks where workspace_id = ").push_bind(scope.workspace);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// Replaces what clients set, unless another change was made after `seen`: then `None`. One that is enabled counts
/// as not failing.
pub async fn update(
    scope: &Scope,
    db: &Db,
    seen: &WebhookRow,
    new: &WebhookColumns,
    at: DateTime<Utc>,
) -> Result<Option<WebhookRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = format!(
        "update webhooks
         set name = $1, url = $2, description = $3, events = $4, graph_id = $5, graph_name = $6,
             score_metric = $7, score_below = $8, enabled = $9, updated_at = $10,
             revision = revision + 1,
             disabled_because = case when $9 then null else disabled_because end,
             failing_since = case when $9 and not enabled then null else failing_since end
         where workspace_id = $11 and id = $12 and updated_at = $13
         returning {COLUMNS}"
    );
    let updated = bind_settings(sqlx::query_as(AssertSqlSafe(sql)), new, at)
        .bind(scope.workspace)
        .bind(seen.id)
        .bind(seen.updated_at)
        .fetch_optional(&mut *tx)
        .await;
    let row: Option<WebhookRow> = updated.map_err(|error| name_taken(error, &new.name))?;
    commit_changed(scope, tx, AuditAction::Change, row, at).await
}

/// Replaces the secret of a webhook, if it is in this revision or none is named; otherwise `None`. The one before signs,
/// too, until a time.
pub async fn rotate_secret(
    scope: &Scope,
    db: &Db,
    (id, revision): (Uuid, Option<i32>),
    secret: &str,
    previous_until: DateTime<Utc>,
    at: DateTime<Utc>,
) -> Result<Option<WebhookRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = format!(
        "update webhooks
         set previous_secret = secret, previous_secret_until = $4, secret = $3, updated_at = $5,
             revision = revision + 1
         where workspace_id = $1 and id = $2 and revision = coalesce($6, revision)
         returning {COLUMNS}"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(id).bind(secret);
    let row = row.bind(previous_until).bind(at).bind(revision).fetch_optional(&mut *tx).await?;
    commit_changed(scope, tx, AuditAction::Change, row, at).await
}

/// Deletes a webhook that was seen in this revision. Its messages are not sent any more; retention removes them. False
/// if there is none in this revision any more.
pub async fn delete(
    scope: &Scope,
    db: &Db,
    (id, revision): (Uuid, i32),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let name: Option<String> = sqlx::query_scalar(
        "delete from webhooks where workspace_id = $1 and id = $2 and revision = $3 returning name",
    )
    .bind(scope.workspace)
    .bind(id)
    .bind(revision)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(name) = name else { return Ok(false) };
    let thing = AuditThing::named("webhook", id, &name);
    audit::add(scope, &mut tx, AuditAction::Delete, thing, at).await?;
    tx.commit().await?;
    Ok(true)
}
