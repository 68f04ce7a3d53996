//! The messages for webhooks: listed, claimed for an attempt, and the log of attempts. An attempt that is not
//! recorded in time is made again, by any server: messages are sent at least once. May not know HTTP.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection, FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// The attempts that are listed of a message.
const LISTED_ATTEMPTS: i32 = 20;

/// The messages of one webhook that one claim takes; of one that fails, one.
const CLAIMED_OF_ONE: i64 = 4;

/// A message, and its attempts.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct DeliveryRow {
    /// The id of the event.
    pub id: Uuid,
    pub webhook_id: Uuid,
    /// The name of the event.
    pub event: String,
    /// What the message says of it.
    pub data: String,
    /// `pending`, `succeeded` or `failed`.
    pub status: String,
    /// The number of attempts since it was written or replayed.
    pub attempts: i32,
    /// The newest attempts, the oldest first; each a JSON object.
    pub log: Vec<String>,
    /// How often it was replayed.
    pub replays: i32,
    /// When the next attempt begins, if it is pending.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// When the event happened.
    pub created_at: DateTime<Utc>,
    /// When it was delivered or given up.
    pub finished_at: Option<DateTime<Utc>>,
}

impl ListedRow for DeliveryRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const COLUMNS: &str = "id, webhook_id, event, data::text, status, attempts, log::text[] as log, replays, \
     case when status = 'pending' then next_attempt_at end as next_attempt_at, created_at, finished_at";

/// One page of the messages of a webhook, newest first; of one status, if named.
pub async fn list(
    scope: &Scope,
    db: &Db,
    webhook: Uuid,
    status: Option<&str>,
    list: ListQuery,
) -> Result<Page<DeliveryRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from webhook_deliveries where workspace_id = ");
    sql.push_bind(scope.workspace).push(" and webhook_id = ").push_bind(webhook);
    if let Some(status) = status {
        sql.push(" and status = ").push_bind(status.to_owned());
    }
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// Writes a message for one webhook, whatever its events are.
pub async fn add(
    scope: &Scope,
    db: &Db,
    webhook: Uuid,
    event: &str,
    data: &str,
) -> Result<DeliveryRow, StoreError> {
    let sql = format!(
        "insert into webhook_deliveries (webhook_id, id, workspace_id, event, data, status, attempts, log, replays,
                                         next_attempt_at, created_at)
         select id, $3, workspace_id, $4, $5::text::json, 'pending', 0, '{{}}', 0, clock_timestamp(),
                clock_timestamp()
         from webhooks where workspace_id = $1 and id = $2
         returning {COLUMNS}"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(webhook);
    let row = row.bind(Uuid::now_v7()).bind(event).bind(data);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("webhook", webhook))
}

/// Queues a message again, whatever became of it.
pub async fn replay(
    scope: &Scope,
    db: &Db,
    webhook: Uuid,
    id: Uuid,
) -> Result<DeliveryRow, StoreError> {
    let sql = format!(
        "update webhook_deliveries
         set status = 'pending', attempts = 0, replays = replays + 1, next_attempt_at = clock_timestamp(),
             holder = null, finished_at = null
         where workspace_id = $1 and webhook_id = $2 and id = $3
         returning {COLUMNS}"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(webhook).bind(id);
    let row = row.fetch_optional(&mut *db.scoped(scope).await?).await?;
    row.ok_or_else(|| StoreError::not_found("delivery", id))
}

/// A message that is to be sent now, with what is needed to send it.
#[derive(Clone, FromRow)]
pub struct ClaimedDelivery {
    pub webhook_id: Uuid,
    /// The id of the event.
    pub id: Uuid,
    /// This attempt.
    pub holder: Uuid,
    /// The name of the event.
    pub event: String,
    /// What the message says of it.
    pub data: String,
    /// The attempts before this one.
    pub attempts: i32,
    /// When the event happened.
    pub created_at: DateTime<Utc>,
    /// Where it is sent.
    pub url: String,
    /// What signs it.
    pub secret: String,
    /// What signs it, too.
    pub previous_secret: Option<String>,
    /// Whether every attempt for the webhook fails.
    pub failing: bool,
}

/// Claims up to `most` messages that are due, for `lease`, except those of some webhooks. The webhooks take turns
/// by chance, so that none waits for another. For all workspaces.
pub async fn claim(
    db: &Db,
    most: i64,
    except: &[Uuid],
    lease: Duration,
) -> Result<Vec<ClaimedDelivery>, StoreError> {
    let claimed = sqlx::query_as(
        "with due as materialized (
             select delivery.webhook_id, delivery.id
             from (select id, failing_since from webhooks
                   where enabled and id <> all($2) order by random()) webhook
             cross join lateral (
                 select webhook_id, id from webhook_deliveries
                 where webhook_id = webhook.id and status = 'pending'
                   and next_attempt_at <= clock_timestamp()
                 order by next_attempt_at
                 limit case when webhook.failing_since is null then $5 else 1 end
                 for update skip locked) delivery
             limit $1
         )
         update webhook_deliveries delivery
         set holder = $3, next_attempt_at = clock_timestamp() + $4 * interval '1 second'
         from due, webhooks webhook
         where delivery.webhook_id = due.webhook_id and delivery.id = due.id
           and webhook.id = delivery.webhook_id
         returning delivery.webhook_id, delivery.id, delivery.holder, delivery.event, delivery.data::text,
                   delivery.attempts, delivery.created_at, webhook.url, webhook.secret,
                   case when webhook.previous_secret_until > clock_timestamp()
                        then webhook.previous_secret end as previous_secret,
                   webhook.failing_since is not null as failing",
    );
    let claimed = claimed.bind(most).bind(except).bind(Uuid::now_v7()).bind(lease.as_secs_f64());
    Ok(claimed.bind(CLAIMED_OF_ONE).fetch_all(&mut *db.all_workspaces().await?).await?)
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The message is delivered.
    Delivered,
    /// It failed: another attempt follows after a time.
    Retry(Duration),
    /// It failed, and was the last one.
    GivenUp,
    /// The receiver wants no more messages: the webhook is disabled.
    Gone,
}

