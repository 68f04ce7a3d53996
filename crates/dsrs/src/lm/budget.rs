//! A budget of requests, tokens and money, kept to the last one: what the next request may cost at
//! worst is set aside before it is sent, and what it did cost is counted after. Knows usage and
//! prices, and nothing of what requests say.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Usage;

/// What may be spent. What is `None` has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Requests that are sent, those that fail included.
    pub lm_calls: Option<u64>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Money, in the currency of the configured prices.
    pub cost: Option<f64>,
    /// Seconds, by the clock.
    pub seconds: Option<f64>,
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BudgetLimit {
    /// Of requests.
    LmCalls,
    /// Of tokens.
    Tokens,
    /// Of money.
    Cost,
    /// Of seconds.
    Seconds,
}

impl BudgetLimit {
    /// The limit's name, as in a budget.
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

/// A budget that is being spent. Many may spend it at the same time: together they never exceed it.
pub struct BudgetAccount {
    budget: Budget,
    ends: Option<Instant>,
    book: Mutex<Book>,
    settled: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct Book {
    /// What has been spent.
    spent: Usage,
    /// What the requests on their way may cost at worst.
    held: Usage,
    /// What is set aside for later.
    reserve: BudgetReserve,
    /// The first limit that was reached since the reserve was last changed.
    reached: Option<BudgetLimit>,
}

/// A part of a budget that is set aside for later.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetReserve {
    /// Requests, tokens and money.
    pub usage: Usage,
    /// Seconds.
    pub seconds: f64,
}

impl BudgetAccount {
    /// A budget of which this has been spent, in so many seconds, before.
    #[must_use]
    pub fn open(budget: Budget, spent: Usage, seconds: f64) -> Self {
        let left = budget.seconds.map(|limit| (limit - seconds).clamp(0.0, 1e9));
        Self {
            budget,
            ends: left.map(|left| Instant::now() + std::time::Duration::from_secs_f64(left)),
            book: Mutex::new(Book { spent, ..Book::default() }),
            settled: Notify::new(),
        }
    }

    /// What may be spent.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether tokens or money are limited, so that the size of an answer must be.
    #[must_use]
    pub const fn limits_answers(&self) -> bool {
        self.budget.tokens.is_some() || self.budget.cost.is_some()
    }

    /// What has been spent so far, requests that failed included.
    #[must_use]
    pub fn spent(&self) -> Usage {
        self.book().spent
    }

    /// The limit that was reached, if one was.
    #[must_use]
    pub fn reached(&self) -> Option<BudgetLimit> {
        let reached = self.book().reached;
        reached.or_else(|| self.is_over().then_some(BudgetLimit::Seconds))
    }

    /// When the time of those who may not touch the reserve is over.
    #[must_use]
    pub fn ends(&self) -> Option<Instant> {
        let reserve = std::time::Duration::try_from_secs_f64(self.book().reserve.seconds);
        self.ends.and_then(|ends| ends.checked_sub(reserve.unwrap_or_default()).or(Some(ends)))
    }

    /// Sets a part aside, instead of what was before; nothing gives all of it free again. What is
    /// left may be spent on, whatever was reached before.
    pub fn set_reserve(&self, reserve: BudgetReserve) {
        let mut book = self.book();
        book.reserve = reserve;
        book.reached = None;
        drop(book);
        self.settled.notify_waiters();
    }

    /// Sets aside this much at least. What was reached stays so.
    pub fn raise_reserve(&self, reserve: BudgetReserve) {
        let mut book = self.book();
        let BudgetReserve { usage, seconds } = book.reserve;
        let more = reserve.usage;
        book.reserve = BudgetReserve {
            usage: Usage {
                lm_calls: usage.lm_calls.max(more.lm_calls),
                input_tokens: usage.input_tokens.max(more.input_tokens),
                output_tokens: usage.output_tokens.max(more.output_tokens),
                cached_tokens: usage.cached_tokens.max(more.cached_tokens),
                cost: match (usage.cost, more.cost) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    (one, other) => one.or(other),
                },
            },
            seconds: seconds.max(reserve.seconds),
        };
    }

