//! Parts of a job of many items. The holder of the job takes ranges of items from the front. It offers a part,
//! which is a job of its own; the worker that claims it takes ranges from the back, and offers the next one. What
//! nobody has taken is in the row of the divided job. May not know what an item is.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::lease::Lease;
use crate::{Db, StoreError};

/// Consecutive items by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRange {
    /// The first one.
    pub from: i32,
    /// The one after the last.
    pub to: i32,
}

impl ItemRange {
    /// The number of positions.
    #[must_use]
    pub const fn len(self) -> i32 {
        self.to - self.from
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.to <= self.from
    }
}

/// Divides a job of so many items, unless it is divided. Returns what earlier attempts have taken, or `None` if
/// the lease is lost.
pub async fn divide(db: &Db, lease: Lease, items: i32) -> Result<Option<ItemRange>, StoreError> {
    let taken = sqlx::query_scalar!(
        r#"update jobs set items_from = coalesce(items_from, 0), items_to = coalesce(items_to, $3)
           where id = $1 and holder = $2 returning items_from as "taken!""#,
        lease.job,
        lease.holder,
        items
    );
    let taken = taken.fetch_optional(&mut *db.scoped(&lease).await?).await?;
    Ok(taken.map(|to| ItemRange { from: 0, to }))
}

/// Takes items from the front, at most so many. `None` if nothing is left, or the lease is lost.
pub async fn take_front(db: &Db, lease: Lease, most: i32) -> Result<Option<ItemRange>, StoreError> {
    let taken = sqlx::query_as!(
        ItemRange,
        r#"with free as (
               select id, items_from, least(items_from + $3, items_to) as taken_to from jobs
               where id = $1 and holder = $2 and items_from < items_to for update
           )
           update jobs set items_from = free.taken_to from free where jobs.id = free.id
           returning free.items_from as "from!", free.taken_to as "to!""#,
        lease.job,
        lease.holder,
        most
    );
    Ok(taken.fetch_optional(&mut *db.scoped(&lease).await?).await?)
}

/// Takes items of the parent for a part, from the back. `None` if nothing is left, or the lease is lost.
pub async fn take_back(db: &Db, lease: Lease, most: i32) -> Result<Option<ItemRange>, StoreError> {
    // One statement shortens the divided job and gives the range to the part: at any time a range is in one of the two
    // rows, and `reclaim` finds that of a part without a worker.
    let taken = sqlx::query_as!(
        ItemRange,
        r#"with own as (
               select id, parent from jobs where id = $1 and holder = $2 for update
           ), free as (
               select divided.id, greatest(divided.items_to - $3, divided.items_from) as taken_from,
                      divided.items_to as taken_to
               from jobs divided join own on divided.id = own.parent
               where divided.items_from < divided.items_to for update of divided
           ), shortened as (
               update jobs set items_to = free.taken_from from free where jobs.id = free.id
           )
           update jobs set items_from = free.taken_from, items_to = free.taken_to from own, free
           where jobs.id = own.id
           returning free.taken_from as "from!", free.taken_to as "to!""#,
        lease.job,
        lease.holder,
        most
    );
    Ok(taken.fetch_optional(&mut *db.scoped(&lease).await?).await?)
}

/// Offers a part of a divided job to another worker, if more than `worth` items are left and no offer waits.
/// `lease` is that of the job or of one of its parts, and `id` is new.
pub async fn offer(
    db: &Db,
    lease: Lease,
    divided: Uuid,
    id: Uuid,
    worth: i32,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let offered = sqlx::query!(
        "insert into jobs (id, workspace_id, kind, request, created_at, created_by, parent)
         select $4, workspace_id, kind, request, $5, created_by, id from jobs
         where id = $3 and items_to - items_from > $6
           and exists (select from jobs where id = $1 and holder = $2)
           and not exists (select from jobs where parent = $3 and (holder is null or dispatched))",
        lease.job,
        lease.holder,
        divided,
        id,
        at,
        worth
    );
    if offered.execute(&mut *db.scoped(&lease).await?).await?.rows_affected() == 1 {
        db.notifications.announce_job();
    }
    Ok(())
}

/// The parts of a divided job, as its holder finds them once it has nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherParts {
    /// The ranges of parts without a worker, which the caller has by now.
    pub reclaimed: Vec<ItemRange>,
    /// Whether other workers are at work.
    pub active: bool,
}

/// Removes parts without a worker, and returns their ranges to the holder of the divided job.
pub async fn reclaim(db: &Db, lease: Lease) -> Result<OtherParts, StoreError> {
    let mut connection = db.scoped(&lease).await?;
    let reclaimed = sqlx::query!(
        "delete from jobs where id in (
             select part.id from jobs part join jobs divided on divided.id = part.parent
             where divided.id = $1 and divided.holder = $2 and (part.holder is null or part.dispatched)
             for update of part skip locked)
         returning items_from, items_to",
        lease.job,
        lease.holder
    );
    let reclaimed = reclaimed.fetch_all(&mut *connection).await?;
    // After the removal: a part that a worker claims at this time was passed over above, and counts as active here.
    let active = sqlx::query_scalar!(
        r#"select exists (select from jobs where parent = $1) as "active!""#,
        lease.job
    );
    let active = active.fetch_one(&mut *connection).await?;
    let range = |from: Option<i32>, to: Option<i32>| Some(ItemRange { from: from?, to: to? });
    let reclaimed = reclaimed.into_iter().filter_map(|row| range(row.items_from, row.items_to));
    Ok(OtherParts { reclaimed: reclaimed.collect(), active })
}
