//! An exact budget of requests, tokens and money: the worst-case cost of a request is reserved before
//! it is sent, and its real cost is counted afterwards. Knows usage and prices, and nothing of the
//! content of requests.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Usage;

/// Limits of spending. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Requests, including failed ones.
    pub lm_calls: Option<u64>,
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Money, in the currency of the configured prices.
    pub cost: Option<f64>,
    /// Seconds of wall-clock time.
    pub seconds: Option<f64>,
}

/// One of the limits of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BudgetLimit {
    /// The limit of requests.
    LmCalls,
    /// The limit of tokens.
    Tokens,
    /// The limit of money.
    Cost,
    /// The limit of seconds.
    Seconds,
}

impl BudgetLimit {
    /// The name of the limit in a budget.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LmCalls => "lm_calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Seconds => "seconds",
        }
    }
}

impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A budget and what has been spent of it. Concurrent requests together never exceed it.
pub struct BudgetAccount {
    budget: Budget,
    ends: Option<Instant>,
    ledger: Mutex<Ledger>,
    settled: Notify,
    /// The requests that wait for others to be settled.
    waiting: AtomicUsize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    /// The usage so far.
    spent: Usage,
    /// The highest possible cost of the requests in flight, and the grants.
    in_flight: Usage,
    /// The highest possible cost of one request so far.
    largest: Usage,
    /// The part that is reserved for later.
    reserve: BudgetReserve,
    /// The first limit reached since the last change of the reserve.
    reached: Option<BudgetLimit>,
}

/// A part of a budget that is reserved for later.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetReserve {
    /// Requests, tokens and money.
    pub usage: Usage,
    /// Seconds.
    pub seconds: f64,
}

impl BudgetAccount {
    /// Opens a budget of which a usage and a time have already been spent.
    #[must_use]
    pub fn open(budget: Budget, spent: Usage, seconds: f64) -> Self {
        let left = budget.seconds.map(|limit| (limit - seconds).clamp(0.0, 1e9));
        Self {
            budget,
            ends: left.map(|left| Instant::now() + std::time::Duration::from_secs_f64(left)),
            ledger: Mutex::new(Ledger { spent, ..Ledger::default() }),
            settled: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The limits.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether tokens or money are limited, so that every answer needs a limit.
    #[must_use]
    pub const fn limits_answers(&self) -> bool {
        self.budget.tokens.is_some() || self.budget.cost.is_some()
    }

    /// The usage so far, including failed requests.
    #[must_use]
    pub fn spent(&self) -> Usage {
        self.ledger().spent
    }

    /// The limit that has been reached, if any.
    #[must_use]
    pub fn reached(&self) -> Option<BudgetLimit> {
        let reached = self.ledger().reached;
        reached.or_else(|| self.is_over().then_some(BudgetLimit::Seconds))
    }

    /// When the time ends, without the reserved time.
    #[must_use]
    pub fn ends(&self) -> Option<Instant> {
        let reserve = std::time::Duration::try_from_secs_f64(self.ledger().reserve.seconds);
        self.ends.and_then(|ends| ends.checked_sub(reserve.unwrap_or_default()).or(Some(ends)))
    }

    /// Replaces the reserve; the default releases it. The rest may be spent, even if a limit was reached
    /// before.
    pub fn set_reserve(&self, reserve: BudgetReserve) {
        let mut ledger = self.ledger();
        ledger.reserve = reserve;
        ledger.reached = None;
        drop(ledger);
        self.settled.notify_waiters();
    }

    /// Raises the reserve to at least this much. A limit that was reached stays reached.
    pub fn raise_reserve(&self, reserve: BudgetReserve) {
        let mut ledger = self.ledger();
        let BudgetReserve { usage, seconds } = ledger.reserve;
        ledger.reserve = BudgetReserve {
            usage: usage.max(reserve.usage),
            seconds: seconds.max(reserve.seconds),
        };
    }

    /// Acquires the right to spend the highest possible cost of one request. Waits while requests in
    /// flight may still turn out to cost less.
    ///
    /// # Errors
    /// The limit that forbids it in any case. From then on every request is refused: smaller ones would
    /// only delay the same end.
    pub async fn acquire(&self, worst: Usage) -> Result<SpendingPermit<'_>, BudgetLimit> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on no notification is missed.
            settled.as_mut().enable();
            match self.try_acquire(worst) {
                Ok(true) => return Ok(SpendingPermit { account: self, worst }),
                Ok(false) => {
                    let _waiting = WaitingRequest::enter(&self.waiting);
                    settled.await;
                }
                Err(limit) => return Err(limit),
            }
        }
    }

