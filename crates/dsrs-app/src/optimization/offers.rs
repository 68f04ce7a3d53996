//! Offers rollouts that wait for their turn to workers of other servers. The first offers only ask for a worker; once
//! one helps, offers are published with a grant from the budget. What a helper spends is counted when its offer has
//! ended. May not know optimizers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsrs::lm::{Budget, BudgetAccount, BudgetedReplies, RecordingError, Usage};
use dsrs::optimize::{OfferOutcome, OfferedRollout, RolloutKey, RolloutOffers};
use dsrs::predict::Variation;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::App;
use crate::clock::now;
use crate::optimization::plan::budget_json;
use crate::optimization::recorded_replies::{OptimizationStore, PendingRecord};
use crate::optimization::usage::usage;
use dsrs_store::StoreError;
use dsrs_store::job::Job;
use dsrs_store::optimization_offer::{self, EndedOffer, OfferOverview, OfferRow, ProgramRow};
use dsrs_store::optimization_record::RecordKey;
use dsrs_store::persist;

/// How often the offers are compared with the database.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The same while no worker helps.
const ALONE: Duration = Duration::from_secs(1);

/// The offers of one attempt at an optimization.
pub(crate) struct SharedRollouts {
    app: Arc<App>,
    job: Job,
    budgeted: Arc<BudgetedReplies>,
    store: Arc<OptimizationStore>,
    /// The rollouts that a helper makes at a time.
    concurrency: usize,
    offers: Mutex<OfferTable>,
    added: Notify,
}

#[derive(Default)]
struct OfferTable {
    next: i64,
    open: HashMap<RecordKey, Offer>,
    /// The rollouts whose offers have ended: each is offered once.
    ended: HashSet<RecordKey>,
}

struct Offer {
    number: i64,
    rollout: OfferedRollout,
    state: OfferState,
    changed: Arc<Notify>,
}

#[derive(Clone, Copy)]
enum OfferState {
    /// Only this process knows it.
    Waiting,
    /// Helpers may claim it, and spend this much.
    Published(Usage),
    /// A helper has recorded the rollout, or returned the offer.
    Ended { is_made: bool },
}

impl SharedRollouts {
    /// No offers yet.
    pub(crate) fn new(
        app: Arc<App>,
        job: Job,
        budgeted: Arc<BudgetedReplies>,
        store: Arc<OptimizationStore>,
        concurrency: usize,
    ) -> Self {
        let (offers, added) = (Mutex::default(), Notify::new());
        Self { app, job, budgeted, store, concurrency, offers, added }
    }

    /// Publishes offers and collects their results, until the work is done.
    pub(crate) async fn exchange(&self, done: &CancellationToken) {
        let mut pause = POLL_INTERVAL;
        loop {
            let wait = async {
                if self.table().open.is_empty() {
                    self.added.notified().await;
                }
                sleep(pause).await;
            };
            tokio::select! {
                () = wait => {}
                () = done.cancelled() => return,
            }
            pause = match self.step().await {
                Ok(0) => ALONE,
                Ok(_) => POLL_INTERVAL,
                Err(error) => {
                    let (job, cause) = (self.job.lease.job, error.cause());
                    tracing::warn!(optimization = %job, cause, "offers of rollouts are late");
                    ALONE
                }
            };
        }
    }

