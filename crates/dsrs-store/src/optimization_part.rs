//! The work of a helper on offered rollouts of an optimization. It holds a part of the job, and writes only while it
//! does. May not know optimizers: documents are JSON text.

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::batch::UsageTotals;
use super::job::{self, Lease};
use super::optimization_offer::ProgramRow;
use super::optimization_record::{self, RecordKey};
use super::{Db, Scope, StoreError};

/// A claimed offer. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct ClaimedOffer {
    /// Identifies the rollout.
    pub key: Vec<u8>,
    /// The hash of its candidate.
    pub hash: Vec<u8>,
    /// The id of its example.
    pub example: String,
    /// How it differs from other rollouts of the candidate on the example.
    pub variation: Option<String>,
    /// What it may spend.
    pub budget: String,
    /// The seconds that the optimization has left.
    pub seconds: Option<f64>,
    /// What other workers have spent on it.
    #[sqlx(flatten)]
    pub spent: UsageTotals,
}

/// How far the rollout of an offer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferStep {
    /// Not complete.
    Open,
    /// The rollout is recorded.
    Made,
    /// The holder of the optimization has to make it.
    Returned,
}

impl OfferStep {
    const fn outcome(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::Made => Some("made"),
            Self::Returned => Some("returned"),
        }
    }
}

/// The records of a helper that are written together.
#[derive(Clone, Debug, Default)]
pub struct PartRecords {
    /// Replies, as JSON text.
    pub purchases: Vec<(RecordKey, String)>,
    /// Rollouts, as JSON text.
    pub rollouts: Vec<(RecordKey, String)>,
    /// The rollouts on which something was spent, each once.
    pub offers: Vec<(RecordKey, OfferStep, UsageTotals)>,
}

/// Claims offers, the newest first: the holder of the optimization makes the oldest. None if the part is lost.
pub async fn claim(db: &Db, part: Lease, most: i64) -> Result<Vec<ClaimedOffer>, StoreError> {
    let claimed = sqlx::query_as(
        "with free as materialized (
             select offer.optimization_id, offer.key
             from jobs part join optimization_tasks offer on offer.optimization_id = part.parent
             where part.id = $1 and part.holder = $2 and offer.part is null and offer.outcome is null
             order by offer.number desc limit $3 for update of offer skip locked
         )
         update optimization_tasks offer set part = $1 from free
         where offer.optimization_id = free.optimization_id and offer.key = free.key
         returning offer.key, hash, example, variation::text, budget::text,
                   extract(epoch from ends_at - clock_timestamp())::float8 as seconds,
                   lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens,
                   cache_write_tokens, cost",
    );
    let claimed = claimed.bind(part.job).bind(part.holder).bind(most);
    Ok(claimed.fetch_all(&mut *db.scoped(&part).await?).await?)
}

/// A candidate by its hash; `None` once the optimization has ended.
pub async fn program(
    scope: &Scope,
    db: &Db,
    optimization: Uuid,
    hash: &RecordKey,
) -> Result<Option<ProgramRow>, StoreError> {
    let found = sqlx::query_as::<_, (String, String)>(
        "select state::text, definition::text from optimization_programs
         where optimization_id = $1 and hash = $2 and workspace_id = $3",
    );
    let found = found.bind(optimization).bind(hash.as_slice()).bind(scope.workspace);
    let found = found.fetch_optional(&mut *db.scoped(scope).await?).await?;
    Ok(found.map(|(state, definition)| ProgramRow { hash: *hash, state, definition }))
}

/// Writes records. False, writing nothing, if the part is lost. Safe to repeat.
pub async fn record(
    scope: &Scope,
    db: &Db,
    part: Lease,
    optimization: Uuid,
    records: &PartRecords,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    if !job::progress(&mut tx, part).await? {
        return Ok(false);
    }
    optimization_record::add(scope, &mut tx, optimization, &records.purchases, &records.rollouts)
        .await?;
    update_offers(&mut tx, part, optimization, &records.offers).await?;
    tx.commit().await?;
    Ok(true)
}

async fn update_offers(
    connection: &mut PgConnection,
    part: Lease,
    optimization: Uuid,
    offers: &[(RecordKey, OfferStep, UsageTotals)],
) -> Result<(), StoreError> {
    let count = |of: fn(&UsageTotals) -> i64| -> Vec<i64> {
        offers.iter().map(|(_, _, spent)| of(spent)).collect()
    };
    let updated = sqlx::query(
        "update optimization_tasks offer
         set outcome = new.outcome, lm_calls = new.lm_calls, input_tokens = new.input_tokens,
             output_tokens = new.output_tokens, reasoning_tokens = new.reasoning_tokens,
             cached_tokens = new.cached_tokens, cache_write_tokens = new.cache_write_tokens,
             cost = new.cost
         from unnest($3::bytea[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[],
                     $10::int8[], $11::float8[])
              as new (key, outcome, lm_calls, input_tokens, output_tokens, reasoning_tokens,
                      cached_tokens, cache_write_tokens, cost)
         where offer.optimization_id = $1 and offer.key = new.key and offer.part = $2",
    );
    let updated = updated.bind(optimization).bind(part.job);
    let updated = updated.bind(offers.iter().map(|(key, ..)| key.as_slice()).collect::<Vec<_>>());
    let updated =
        updated.bind(offers.iter().map(|(_, step, _)| step.outcome()).collect::<Vec<_>>());
    let updated = updated.bind(count(|spent| spent.lm_calls));
    let updated = updated.bind(count(|spent| spent.input_tokens));
    let updated = updated.bind(count(|spent| spent.output_tokens));
    let updated = updated.bind(count(|spent| spent.reasoning_tokens));
    let updated = updated.bind(count(|spent| spent.cached_tokens));
    let updated = updated.bind(count(|spent| spent.cache_write_tokens));
    let updated = updated.bind(offers.iter().map(|(_, _, spent)| spent.cost).collect::<Vec<_>>());
    updated.execute(connection).await?;
    Ok(())
}

/// Returns the offers that an earlier holder of the part has claimed.
pub async fn return_offers(db: &Db, part: Lease) -> Result<(), StoreError> {
    let returned = sqlx::query(
        "update optimization_tasks set outcome = 'returned'
         where part = $1 and outcome is null
           and exists (select from jobs where id = $1 and holder = $2)",
    );
    returned.bind(part.job).bind(part.holder).execute(&mut *db.scoped(&part).await?).await?;
    Ok(())
}

/// Ends a part: removes it, and returns its offers. False if the lease is lost.
pub async fn end(db: &Db, part: Lease) -> Result<bool, StoreError> {
    let mut tx = db.begin(&part).await?;
    if !job::remove(&mut tx, part).await? {
        return Ok(false);
    }
    sqlx::query(
        "update optimization_tasks set outcome = 'returned' where part = $1 and outcome is null",
    )
    .bind(part.job)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}