    /// Sets aside what one request may cost at worst. Waits while those on their way may still turn
    /// out to have cost less.
    ///
    /// # Errors
    /// The limit that does not allow it, whatever becomes of the others. Nothing is allowed from
    /// then on: smaller requests would only take a little longer to come to the same end.
    pub async fn acquire(&self, worst: Usage) -> Result<SpendingPermit<'_>, BudgetLimit> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on no news is missed.
            settled.as_mut().enable();
            match self.try_acquire(worst) {
                Ok(true) => return Ok(SpendingPermit { account: self, worst }),
                Ok(false) => settled.await,
                Err(limit) => return Err(limit),
            }
        }
    }

    /// Whether it was set aside; false where that has to wait for others.
    fn try_acquire(&self, worst: Usage) -> Result<bool, BudgetLimit> {
        let over = self.is_over();
        let mut book = self.book();
        if let Some(limit) = book.reached.or(over.then_some(BudgetLimit::Seconds)) {
            return Err(limit);
        }
        let mut alone = book.spent;
        alone += book.reserve.usage;
        alone += worst;
        if let Some(limit) = self.budget.exceeded(&alone) {
            book.reached = Some(limit);
            return Err(limit);
        }
        alone += book.held;
        let fits = self.budget.exceeded(&alone).is_none();
        if fits {
            book.held += worst;
        }
        Ok(fits)
    }

    fn is_over(&self) -> bool {
        self.ends().is_some_and(|ends| ends <= Instant::now())
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, worst: Usage, spent: Usage) {
        let mut book = self.book();
        book.held.lm_calls -= worst.lm_calls;
        book.held.input_tokens -= worst.input_tokens;
        book.held.output_tokens -= worst.output_tokens;
        book.held.cost = book.held.cost.zip(worst.cost).map(|(held, worst)| held - worst);
        book.spent += spent;
        drop(book);
        self.settled.notify_waiters();
    }
}

impl Budget {
    /// The limit that this much exceeds.
    fn exceeded(&self, usage: &Usage) -> Option<BudgetLimit> {
        // Sums of prices are not exact to the last bit.
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

/// What is set aside for a request that is being sent. Dropping it counts all of that: what came of
/// the request nobody knows.
pub struct SpendingPermit<'a> {
    account: &'a BudgetAccount,
    worst: Usage,
}

impl SpendingPermit<'_> {
    /// Counts what the request did cost.
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
    async fn requests_beyond_the_budget_are_refused_and_so_is_all_that_follows() {
        let account = account(Budget { lm_calls: Some(2), ..Budget::default() });
        for _ in 0..2 {
            account.acquire(calls(1)).await.ok().unwrap().settle(calls(1));
        }
        assert_eq!(account.acquire(calls(1)).await.err(), Some(BudgetLimit::LmCalls));
        assert_eq!((account.reached(), account.spent().lm_calls), (Some(BudgetLimit::LmCalls), 2));
    }

    #[tokio::test]
    async fn a_request_whose_worst_does_not_fit_waits_for_those_that_may_cost_less() {
        let account = account(Budget { tokens: Some(100), ..Budget::default() });
        let first = account.acquire(tokens(10, 50)).await.ok().unwrap();
        let mut second = Box::pin(account.acquire(tokens(10, 50)));
        assert!(second.as_mut().now_or_never().is_none());
        first.settle(tokens(10, 5));
        assert!(second.await.is_ok());
    }

    #[tokio::test]
    async fn a_request_that_was_dropped_counts_as_much_as_it_may_have_cost() {
        let account = account(Budget { tokens: Some(100), ..Budget::default() });
        drop(account.acquire(tokens(20, 60)).await);
        assert_eq!(account.spent(), tokens(20, 60));
        assert!(account.acquire(tokens(20, 1)).await.is_err());
    }

    #[tokio::test]
    async fn what_is_set_aside_can_be_spent_once_it_is_free() {
        let account = account(Budget { lm_calls: Some(3), ..Budget::default() });
        account.set_reserve(BudgetReserve { usage: calls(2), seconds: 0.0 });
        account.acquire(calls(1)).await.ok().unwrap().settle(calls(1));
        assert!(account.acquire(calls(1)).await.is_err());
        account.set_reserve(BudgetReserve::default());
        assert!(account.acquire(calls(1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_was_spent_before_counts_and_some_can_be_set_aside() {
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
        fn many_who_spend_at_once_never_exceed_it_and_never_wait_for_nothing(
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
