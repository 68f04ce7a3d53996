//! The ranges of items that an attempt works on. The holder of a divided job takes them one after another and
//! offers parts of the job to workers of other servers, which do the same. A job that is not divided is one
//! range. May not know what an item is.

use std::time::Duration;

use tokio::time::sleep;
use uuid::Uuid;

use crate::clock::now;
use dsrs_store::job::{self, ItemRange, Job, Lease};
use dsrs_store::persist;
use dsrs_store::{Db, StoreError};

/// Items that are taken at a time. A job with fewer is not divided.
pub(crate) const RANGE: i32 = 1000;

/// How often the holder of a divided job checks whether the other workers have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The ranges of one attempt.
pub(crate) struct ItemRanges {
    db: Db,
    lease: Lease,
    /// Of a part, the divided job.
    parent: Option<Uuid>,
    /// All items of the job.
    all: ItemRange,
    step: Step,
    /// Ranges that the attempt has, and has not begun.
    pending: Vec<ItemRange>,
    /// The number of items in the ranges that it has begun.
    begun: i32,
    /// Whether other workers had parts, so that some items may have no result.
    is_unchecked: bool,
}

#[derive(Clone, Copy)]
enum Step {
    /// Nothing was taken or offered yet.
    Start,
    /// Ranges are taken.
    Take,
    /// Nothing is left to take: other workers have parts.
    Await,
    /// Nothing follows.
    End,
}

impl ItemRanges {
    /// All items of a job that only its holder works on, as one range.
    pub(crate) fn undivided(db: &Db, job: &Job) -> Self {
        let all = ItemRange { from: 0, to: i32::MAX };
        let (db, lease, pending) = (db.clone(), job.lease, vec![all]);
        Self {
            db,
            lease,
            parent: None,
            all,
            step: Step::End,
            pending,
            begun: 0,
            is_unchecked: false,
        }
    }

    /// The ranges of a job of so many items that workers of other servers may help with, if it is large enough.
    pub(crate) fn divided(db: &Db, job: &Job, items: i32) -> Self {
        if job.parent.is_none() && items <= RANGE {
            return Self::undivided(db, job);
        }
        // A part that another attempt has left begins with the range of that one.
        let left = job.items.filter(|_| job.parent.is_some());
        Self {
            db: db.clone(),
            lease: job.lease,
            parent: job.parent,
            all: ItemRange { from: 0, to: items },
            step: Step::Start,
            pending: left.into_iter().collect(),
            begun: 0,
            is_unchecked: false,
        }
    }

    /// Begins again with all items, once the results of all ranges are stored. True if that is necessary: a part
    /// of another worker may have been given up.
    pub(crate) fn check_again(&mut self) -> bool {
        if self.is_unchecked {
            self.pending.push(self.all);
        }
        std::mem::take(&mut self.is_unchecked)
    }

    /// The next range; `None` if nothing is left. Waits for the parts of other workers.
    pub(crate) async fn next(&mut self) -> Result<Option<ItemRange>, StoreError> {
        loop {
            while let Some(range) = self.pending.pop() {
                self.begun += range.len();
                if !range.is_empty() {
                    return Ok(Some(range));
                }
            }
            self.step = match self.step {
                Step::Start => self.start().await?,
                Step::Take => self.take().await?,
                Step::Await => self.await_others().await?,
                Step::End => return Ok(None),
            };
        }
    }

    async fn start(&mut self) -> Result<Step, StoreError> {
        let (db, lease) = (&self.db, self.lease);
        if self.parent.is_none() {
            let Some(taken) = persist(|| job::divide(db, lease, self.all.to)).await? else {
                return Ok(Step::End);
            };
            self.pending.push(taken);
        }
        let divided = self.parent.unwrap_or(lease.job);
        persist(|| job::offer(db, lease, divided, Uuid::now_v7(), RANGE, now())).await?;
        Ok(Step::Take)
    }

    async fn take(&mut self) -> Result<Step, StoreError> {
        let (db, lease) = (&self.db, self.lease);
        let taken = match self.parent {
            None => persist(|| job::take_front(db, lease, RANGE)).await?,
            Some(_) => persist(|| job::take_back(db, lease, RANGE)).await?,
        };
        let has_all = self.begun >= self.all.len();
        self.pending.extend(taken);
        Ok(match taken {
            Some(_) => Step::Take,
            None if self.parent.is_some() || has_all => Step::End,
            None => Step::Await,
        })
    }

    async fn await_others(&mut self) -> Result<Step, StoreError> {
        let (db, lease) = (&self.db, self.lease);
        let others = persist(|| job::reclaim(db, lease)).await?;
        let has_more = !others.reclaimed.is_empty();
        self.pending.extend(others.reclaimed);
        if has_more {
            return Ok(Step::Await);
        }
        if others.active {
            sleep(POLL_INTERVAL).await;
            return Ok(Step::Await);
        }
        self.is_unchecked = true;
        Ok(Step::End)
    }
}