    /// Compares the offers with the database. Returns the number of workers that help.
    async fn step(&self) -> Result<i64, StoreError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        let overview = persist(|| optimization_offer::overview(db, lease)).await?;
        self.end(&overview.ended).await;
        if overview.workers > 0 {
            self.store.expect_helpers();
        }
        let account = self.account();
        // A request here waits for what is granted to offers; or nothing more is to be begun.
        let stops = self.app.shutdown.is_draining() || account.reached().is_some();
        if stops || account.is_waited_for() {
            if overview.unclaimed > 0 {
                let withdrawn = persist(|| optimization_offer::withdraw(db, lease, None)).await?;
                self.end(&withdrawn).await;
            }
        } else if self.has_waiting() {
            let (id, at) = (Uuid::now_v7(), now());
            persist(|| optimization_offer::ask_for_worker(db, lease, id, at)).await?;
            self.publish(&overview).await?;
        }
        Ok(overview.workers)
    }

    /// Publishes as many offers as the helpers can begin soon. The holder makes the oldest itself.
    async fn publish(&self, overview: &OfferOverview) -> Result<(), StoreError> {
        let wanted = usize::try_from(overview.workers).unwrap_or(0) * self.concurrency * 2;
        let missing = wanted.saturating_sub(usize::try_from(overview.unclaimed).unwrap_or(0));
        let chosen = self.grant_newest(missing);
        if chosen.is_empty() {
            return Ok(());
        }
        let (programs, rows) = self.rows(&chosen);
        let (scope, db, lease) = (&self.job.scope, &self.app.db, self.job.lease);
        let published =
            persist(|| optimization_offer::publish(scope, db, lease, &programs, &rows)).await;
        if !matches!(published, Ok(true)) {
            self.take_back(&chosen);
        }
        published.map(drop)
    }

    /// Grants a part of the budget to each of the newest waiting offers, while it lasts.
    fn grant_newest(&self, most: usize) -> Vec<(i64, OfferedRollout, Usage)> {
        let account = self.account();
        let Some(grant) = most_spent(account, self.store.costliest_rollout()) else {
            return Vec::new();
        };
        let mut table = self.table();
        let waiting = table.open.values_mut();
        let mut waiting: Vec<&mut Offer> =
            waiting.filter(|offer| matches!(offer.state, OfferState::Waiting)).collect();
        // The holder makes the oldest ones itself: from the other end, it and the helpers meet as late as possible.
        waiting.sort_unstable_by_key(|offer| std::cmp::Reverse(offer.number));
        let granted = waiting.into_iter().take(most).take_while(|_| account.grant(grant));
        let chosen = granted.map(|offer| {
            offer.state = OfferState::Published(grant);
            (offer.number, offer.rollout.clone(), grant)
        });
        chosen.collect()
    }

    fn rows(&self, chosen: &[(i64, OfferedRollout, Usage)]) -> (Vec<ProgramRow>, Vec<OfferRow>) {
        let seconds = self
            .account()
            .ends()
            .map(|ends| ends.saturating_duration_since(Instant::now()).as_secs_f64());
        let mut programs = HashMap::new();
        let rows = chosen.iter().map(|(number, rollout, grant)| {
            programs.entry(rollout.hash).or_insert_with(|| ProgramRow {
                hash: rollout.hash,
                state: rollout.candidate.state.to_payload().to_json(),
                definition: rollout.candidate.document.to_json(),
            });
            OfferRow {
                key: rollout.key.0,
                number: *number,
                hash: rollout.hash,
                example: rollout.example.to_string(),
                variation: rollout.variation.as_ref().map(variation_json),
                budget: budget_json(&granted_budget(self.account().budget(), grant)),
                seconds,
            }
        });
        let rows = rows.collect();
        (programs.into_values().collect(), rows)
    }

    /// Makes offers that could not be published wait again.
    fn take_back(&self, chosen: &[(i64, OfferedRollout, Usage)]) {
        let mut table = self.table();
        for (_, rollout, grant) in chosen {
            self.account().settle_grant(*grant, Usage::default());
            if let Some(offer) = table.open.get_mut(&rollout.key.0) {
                offer.state = OfferState::Waiting;
            }
        }
    }

    /// Notes which offers have ended, and passes on what was spent on them.
    async fn end(&self, ended: &[EndedOffer]) {
        for offer in ended {
            // Nothing is noted before there is a place: this task may be stopped while it waits for one. Without a
            // writer the attempt is over, and the next one counts the offer.
            let Ok(place) = self.store.place().await else { return };
            let Some(grant) = self.end_one(offer) else { continue };
            if offer.is_made {
                self.store.expect_rollout(offer.key());
            }
            place.send(PendingRecord::Offer {
                key: offer.key(),
                grant,
                spent: usage(&offer.spent),
            });
        }
    }

    /// The grant of an offer that has ended now; `None` if that is known.
    fn end_one(&self, ended: &EndedOffer) -> Option<Usage> {
        let mut table = self.table();
        // The row stays until its spending is counted, so each overview returns it anew.
        if !table.ended.insert(ended.key()) {
            return None;
        }
        let Some(offer) = table.open.get_mut(&ended.key()) else { return Some(Usage::default()) };
        let grant = match offer.state {
            OfferState::Published(grant) => grant,
            // It was published, although an error said otherwise.
            OfferState::Waiting => Usage::default(),
            OfferState::Ended { .. } => return None,
        };
        offer.state = OfferState::Ended { is_made: ended.is_made };
        offer.changed.notify_waiters();
        Some(grant)
    }

    async fn withdraw_offer(&self, key: RecordKey) -> Result<bool, RecordingError> {
        {
            let mut table = self.table();
            match table.open.get(&key).map(|offer| offer.state) {
                None => return Ok(true),
                Some(OfferState::Ended { .. }) => return Ok(false),
                Some(OfferState::Published(_)) => {}
                Some(OfferState::Waiting) => {
                    table.open.remove(&key);
                    return Ok(true);
                }
            }
        }
        let (db, lease) = (&self.app.db, self.job.lease);
        let withdrawn = persist(|| optimization_offer::withdraw(db, lease, Some(&key))).await;
        let withdrawn = withdrawn.map_err(|error| RecordingError(error.cause()))?;
        self.end(&withdrawn).await;
        if !withdrawn.is_empty() {
            self.table().open.remove(&key);
        }
        Ok(!withdrawn.is_empty())
    }

    async fn outcome_of(&self, key: RecordKey) -> Result<OfferOutcome, RecordingError> {
        while let Some(changed) = self.next_change(&key) {
            changed.await;
        }
        if !self.remove_made(&key) {
            return Ok(OfferOutcome::Returned);
        }
        let rollout = self.store.recorded_rollout(&key).await?;
        let made = rollout.map(|rollout| OfferOutcome::Made(Arc::new(rollout)));
        Ok(made.unwrap_or(OfferOutcome::Returned))
    }

    /// The next change of an offer that is open; `None` if there is no such offer.
    fn next_change(&self, key: &RecordKey) -> Option<OwnedNotified> {
        let table = self.table();
        let offer = table.open.get(key)?;
        let is_open = !matches!(offer.state, OfferState::Ended { .. });
        // Made while the table is locked, so that no notification is missed.
        is_open.then(|| offer.changed.clone().notified_owned())
    }

    /// Removes an offer that has ended. Returns whether its rollout was made.
    fn remove_made(&self, key: &RecordKey) -> bool {
        let removed = self.table().open.remove(key).map(|offer| offer.state);
        matches!(removed, Some(OfferState::Ended { is_made: true }))
    }

    fn has_waiting(&self) -> bool {
        self.table().open.values().any(|offer| matches!(offer.state, OfferState::Waiting))
    }

    fn account(&self) -> &BudgetAccount {
        self.budgeted.account()
    }

    fn table(&self) -> MutexGuard<'_, OfferTable> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RolloutOffers for SharedRollouts {
    fn offer(&self, rollout: OfferedRollout) {
        let key = rollout.key.0;
        let mut table = self.table();
        if table.ended.contains(&key) || table.open.contains_key(&key) {
            return;
        }
        table.next += 1;
        let number = table.next;
        let (state, changed) = (OfferState::Waiting, Arc::new(Notify::new()));
        table.open.insert(key, Offer { number, rollout, state, changed });
        drop(table);
        self.added.notify_one();
    }

    fn outcome(&self, key: RolloutKey) -> BoxFuture<'_, Result<OfferOutcome, RecordingError>> {
        self.outcome_of(key.0).boxed()
    }

    fn withdraw(&self, key: RolloutKey) -> BoxFuture<'_, Result<bool, RecordingError>> {
        self.withdraw_offer(key.0).boxed()
    }
}

