//! The times of a schedule: its expression in its time zone, and what follows when some of them are over. Knows no
//! database.

use chrono::{DateTime, TimeDelta, Utc};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cron::Cron;
use dsrs::document::parse_word;
use dsrs_api::schedule::{CatchUp, Overlap};
use dsrs_store::schedule::{Advance, DueSchedule, NewFiring};

/// A time that is noticed later than this was missed.
const GRACE: TimeDelta = TimeDelta::seconds(60);

/// The most times that are caught up; older ones are left out.
const MOST_CAUGHT_UP: usize = 100;

/// The most times that are counted as missed.
const MOST_COUNTED: usize = 10_000;

/// The most firings of one schedule that wait for earlier work.
const MOST_WAITING: i64 = 10;

/// An expression in a time zone.
pub(crate) struct Calendar {
    cron: Cron,
    zone: TimeZone,
}

impl Calendar {
    /// Of texts that were checked.
    ///
    /// # Errors
    /// What was expected of the expression.
    pub(crate) fn read(cron: &str, zone: TimeZone) -> Result<Self, String> {
        Ok(Self { cron: Cron::read(cron)?, zone })
    }

    /// The time zone of a name of the IANA database.
    pub(crate) fn zone(name: &str) -> Option<TimeZone> {
        // `get` also reads the time zone of the machine.
        TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some())
    }

    /// The first time after another.
    pub(crate) fn after(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let time = Timestamp::from_second(time.timestamp()).ok()?;
        let found = self.cron.after(time, &self.zone)?;
        DateTime::from_timestamp(found.as_second(), 0)
    }

    /// The next times after another.
    pub(crate) fn next(&self, time: DateTime<Utc>, count: usize) -> Vec<DateTime<Utc>> {
        std::iter::successors(self.after(time), |found| self.after(*found)).take(count).collect()
    }

    /// A time as the clocks of the zone show it, with its offset.
    fn local(&self, time: DateTime<Utc>) -> String {
        let found =
            Timestamp::from_second(time.timestamp()).map(|at| at.to_zoned(self.zone.clone()));
        found.map(|at| at.strftime("%a %Y-%m-%d %H:%M %:z").to_string()).unwrap_or_default()
    }

    /// The next times after another, with the local ones.
    pub(super) fn next_local(&self, time: DateTime<Utc>, count: usize) -> Vec<LocalTime> {
        let times = self.next(time, count).into_iter();
        times.map(|at| LocalTime { at, local: self.local(at) }).collect()
    }
}

/// A time of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTime {
    pub at: DateTime<Utc>,
    /// As the clocks of the time zone show it: `Fri 2026-11-27 02:30 +01:00`.
    pub local: String,
}

/// The names of the time zones that a schedule may have.
pub fn zone_names() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.to_string()).collect()
}

/// The times that are over.
struct OverTimes {
    /// The newest ones, oldest first.
    newest: Vec<DateTime<Utc>>,
    /// How many there are before them, at most [`MOST_COUNTED`].
    older: usize,
}

impl OverTimes {
    fn of(calendar: &Calendar, first: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let after = |time: &DateTime<Utc>| calendar.after(*time);
        let over = std::iter::successors(Some(first), after).take_while(|time| *time <= now);
        let mut counted: Vec<DateTime<Utc>> = over.take(MOST_COUNTED).collect();
        if counted.len() < MOST_COUNTED {
            let older = counted.len().saturating_sub(MOST_CAUGHT_UP);
            return Self { newest: counted.split_off(older), older };
        }
        // After a long time nothing counts them all: the newest ones are within some time before now.
        let mut span = TimeDelta::hours(2);
        loop {
            let begin = (now - span).max(first);
            let found = std::iter::successors(calendar.after(begin), after);
            let mut found: Vec<DateTime<Utc>> = found.take_while(|time| *time <= now).collect();
            if found.len() >= MOST_CAUGHT_UP || begin == first {
                let newest = found.split_off(found.len().saturating_sub(MOST_CAUGHT_UP));
                return Self { newest, older: MOST_COUNTED };
            }
            span = span * 2;
        }
    }
}

