//! Rollouts that the holder of an optimization offers to workers of other servers. A worker that helps has a part
//! of the job (`optimization_part`), and claims offers while it holds that part. What a rollout has spent stays in
//! the row of its offer until the transaction that counts it.
//!
//! May not know optimizers: documents are JSON text.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::batch::UsageTotals;
use super::cancellation::Cancellation;
use super::job::{self, Lease};
use super::key_spending;
use super::optimization_record::RecordKey;
use super::{Db, Scope, StoreError};

/// A candidate that offers name by its hash. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRow {
    /// Identifies it.
    pub hash: RecordKey,
    /// The state of its predictors.
    pub state: String,
    /// Its graph.
    pub definition: String,
}

/// A rollout to offer. Documents are JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferRow {
    /// Identifies the rollout.
    pub key: RecordKey,
    /// Its place in the order of the offers.
    pub number: i64,
    /// The hash of its candidate.
    pub hash: RecordKey,
    /// The id of its example.
    pub example: String,
    /// How it differs from other rollouts of the candidate on the example.
    pub variation: Option<String>,
    /// What it may spend.
    pub budget: String,
    /// The seconds that the optimization has left.
    pub seconds: Option<f64>,
}

/// What has become of an offer, and what was spent on it.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct EndedOffer {
    #[sqlx(try_from = "Vec<u8>")]
    key: KeyColumn,
    /// Whether the rollout is recorded.
    pub is_made: bool,
    /// What was spent, also by workers that were killed.
    #[sqlx(flatten)]
    pub spent: UsageTotals,
}