/// What a helper may spend on a rollout: twice the costliest so far, and two requests of the largest size. With a
/// budget that limits no usage nothing is reserved; `None` as long as nothing is known.
fn most_spent(account: &BudgetAccount, costliest: Option<Usage>) -> Option<Usage> {
    let budget = account.budget();
    if budget.lm_calls.is_none() && !account.limits_answers() {
        return Some(Usage::default());
    }
    let (rollout, request) = (costliest?, account.largest_request());
    let cost = |usage: Usage| usage.cost.unwrap_or(0.0);
    // A provider may report any number.
    let twice = |one: u64, other: u64| one.saturating_add(other).saturating_mul(2);
    Some(Usage {
        lm_calls: twice(rollout.lm_calls, 1),
        input_tokens: twice(rollout.input_tokens, request.input_tokens),
        output_tokens: twice(rollout.output_tokens, request.output_tokens),
        cost: budget.cost.map(|_| 2.0 * (cost(rollout) + cost(request))),
        ..Usage::default()
    })
}

/// The budget of a helper: what is limited for the optimization is limited for it.
fn granted_budget(budget: &Budget, grant: &Usage) -> Budget {
    Budget {
        lm_calls: budget.lm_calls.map(|_| grant.lm_calls),
        tokens: budget.tokens.map(|_| grant.input_tokens.saturating_add(grant.output_tokens)),
        cost: budget.cost.and(grant.cost),
        seconds: None,
    }
}