    /// Reserves a part of the budget for work that is paid elsewhere, up to this much. False if that is not
    /// possible now. Requests wait for grants as they wait for each other. `most` has a cost if the budget
    /// limits money.
    #[must_use]
    pub fn grant(&self, most: Usage) -> bool {
        let is_over = self.is_over();
        let mut ledger = self.ledger();
        let mut all = ledger.spent;
        all += ledger.reserve.usage;
        all += ledger.in_flight;
        all += most;
        let fits = ledger.reached.is_none() && !is_over && self.budget.exceeded(&all).is_none();
        if fits {
            ledger.in_flight += most;
        }
        fits
    }

    /// Ends a grant of this much, and counts what was spent of it.
    pub fn settle_grant(&self, most: Usage, spent: Usage) {
        self.settle(most, spent);
    }

    /// Whether a request waits for others, or for a grant, to be settled.
    #[must_use]
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The highest possible cost of one request, of those so far.
    #[must_use]
    pub fn largest_request(&self) -> Usage {
        self.ledger().largest
    }

    /// Whether the cost was reserved; false if it has to wait for requests in flight.
    fn try_acquire(&self, worst: Usage) -> Result<bool, BudgetLimit> {
        let over = self.is_over();
        let mut ledger = self.ledger();
        ledger.largest = ledger.largest.max(worst);
        if let Some(limit) = ledger.reached.or(over.then_some(BudgetLimit::Seconds)) {
            return Err(limit);
        }
        let mut alone = ledger.spent;
        alone += ledger.reserve.usage;
        alone += worst;
        if let Some(limit) = self.budget.exceeded(&alone) {
            ledger.reached = Some(limit);
            return Err(limit);
        }
        alone += ledger.in_flight;
        let fits = self.budget.exceeded(&alone).is_none();
        if fits {
            ledger.in_flight += worst;
        }
        Ok(fits)
    }

    fn is_over(&self) -> bool {
        self.ends().is_some_and(|ends| ends <= Instant::now())
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, worst: Usage, spent: Usage) {
        let mut ledger = self.ledger();
        ledger.in_flight.lm_calls -= worst.lm_calls;
        ledger.in_flight.input_tokens -= worst.input_tokens;
        ledger.in_flight.output_tokens -= worst.output_tokens;
        if let (Some(all), Some(worst)) = (&mut ledger.in_flight.cost, worst.cost) {
            *all -= worst;
        }
        ledger.spent += spent;
        drop(ledger);
        self.settled.notify_waiters();
    }
}

impl Budget {
    /// A limit as text, for errors.
    pub(super) fn limit_text(&self, limit: BudgetLimit) -> String {
        let found = match limit {
            BudgetLimit::LmCalls => self.lm_calls.map(|limit| limit.to_string()),
            BudgetLimit::Tokens => self.tokens.map(|limit| limit.to_string()),
            BudgetLimit::Cost => self.cost.map(|limit| limit.to_string()),
            BudgetLimit::Seconds => self.seconds.map(|limit| limit.to_string()),
        };
        found.unwrap_or_default()
    }

    /// The limit that a usage exceeds.
    fn exceeded(&self, usage: &Usage) -> Option<BudgetLimit> {
        // Sums of prices have rounding errors.
        const SLACK: f64 = 1.0 + 1e-9;
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        if self.lm_calls.is_some_and(|limit| usage.lm_calls > limit) {
            Some(BudgetLimit::LmCalls)
        } else if self.tokens.is_some_and(|limit| tokens > limit) {
            Some(BudgetLimit::Tokens)
        } else if self.cost.is_some_and(|limit| usage.cost.unwrap_or(0.0) > limit * SLACK) {
            Some(BudgetLimit::Cost)
        } else {
            None
        }
    }
}

/// A request among those that wait, until dropped.
struct WaitingRequest<'a>(&'a AtomicUsize);

impl<'a> WaitingRequest<'a> {
    fn enter(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to spend the highest possible cost of a request. Dropping it counts all of that cost,
/// because the outcome of the request is unknown.
pub struct SpendingPermit<'a> {
    account: &'a BudgetAccount,
    worst: Usage,
}

impl SpendingPermit<'_> {
    /// Counts the actual cost of the request.
    pub fn settle(self, spent: Usage) {
        self.account.settle(self.worst, spent);
        std::mem::forget(self);
    }
}