impl EndedOffer {
    /// Identifies the rollout.
    #[must_use]
    pub const fn key(&self) -> RecordKey {
        self.key.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeyColumn(RecordKey);

impl TryFrom<Vec<u8>> for KeyColumn {
    type Error = StoreError;

    fn try_from(key: Vec<u8>) -> Result<Self, StoreError> {
        let key = RecordKey::try_from(key.as_slice());
        key.map(Self)
            .map_err(|_| StoreError::internal("a stored key has another length".to_owned()))
    }
}

/// The offers of an optimization at one time.
#[derive(Clone, Debug, Default)]
pub struct OfferOverview {
    /// The workers that help.
    pub workers: i64,
    /// The offers that no worker has claimed.
    pub unclaimed: i64,
    /// The offers that have ended, and are not counted yet.
    pub ended: Vec<EndedOffer>,
}

const ENDED_COLUMNS: &str = "key, outcome = 'made' as is_made, lm_calls, input_tokens, output_tokens, \
                             reasoning_tokens, cached_tokens, cache_write_tokens, cost";

/// Asks for one more worker, unless a part waits for one already.
pub async fn ask_for_worker(
    db: &Db,
    lease: Lease,
    id: Uuid,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let asked = sqlx::query(
        "insert into jobs (id, workspace_id, kind, request, created_at, created_by, parent)
         select $3, workspace_id, kind, request, $4, created_by, id from jobs
         where id = $1 and holder = $2
           and not exists (select from jobs where parent = $1 and (holder is null or dispatched))",
    );
    let asked = asked.bind(lease.job).bind(lease.holder).bind(id).bind(at);
    if asked.execute(&mut *db.scoped(&lease).await?).await?.rows_affected() == 1 {
        db.notifications.announce_job();
    }
    Ok(())
}

/// Publishes offers with their candidates. False, writing nothing, if the lease is lost. Safe to repeat.
pub async fn publish(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    programs: &[ProgramRow],
    offers: &[OfferRow],
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    if !job::lock(&mut tx, lease).await? {
        return Ok(false);
    }
    for program in programs {
        let added = sqlx::query(
            "insert into optimization_programs (optimization_id, hash, workspace_id, state, definition)
             values ($1, $2, $3, $4::text::json, $5::text::json) on conflict do nothing",
        );
        let added = added.bind(lease.job).bind(program.hash.as_slice()).bind(scope.workspace);
        added.bind(&program.state).bind(&program.definition).execute(&mut *tx).await?;
    }
    let added = sqlx::query(
        "insert into optimization_tasks (optimization_id, key, workspace_id, number, hash, example,
                                         variation, budget, ends_at)
         select $1, key, $2, number, hash, example, variation::json, budget::json,
                clock_timestamp() + seconds * interval '1 second'
         from unnest($3::bytea[], $4::int8[], $5::bytea[], $6::text[], $7::text[], $8::text[], $9::float8[])
              as new (key, number, hash, example, variation, budget, seconds)
         on conflict do nothing",
    );
    let added = added.bind(lease.job).bind(scope.workspace);
    let added = added.bind(offers.iter().map(|offer| offer.key.as_slice()).collect::<Vec<_>>());
    let added = added.bind(offers.iter().map(|offer| offer.number).collect::<Vec<_>>());
    let added = added.bind(offers.iter().map(|offer| offer.hash.as_slice()).collect::<Vec<_>>());
    let added = added.bind(offers.iter().map(|offer| offer.example.as_str()).collect::<Vec<_>>());
    let added =
        added.bind(offers.iter().map(|offer| offer.variation.as_deref()).collect::<Vec<_>>());
    let added = added.bind(offers.iter().map(|offer| offer.budget.as_str()).collect::<Vec<_>>());
    let added = added.bind(offers.iter().map(|offer| offer.seconds).collect::<Vec<_>>());
    added.execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(true)
}

/// The offers at this time. Offers of workers that are gone are returned.
pub async fn overview(db: &Db, lease: Lease) -> Result<OfferOverview, StoreError> {
    let mut connection = db.scoped(&lease).await?;
    return_lost(&mut connection, lease).await?;
    let (workers, unclaimed) = sqlx::query_as::<_, (i64, i64)>(
        "select (select count(*) from jobs where parent = $1 and holder is not null and not dispatched),
                (select count(*) from optimization_tasks
                 where optimization_id = $1 and part is null and outcome is null)",
    )
    .bind(lease.job)
    .fetch_one(&mut *connection)
    .await?;
    let sql = format!(
        "select {ENDED_COLUMNS} from optimization_tasks
         where optimization_id = $1 and outcome is not null"
    );
    let ended = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(lease.job);
    Ok(OfferOverview { workers, unclaimed, ended: ended.fetch_all(&mut *connection).await? })
}

/// Returns the offers of workers that are gone, and removes what is left of their parts.
async fn return_lost(connection: &mut PgConnection, lease: Lease) -> Result<(), StoreError> {
    let removed = sqlx::query(
        "delete from jobs where id in (
             select part.id from jobs part join jobs own on own.id = part.parent
             where own.id = $1 and own.holder = $2 and (part.holder is null or part.dispatched)
               and part.id in (select part from optimization_tasks
                               where optimization_id = $1 and outcome is null)
             for update of part skip locked)",
    );
    removed.bind(lease.job).bind(lease.holder).execute(&mut *connection).await?;
    // A claim that was late may be of a part that is removed since.
    let returned = sqlx::query(
        "update optimization_tasks set outcome = 'returned'
         where optimization_id = $1 and outcome is null and part is not null
           and not exists (select from jobs where id = part)
           and exists (select from jobs where id = $1 and holder = $2)",
    );
    returned.bind(lease.job).bind(lease.holder).execute(connection).await?;
    Ok(())
}

/// Withdraws offers that no worker has claimed: one, or all. Returns those that were withdrawn.
pub async fn withdraw(
    db: &Db,
    lease: Lease,
    key: Option<&RecordKey>,
) -> Result<Vec<EndedOffer>, StoreError> {
    let sql = format!(
        "update optimization_tasks set outcome = 'returned'
         where optimization_id = $1 and ($3::bytea is null or key = $3)
           and part is null and outcome is null
           and exists (select from jobs where id = $1 and holder = $2)
         returning {ENDED_COLUMNS}"
    );
    let withdrawn = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(lease.job).bind(lease.holder);
    let withdrawn = withdrawn.bind(key.map(<[u8; 32]>::as_slice));
    Ok(withdrawn.fetch_all(&mut *db.scoped(&lease).await?).await?)
}

