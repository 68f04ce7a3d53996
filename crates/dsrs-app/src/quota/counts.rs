//! The counts of one key and its limits: whether a request is admitted, and what is left. Pure: the caller
//! gives the time and exchanges the counts.

use chrono::{DateTime, Timelike, Utc};

use dsrs_api::key::KeyLimits;
use dsrs_store::key_count::{OtherCounts, OwnCounts, Spending};

/// The length of a window.
const WINDOW: i64 = 60;

/// The seconds of a day.
const DAY: i64 = 86_400;

/// The limit that refuses a request.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaRefusal {
    /// The limit, for people: `100 requests in a minute`.
    pub limit: String,
    /// Whether it is one of spending.
    pub is_budget: bool,
    /// Seconds until a repeat may succeed.
    pub retry_after: u64,
}

/// A limit whose remainder is shown to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaStatus {
    pub name: &'static str,
    /// The limit.
    pub quota: i64,
    /// Its window in seconds.
    pub window: i64,
    /// What is left.
    pub left: i64,
    /// Seconds until the window ends.
    pub reset: i64,
}

/// What a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A run that the request drives.
    Run,
    Job,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    own: i64,
    others: i64,
}

impl Count {
    const fn total(self) -> i64 {
        self.own.saturating_add(self.others)
    }
}

/// What is counted of a key.
#[derive(Debug, Default)]
pub(super) struct Counts {
    minute: i64,
    requests: Count,
    runs: Count,
    running: Count,
    /// Jobs at the last exchange, and those that may have started since.
    jobs: i64,
    recent_jobs: i64,
    spent: Spending,
    /// The day that was spent in, since 1970.
    day: i64,
}

impl Counts {
    /// Admits a request, or names the limit that it exceeds.
    pub(super) fn admit(
        &mut self,
        limits: &KeyLimits,
        now: DateTime<Utc>,
        start: Option<Start>,
    ) -> Result<(), QuotaRefusal> {
        self.turn(now);
        let window_end = until_end(now.timestamp(), WINDOW);
        let requests = (limits.requests_per_minute, self.requests, "requests in a minute");
        refuse_over(requests, window_end)?;
        // A request that starts a run above another limit was still a request.
        self.requests.own += 1;
        match start {
            None => Ok(()),
            Some(_) => self.admit_start(limits, now),
        }
    }

    /// Admits a run or a job of a request that was admitted.
    pub(super) fn admit_start(
        &mut self,
        limits: &KeyLimits,
        now: DateTime<Utc>,
    ) -> Result<(), QuotaRefusal> {
        self.turn(now);
        let window_end = until_end(now.timestamp(), WINDOW);
        self.check_budget(limits, now)?;
        refuse_over((limits.runs_per_minute, self.runs, "runs in a minute"), window_end)?;
        let jobs = self.jobs + self.recent_jobs;
        let running = Count { own: self.running.total(), others: jobs };
        refuse_over((limits.concurrent_runs, running, "runs at a time"), 1)?;
        self.runs.own += 1;
        self.running.own += 1;
        Ok(())
    }

    fn check_budget(&self, limits: &KeyLimits, now: DateTime<Utc>) -> Result<(), QuotaRefusal> {
        let limit = match (limits.tokens_per_day, limits.cost_per_day) {
            (Some(limit), _) if self.spent.tokens >= limit => {
                format!("{limit} tokens in a day (UTC)")
            }
            (_, Some(limit)) if self.spent.cost >= limit => {
                format!("{limit} of money in a day (UTC)")
            }
            _ => return Ok(()),
        };
        let retry_after = DAY.unsigned_abs() - u64::from(now.num_seconds_from_midnight());
        Err(QuotaRefusal { limit, is_budget: true, retry_after })
    }

    /// A run or the request that started a job has ended.
    pub(super) fn end(&mut self, start: Start) {
        self.running.own -= 1;
        if start == Start::Job {
            // The next exchange counts it as a job; until then nothing else does.
            self.recent_jobs += 1;
        }
    }

    /// The limits of windows and what is left of them.
    pub(super) fn status(&mut self, limits: &KeyLimits, now: DateTime<Utc>) -> Vec<QuotaStatus> {
        self.turn(now);
        let spent = Count { own: self.spent.tokens, others: 0 };
        let counted = [
            ("requests", limits.requests_per_minute, self.requests, WINDOW),
            ("runs", limits.runs_per_minute, self.runs, WINDOW),
            ("tokens", limits.tokens_per_day, spent, DAY),
        ];
        let status = counted.into_iter().filter_map(|(name, quota, count, window)| {
            let quota = quota?;
            let left = quota.saturating_sub(count.total()).max(0);
            Some(QuotaStatus {
                name,
                quota,
                window,
                left,
                reset: until_end(now.timestamp(), window),
            })
        });
        status.collect()
    }

    /// The counts to be exchanged.
    pub(super) fn own(&mut self, now: DateTime<Utc>) -> OwnCounts {
        self.turn(now);
        OwnCounts {
            minute: self.minute,
            requests: self.requests.own,
            runs: self.runs.own,
            running: self.running.own,
        }
    }