impl Drop for SpendingPermit<'_> {
    fn drop(&mut self) {
        self.account.settle(self.worst, self.worst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use proptest::prelude::*;

    use super::*;

    fn calls(lm_calls: u64) -> Usage {
        Usage { lm_calls, ..Usage::default() }
    }

    fn tokens(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage { lm_calls: 1, input_tokens, output_tokens, ..Usage::default() }
    }

    fn account(budget: Budget) -> BudgetAccount {
        BudgetAccount::open(budget, Usage::default(), 0.0)
    }

    #[tokio::test]
    async fn after_the_first_refusal_every_request_is_refused() {
        let account = account(Budget { lm_calls: Some(2), ..Budget::default() });
        for _ in 0..2 {
            account.acquire(calls(1)).await.ok().unwrap().settle(calls(1));
        }
        assert_eq!(account.acquire(calls(1)).await.err(), Some(BudgetLimit::LmCalls));
        assert_eq!((account.reached(), account.spent().lm_calls), (Some(BudgetLimit::LmCalls), 2));
    }

    #[tokio::test]
    async fn a_request_waits_for_others_that_may_cost_less() {
        let account = account(Budget { tokens: Some(100), ..Budget::default() });
        let first = account.acquire(tokens(10, 50)).await.ok().unwrap();
        let mut second = Box::pin(account.acquire(tokens(10, 50)));
        assert!(second.as_mut().now_or_never().is_none());
        first.settle(tokens(10, 5));
        assert!(second.await.is_ok());
    }

    #[tokio::test]
    async fn a_dropped_request_counts_its_highest_possible_cost() {
        let account = account(Budget { tokens: Some(100), ..Budget::default() });
        drop(account.acquire(tokens(20, 60)).await);
        assert_eq!(account.spent(), tokens(20, 60));
        assert!(account.acquire(tokens(20, 1)).await.is_err());
    }

    #[tokio::test]
    async fn the_reserve_can_be_spent_after_its_release() {
        let account = account(Budget { lm_calls: Some(3), ..Budget::default() });
        account.set_reserve(BudgetReserve { usage: calls(2), seconds: 0.0 });
        account.acquire(calls(1)).await.ok().unwrap().settle(calls(1));
        assert!(account.acquire(calls(1)).await.is_err());
        account.set_reserve(BudgetReserve::default());
        assert!(account.acquire(calls(1)).await.is_ok());
    }

    #[tokio::test]
    async fn a_grant_is_reserved_until_it_is_settled() {
        let account = account(Budget { tokens: Some(100), ..Budget::default() });
        assert!(account.grant(tokens(40, 40)) && !account.grant(tokens(20, 10)));
        assert_eq!((account.reached(), account.is_waited_for()), (None, false));
        let mut request = Box::pin(account.acquire(tokens(10, 50)));
        assert!(request.as_mut().now_or_never().is_none() && account.is_waited_for());
        account.settle_grant(tokens(40, 40), tokens(10, 5));
        assert!(request.await.is_ok() && !account.is_waited_for());
        assert_eq!(account.largest_request(), tokens(10, 50));
        // What was granted without a limit of its own changes nothing of what others may cost.
        let account = self::account(Budget { cost: Some(1.0), ..Budget::default() });
        let half = Usage { cost: Some(0.6), ..calls(1) };
        assert!(account.grant(half));
        account.settle_grant(Usage::default(), Usage::default());
        assert!(!account.grant(half));
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_time_counts_and_time_can_be_reserved() {
        let budget = Budget { seconds: Some(10.0), ..Budget::default() };
        let account = BudgetAccount::open(budget, Usage::default(), 4.0);
        account.set_reserve(BudgetReserve { seconds: 2.0, ..BudgetReserve::default() });
        tokio::time::advance(Duration::from_millis(3_900)).await;
        assert!(account.acquire(calls(1)).await.is_ok());
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(account.acquire(calls(1)).await.err(), Some(BudgetLimit::Seconds));
        account.set_reserve(BudgetReserve::default());
        assert!(account.acquire(calls(1)).await.is_ok());
    }

    proptest! {
        #[test]
        fn concurrent_requests_never_exceed_the_budget_or_deadlock(
            limit in 0..400_u64,
            costs in prop::collection::vec((1..40_u64, 0..40_u64, 0..4_u64), 1..40),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let spent = runtime.unwrap().block_on(async {
                let account = account(Budget { tokens: Some(limit), ..Budget::default() });
                let spend = costs.iter().map(|&(input, output, turns)| {
                    let account = &account;
                    async move {
                        let Ok(permit) = account.acquire(tokens(input, output)).await else { return };
                        for _ in 0..turns {
                            tokio::task::yield_now().await;
                        }
                        permit.settle(tokens(input, output / 2));
                    }
                });
                join_all(spend).await;
                account.spent()
            });
            prop_assert!(spent.input_tokens + spent.output_tokens <= limit);
        }
    }
}