impl AttemptOutcome {
    /// Its word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retry(_) => "retry",
            Self::GivenUp => "given_up",
            Self::Gone => "gone",
        }
    }
}

/// Records an attempt: its outcome, and `entry` in the log, a JSON object. False if another attempt holds the
/// message, or it was replayed. A webhook all of whose attempts failed for `longest_failure` is disabled.
pub async fn record(
    db: &Db,
    claimed: &ClaimedDelivery,
    outcome: AttemptOutcome,
    entry: &str,
    longest_failure: Duration,
) -> Result<bool, StoreError> {
    let (status, wait) = match outcome {
        AttemptOutcome::Delivered => ("succeeded", None),
        AttemptOutcome::Retry(wait) => ("pending", Some(wait.as_secs_f64())),
        AttemptOutcome::GivenUp | AttemptOutcome::Gone => ("failed", None),
    };
    let mut connection = db.all_workspaces().await?;
    // The message and the webhook change together: nobody reads a webhook that fails beside a message that arrived.
    let mut tx = connection.begin().await?;
    let recorded = sqlx::query(
        "update webhook_deliveries
         set status = $4, attempts = attempts + 1, holder = null,
             log = (log || $6::text::json)[greatest(1, cardinality(log) + 2 - $7):],
             next_attempt_at = clock_timestamp() + $5 * interval '1 second',
             finished_at = case when $5 is null then clock_timestamp() end
         where webhook_id = $1 and id = $2 and holder = $3",
    );
    let recorded = recorded.bind(claimed.webhook_id).bind(claimed.id).bind(claimed.holder);
    let recorded = recorded.bind(status).bind(wait).bind(entry).bind(LISTED_ATTEMPTS);
    let recorded = recorded.execute(&mut *tx).await?.rows_affected() == 1;
    match outcome {
        AttemptOutcome::Delivered if claimed.failing => {
            let cleared = "update webhooks set failing_since = null
                           where id = $1 and failing_since is not null";
            sqlx::query(cleared).bind(claimed.webhook_id).execute(&mut *tx).await?;
        }
        // The row of a webhook that does not fail is not written for each of its messages.
        AttemptOutcome::Delivered => {}
        failed => {
            let is_gone = failed == AttemptOutcome::Gone;
            let marked = sqlx::query(
                "update webhooks
                 set failing_since = coalesce(failing_since, clock_timestamp()),
                     enabled = enabled and not (ends.now or ends.failing),
                     disabled_because = case when not enabled then disabled_because
                                             when ends.now then 'gone'
                                             when ends.failing then 'failing' end
                 from (select $2::bool as now,
                              coalesce((select failing_since < clock_timestamp() - $3 * interval '1 second'
                                        from webhooks where id = $1), false) as failing) ends
                 where id = $1 and (failing_since is null or ends.now or ends.failing)",
            );
            let marked = marked.bind(claimed.webhook_id).bind(is_gone);
            marked.bind(longest_failure.as_secs_f64()).execute(&mut *tx).await?;
        }
    }
    tx.commit().await?;
    Ok(recorded)
}