    /// The counts of the others at the time of an exchange, which began with `sent`.
    pub(super) fn receive(&mut self, sent: OwnCounts, others: OtherCounts, recent_jobs: i64) {
        // The minute may have turned during the query: counts of the one before do not belong to this one.
        if sent.minute == self.minute {
            self.requests.others = others.requests;
            self.runs.others = others.runs;
        }
        self.running.others = others.running;
        self.jobs = others.jobs;
        self.recent_jobs -= recent_jobs;
        self.turn_day(others.now);
        self.spent = others.spent;
    }

    /// The jobs that may have started since the last exchange.
    pub(super) const fn recent_jobs(&self) -> i64 {
        self.recent_jobs
    }

    /// Whether nothing of the key is in progress.
    pub(super) const fn is_idle(&self) -> bool {
        self.running.own == 0
    }

    /// Begins a new window and a new day.
    fn turn(&mut self, now: DateTime<Utc>) {
        let minute = now.timestamp() / WINDOW;
        // The clock is estimated: a small step back begins no new window.
        if minute > self.minute || minute < self.minute - 1 {
            (self.minute, self.requests, self.runs) = (minute, Count::default(), Count::default());
        }
        self.turn_day(now);
    }

    fn turn_day(&mut self, now: DateTime<Utc>) {
        let day = now.timestamp() / DAY;
        if day > self.day || day < self.day - 1 {
            (self.day, self.spent) = (day, Spending::default());
        }
    }
}

fn until_end(seconds: i64, window: i64) -> i64 {
    window - seconds.rem_euclid(window)
}

fn refuse_over(
    (limit, count, what): (Option<i64>, Count, &str),
    retry_after: i64,
) -> Result<(), QuotaRefusal> {
    match limit {
        Some(limit) if count.total() >= limit => Err(QuotaRefusal {
            limit: format!("{limit} {what}"),
            is_budget: false,
            retry_after: retry_after.unsigned_abs(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_window_ends_with_the_minute_and_counts_those_of_others() {
        let limits = KeyLimits { requests_per_minute: Some(3), ..KeyLimits::default() };
        let mut counts = Counts::default();
        assert_eq!(counts.admit(&limits, at(60), None), Ok(()));
        let sent = counts.own(at(61));
        let others = OtherCounts { requests: 1, ..OtherCounts::default() };
        counts.receive(sent, others, 0);
        assert_eq!(counts.admit(&limits, at(70), None), Ok(()));
        let refused = counts.admit(&limits, at(75), None).unwrap_err();
        assert_eq!((refused.limit.as_str(), refused.retry_after), ("3 requests in a minute", 45));
        let status = counts.status(&limits, at(75));
        assert_eq!((status[0].left, status[0].reset), (0, 45));
        assert_eq!(counts.admit(&limits, at(120), None), Ok(()));
        // Counts of a window that is over do not count in the next one.
        counts.receive(sent, others, 0);
        assert_eq!(counts.status(&limits, at(121))[0].left, 2);
    }

    #[test]
    fn runs_at_a_time_count_jobs_from_their_start() {
        let limits = KeyLimits { concurrent_runs: Some(2), ..KeyLimits::default() };
        let mut counts = Counts::default();
        let now = at(600);
        assert_eq!(counts.admit(&limits, now, Some(Start::Run)), Ok(()));
        assert_eq!(counts.admit(&limits, now, Some(Start::Job)), Ok(()));
        assert!(counts.admit(&limits, now, Some(Start::Run)).is_err());
        counts.end(Start::Job);
        assert!(counts.admit(&limits, now, Some(Start::Run)).is_err(), "the job has only begun");
        let (sent, recent) = (counts.own(now), counts.recent_jobs());
        counts.receive(sent, OtherCounts { jobs: 1, ..OtherCounts::default() }, recent);
        assert!(counts.admit(&limits, now, Some(Start::Run)).is_err());
        counts.receive(sent, OtherCounts::default(), 0);
        assert_eq!(counts.admit(&limits, now, Some(Start::Run)), Ok(()));
        counts.end(Start::Run);
        counts.end(Start::Run);
        assert!(counts.is_idle());
    }

    #[test]
    fn a_budget_that_is_spent_lasts_until_the_day_ends() {
        let limits = KeyLimits { cost_per_day: Some(0.5), ..KeyLimits::default() };
        let mut counts = Counts::default();
        let now = at(10 * DAY + DAY - 90);
        let spent = Spending { tokens: 7, cost: 0.5 };
        let sent = counts.own(now);
        counts.receive(sent, OtherCounts { now, spent, ..OtherCounts::default() }, 0);
        assert_eq!(counts.admit(&limits, now, None), Ok(()), "reading is free");
        let refused = counts.admit(&limits, now, Some(Start::Run)).unwrap_err();
        assert!(refused.is_budget);
        assert_eq!(refused.retry_after, 90);
        assert_eq!(counts.admit(&limits, at(11 * DAY), Some(Start::Run)), Ok(()));
    }
}