/// What follows from the times of a schedule that are over.
pub(super) fn advance(schedule: &DueSchedule) -> Advance {
    let zone = Calendar::zone(&schedule.time_zone);
    let calendar = zone.and_then(|zone| Calendar::read(&schedule.cron, zone).ok());
    // Only what was checked is stored; a time zone may still leave the database.
    let Some(calendar) = calendar else { return Advance::default() };
    let over = OverTimes::of(&calendar, schedule.next_at, schedule.now);
    Advance { firings: firings(schedule, &over), next_at: calendar.after(schedule.now) }
}

fn firings(schedule: &DueSchedule, over: &OverTimes) -> Vec<NewFiring> {
    let Some(newest) = over.newest.last() else { return Vec::new() };
    let is_late = schedule.now - *newest > GRACE;
    let (caught_up, status) = match parse_word(&schedule.catch_up) {
        Some(CatchUp::All) => (over.newest.len(), "pending"),
        Some(CatchUp::One) => (1, "pending"),
        // One firing stands for all: the newest time, with the number of those before it.
        _ if is_late => (1, "missed"),
        _ => (1, "pending"),
    };
    let left_out = over.newest.len() - caught_up;
    let missed = i32::try_from(over.older + left_out).unwrap_or(i32::MAX);
    let queues = parse_word(&schedule.overlap) == Some(Overlap::Queue);
    let mut room = if queues { (MOST_WAITING - schedule.pending).max(0) } else { i64::MAX };
    let mut written = Vec::new();
    for (number, time) in over.newest.iter().skip(left_out).enumerate() {
        let fits = status != "pending" || room > 0;
        room -= 1;
        written.push(NewFiring {
            scheduled_at: *time,
            status: if fits { status } else { "skipped" },
            missed: if number == 0 { missed } else { 0 },
        });
    }
    written
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn due(catch_up: &str, overlap: &str, late: i64) -> DueSchedule {
        let next_at = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        DueSchedule {
            id: Uuid::nil(),
            workspace_id: Uuid::nil(),
            cron: "*/10 * * * *".to_owned(),
            time_zone: "UTC".to_owned(),
            overlap: overlap.to_owned(),
            catch_up: catch_up.to_owned(),
            next_at,
            now: next_at + TimeDelta::seconds(late),
            pending: 0,
        }
    }

    fn planned(catch_up: &str, overlap: &str, late: i64) -> Vec<(i64, &'static str, i32)> {
        let due = due(catch_up, overlap, late);
        let advance = advance(&due);
        assert!(advance.next_at.unwrap() > due.now);
        let relative = |firing: &NewFiring| (firing.scheduled_at - due.next_at).num_minutes();
        advance
            .firings
            .iter()
            .map(|firing| (relative(firing), firing.status, firing.missed))
            .collect()
    }

    #[test]
    fn a_time_fires_once_it_is_over() {
        for policy in ["none", "one", "all"] {
            assert_eq!(planned(policy, "skip", 1), [(0, "pending", 0)], "{policy}");
        }
    }

    #[test]
    fn missed_times_are_left_out_or_caught_up() {
        assert_eq!(planned("none", "skip", 1900), [(30, "missed", 3)]);
        // The newest one is not late.
        assert_eq!(planned("none", "skip", 1810), [(30, "pending", 3)]);
        assert_eq!(planned("one", "skip", 1900), [(30, "pending", 3)]);
        let all = planned("all", "skip", 1900);
        assert_eq!(
            all,
            [(0, "pending", 0), (10, "pending", 0), (20, "pending", 0), (30, "pending", 0)]
        );
        let many = planned("all", "allow", 600 * 1000);
        assert_eq!((many.len(), many[0]), (100, (9010, "pending", 901)));
    }

    #[test]
    fn after_a_year_the_newest_times_are_caught_up() {
        let all = planned("all", "allow", 86_400 * 365);
        let last = 1440 * 365;
        assert_eq!(
            (all.len(), all[0], all[99]),
            (100, (last - 990, "pending", 10_000), (last, "pending", 0))
        );
        assert_eq!(planned("one", "allow", 86_400 * 365), [(last, "pending", 10_099)]);
    }

    #[test]
    fn few_firings_wait_for_earlier_work() {
        let queued = planned("all", "queue", 600 * 14);
        let waiting = queued.iter().filter(|(_, status, _)| *status == "pending").count();
        assert_eq!((queued.len(), waiting), (15, 10));
    }
}