/// Removes offers whose spending the transaction counts.
pub(super) async fn remove_counted(
    connection: &mut PgConnection,
    lease: Lease,
    keys: &[RecordKey],
) -> Result<(), StoreError> {
    if !keys.is_empty() {
        let keys: Vec<&[u8]> = keys.iter().map(<[u8; 32]>::as_slice).collect();
        sqlx::query("delete from optimization_tasks where optimization_id = $1 and key = any($2)")
            .bind(lease.job)
            .bind(keys)
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Ends what an earlier attempt has offered: its parts, and its offers, whose spending is counted. False if the
/// lease is lost.
pub async fn clear(scope: &Scope, db: &Db, lease: Lease) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    if !job::lock(&mut tx, lease).await? {
        return Ok(false);
    }
    let parts = clear_within(scope, &mut tx, lease).await?;
    tx.commit().await?;
    announce(db, lease, parts);
    Ok(true)
}

/// The same within a transaction that has locked the job. Returns the parts that were removed.
pub(super) async fn clear_within(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<Vec<Uuid>, StoreError> {
    let parts = sqlx::query_scalar("delete from jobs where parent = $1 returning id");
    let parts = parts.bind(lease.job).fetch_all(&mut *connection).await?;
    let spent = sqlx::query_as::<_, UsageTotals>(
        "with removed as (delete from optimization_tasks where optimization_id = $1 returning *)
         select coalesce(sum(lm_calls), 0)::int8 as lm_calls,
                coalesce(sum(input_tokens), 0)::int8 as input_tokens,
                coalesce(sum(output_tokens), 0)::int8 as output_tokens,
                coalesce(sum(reasoning_tokens), 0)::int8 as reasoning_tokens,
                coalesce(sum(cached_tokens), 0)::int8 as cached_tokens,
                coalesce(sum(cache_write_tokens), 0)::int8 as cache_write_tokens,
                sum(cost) as cost
         from removed",
    );
    let spent = spent.bind(lease.job).fetch_one(&mut *connection).await?;
    sqlx::query("delete from optimization_programs where optimization_id = $1")
        .bind(lease.job)
        .execute(&mut *connection)
        .await?;
    if spent != UsageTotals::default() {
        add_spent(scope, connection, lease, spent).await?;
    }
    Ok(parts)
}

async fn add_spent(
    scope: &Scope,
    connection: &mut PgConnection,
    lease: Lease,
    spent: UsageTotals,
) -> Result<(), StoreError> {
    let added = sqlx::query(
        "update optimizations
         set lm_calls = lm_calls + $2, input_tokens = input_tokens + $3,
             output_tokens = output_tokens + $4, reasoning_tokens = reasoning_tokens + $5,
             cached_tokens = cached_tokens + $6, cache_write_tokens = cache_write_tokens + $7,
             cost = case when $8::float8 is null then cost else coalesce(cost, 0) + $8 end
         where id = $1",
    );
    let added = added.bind(lease.job).bind(spent.lm_calls).bind(spent.input_tokens);
    let added = added.bind(spent.output_tokens).bind(spent.reasoning_tokens);
    let added = added.bind(spent.cached_tokens).bind(spent.cache_write_tokens).bind(spent.cost);
    added.execute(&mut *connection).await?;
    let tokens = spent.input_tokens + spent.output_tokens;
    key_spending::add_sum(scope, connection, tokens, spent.cost.unwrap_or_default()).await
}

/// Workers of removed parts stop at once instead of when they renew their leases.
pub(super) fn announce(db: &Db, lease: Lease, parts: Vec<Uuid>) {
    for run in parts {
        db.notifications.announce_cancellation(Cancellation { run, workspace: lease.workspace });
    }
}