/// A variation as JSON text, for [`read_variation`].
fn variation_json(variation: &Variation) -> String {
    let number = i64::try_from(variation.number).unwrap_or(i64::MAX);
    let temperature = Payload::Float(variation.temperature);
    Payload::list(vec![Payload::Int(number), temperature]).to_json()
}

/// Reads a variation as an offer has it.
pub(crate) fn read_variation(text: &str) -> Option<Variation> {
    let payload = Payload::from_json(text).ok()?;
    let [Payload::Int(number), Payload::Float(temperature)] = payload.as_list()? else {
        return None;
    };
    Some(Variation { number: usize::try_from(*number).ok()?, temperature: *temperature })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variation_reads_back_as_written() {
        let variation = Variation { number: 3, temperature: 1.0 };
        assert_eq!(read_variation(&variation_json(&variation)), Some(variation));
    }

    #[test]
    fn a_grant_limits_what_the_budget_limits() {
        let open = |budget| BudgetAccount::open(budget, Usage::default(), 0.0);
        let costliest =
            Usage { lm_calls: 3, input_tokens: 100, output_tokens: 10, ..Usage::default() };
        let free = open(Budget { seconds: Some(60.0), ..Budget::default() });
        assert_eq!(most_spent(&free, None), Some(Usage::default()));
        let limited = open(Budget { lm_calls: Some(100), ..Budget::default() });
        assert_eq!(most_spent(&limited, None), None, "nothing is known of a rollout");
        let grant = most_spent(&limited, Some(costliest)).unwrap();
        let granted = granted_budget(limited.budget(), &grant);
        assert_eq!(granted, Budget { lm_calls: Some(8), ..Budget::default() });
        let tokens = open(Budget { tokens: Some(9000), ..Budget::default() });
        let grant = most_spent(&tokens, Some(costliest)).unwrap();
        let granted = granted_budget(tokens.budget(), &grant);
        assert_eq!(granted, Budget { tokens: Some(220), ..Budget::default() });
    }
}
