//! Times of a calendar: cron expressions of five fields in a time zone. A local time that does not exist, because
//! clocks are set forward, is as much later as the clocks are. A local time that exists twice, because they are set
//! back, counts once, the first time, unless every hour is named: then both count, so that no hour is left out.
//! Knows no schedule.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp};

/// The days that are looked through for a time: a 29th of February may be eight years away.
const DAYS: usize = 366 * 9;

/// How far the clocks may be set, in hours: a local time is at most so far from where it is looked for.
const SHIFT_HOURS: i64 = 3;

/// The names of months and days of the week, from their first number.
const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Names of whole expressions.
const ALIASES: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron expression. Each field is a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether every hour, day and weekday counts.
    every_hour: bool,
    any_day: bool,
    any_weekday: bool,
}

/// A field of an expression.
struct Field {
    name: &'static str,
    first: u8,
    last: u8,
    names: &'static [&'static str],
}

impl Field {
    const fn new(name: &'static str, first: u8, last: u8, names: &'static [&'static str]) -> Self {
        Self { name, first, last, names }
    }

    fn wrong(&self, text: &str) -> String {
        let Self { name, first, last, .. } = self;
        format!(
            "the {name} `{}` is not `*`, a number from {first} to {last}, a range, a list of these, or one of \
             these with `/STEP`",
            text.escape_debug()
        )
    }

    /// The set of bits of a field, and whether it is every value.
    fn read(&self, text: &str) -> Result<(u64, bool), String> {
        let mut bits = 0;
        for part in text.split(',') {
            bits |= self.part(part).ok_or_else(|| self.wrong(text))?;
        }
        Ok((bits, text == "*"))
    }

    fn part(&self, text: &str) -> Option<u64> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, step.parse::<u8>().ok().filter(|step| *step > 0)?),
            None => (text, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.first, self.last),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if text.contains('/') => (self.value(range)?, self.last),
            None => (self.value(range)?, self.value(range)?),
        };
        let values = (first..=last).step_by(step.into());
        (first <= last).then(|| values.fold(0, |bits, value| bits | 1 << value))
    }

    fn value(&self, text: &str) -> Option<u8> {
        let lower = text.to_ascii_lowercase();
        if let Some(position) = self.names.iter().position(|name| *name == lower) {
            return u8::try_from(position).ok().map(|position| self.first + position);
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = is_number.then(|| text.parse().ok()).flatten();
        value.filter(|value| (self.first..=self.last).contains(value))
    }
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// What was expected.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let text = ALIASES.iter().find(|(name, _)| *name == text).map_or(text, |(_, text)| text);
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            let names: Vec<&str> = ALIASES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "expected five fields (minute, hour, day of the month, month, day of the week) or one of {}",
                names.join(", ")
            ));
        };
        let (minutes, _) = Field::new("minute", 0, 59, &[]).read(minutes)?;
        let (hours, every_hour) = Field::new("hour", 0, 23, &[]).read(hours)?;
        let (days, any_day) = Field::new("day of the month", 1, 31, &[]).read(days)?;
        let (months, _) = Field::new("month", 1, 12, MONTHS).read(months)?;
        let (weekdays, any_weekday) =
            Field::new("day of the week", 0, 7, WEEKDAYS).read(weekdays)?;
        // 7 is Sunday, too.
        let weekdays = (weekdays | weekdays >> 7) & 0x7f;
        Ok(Self { minutes, hours, days, months, weekdays, every_hour, any_day, any_weekday })
    }

    /// The first time after another; `None` if there is none within nine years.
    pub(crate) fn after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let shift = Span::new().hours(SHIFT_HOURS);
        let from = zone.to_datetime(time).checked_sub(shift).ok()?;
        let mut best: Option<(Timestamp, DateTime)> = None;
        for date in from.date().series(Span::new().days(1)).take(DAYS) {
            if !self.has_date(date) {
                continue;
            }
            for local in self.times_of(date).filter(|local| *local >= from) {
                // Later local times may be earlier times, as far as the clocks are set.
                if best.is_some_and(|(_, end)| local > end) {
                    return best.map(|(found, _)| found);
                }
                for found in self.instants(local, zone).into_iter().flatten() {
                    if found > time && best.is_none_or(|(earliest, _)| found < earliest) {
                        best = Some((found, local.checked_add(shift).ok()?));
                    }
                }
            }
        }
        best.map(|(found, _)| found)
    }

    /// If both the day and the weekday are restricted, one of them suffices.
    fn has_date(&self, date: Date) -> bool {
        let has = |bits: u64, value: i8| bits >> value & 1 == 1;
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let fits = match (self.any_day, self.any_weekday) {
            (false, false) => day || weekday,
            _ => day && weekday,
        };
        has(self.months, date.month()) && fits
    }

    fn times_of(&self, date: Date) -> impl Iterator<Item = DateTime> {
        let Self { hours, minutes, .. } = *self;
        let hours = (0..24_i8).filter(move |hour| hours >> hour & 1 == 1);
        hours.flat_map(move |hour| {
            let minutes = (0..60_i8).filter(move |minute| minutes >> minute & 1 == 1);
            minutes.map(move |minute| date.at(hour, minute, 0, 0))
        })
    }

    /// When a local time is.
    fn instants(&self, local: DateTime, zone: &TimeZone) -> [Option<Timestamp>; 2] {
        let found = zone.to_ambiguous_timestamp(local);
        let is_fold = matches!(found.offset(), AmbiguousOffset::Fold { .. });
        let second = if is_fold && self.every_hour { found.later().ok() } else { None };
        [found.compatible().ok(), second]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(cron: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let (cron, zone) = (Cron::read(cron).unwrap(), TimeZone::get(zone).unwrap());
        let mut time: Timestamp = from.parse().unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            time = cron.after(time, &zone).unwrap();
            found.push(time.to_zoned(zone.clone()).strftime("%F %H:%M %:z").to_string());
        }
        found
    }

    #[test]
    fn fields_are_numbers_names_ranges_lists_and_steps() {
        assert_eq!(
            times("*/20 9-10 * * mon,Wed", "UTC", "2026-11-24T09:00:00Z", 4),
            [
                "2026-11-25 09:00 +00:00",
                "2026-11-25 09:20 +00:00",
                "2026-11-25 09:40 +00:00",
                "2026-11-25 10:00 +00:00"
            ]
        );
        assert_eq!(
            times("@monthly", "UTC", "2026-11-24T09:00:00Z", 1),
            ["2026-12-01 00:00 +00:00"]
        );
        assert_eq!(
            times("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 1),
            ["2028-02-29 00:00 +00:00"]
        );
        // The 13th, and every Friday.
        assert_eq!(
            times("0 0 13 * 5", "UTC", "2026-11-01T00:00:00Z", 3),
            ["2026-11-06 00:00 +00:00", "2026-11-13 00:00 +00:00", "2026-11-20 00:00 +00:00"]
        );
        assert_eq!(Cron::read("0 0 * * 7"), Cron::read("0 0 * * sun"));
        for wrong in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "+5 * * * *",
            "1, * * * *",
            "@often",
            "* * * * * *",
        ] {
            assert!(Cron::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Cron::read("0 0 30 2 *").unwrap().after(Timestamp::UNIX_EPOCH, &TimeZone::UTC),
            None
        );
    }

    #[test]
    fn the_rules_of_a_time_zone_are_those_of_the_server() {
        // Vancouver stopped changing its clocks in 2026. A Postgres with older rules sets them back.
        assert_eq!(
            times("0 0 * * *", "America/Vancouver", "2026-12-31T00:00:00Z", 2),
            ["2026-12-31 00:00 -07:00", "2027-01-01 00:00 -07:00"]
        );
    }

    #[test]
    fn a_time_that_the_clocks_leave_out_is_an_hour_later_and_happens_once() {
        // On 2026-03-29, 02:00 is followed by 03:00.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
            ["2026-03-28 02:30 +01:00", "2026-03-29 03:30 +02:00", "2026-03-30 02:30 +02:00"]
        );
        assert_eq!(
            times("0,30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 4),
            [
                "2026-03-29 03:00 +02:00",
                "2026-03-29 03:30 +02:00",
                "2026-03-29 04:00 +02:00",
                "2026-03-29 04:30 +02:00"
            ]
        );
    }

    #[test]
    fn a_time_that_exists_twice_happens_once_unless_every_hour_counts() {
        // On 2026-10-25, 03:00 is followed by 02:00.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25 02:30 +02:00", "2026-10-26 02:30 +01:00"]
        );
        assert_eq!(
            times("30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z", 4),
            [
                "2026-10-25 02:30 +02:00",
                "2026-10-25 02:30 +01:00",
                "2026-10-25 03:30 +01:00",
                "2026-10-25 04:30 +01:00"
            ]
        );
    }

    #[test]
    fn a_shift_of_half_an_hour_moves_and_repeats_times_by_half_an_hour() {
        // On 2026-10-04, 02:00 is followed by 02:30; on 2026-04-05, 02:00 is followed by 01:30.
        assert_eq!(
            times("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", 3),
            ["2026-10-04 02:45 +11:00", "2026-10-05 02:15 +11:00", "2026-10-06 02:15 +11:00"]
        );
        assert_eq!(
            times("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T20:00:00Z", 2),
            ["2026-04-05 01:45 +11:00", "2026-04-06 01:45 +10:30"]
        );
        assert_eq!(
            times("45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", 3),
            ["2026-04-05 01:45 +11:00", "2026-04-05 01:45 +10:30", "2026-04-05 02:45 +10:30"]
        );
    }

    #[test]
    fn times_on_the_days_of_the_change_are_right_in_other_zones() {
        assert_eq!(
            times("30 2 * * sun", "America/New_York", "2026-03-07T12:00:00Z", 2),
            ["2026-03-08 03:30 -04:00", "2026-03-15 02:30 -04:00"]
        );
        assert_eq!(
            times("30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", 2),
            ["2026-11-01 01:30 -04:00", "2026-11-02 01:30 -05:00"]
        );
        // Midnight does not exist on 2026-09-06 in Chile.
        assert_eq!(
            times("@daily", "America/Santiago", "2026-09-05T12:00:00Z", 2),
            ["2026-09-06 01:00 -03:00", "2026-09-07 00:00 -03:00"]
        );
        assert_eq!(
            times("0 9 * * *", "Asia/Kathmandu", "2026-03-29T00:00:00Z", 2),
            ["2026-03-29 09:00 +05:45", "2026-03-30 09:00 +05:45"]
        );
    }

    #[test]
    fn a_whole_year_has_each_day_once_and_each_hour_of_the_clock() {
        for zone in
            ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]
        {
            let zone = TimeZone::get(zone).unwrap();
            let count = |cron: &str| {
                let cron = Cron::read(cron).unwrap();
                let (begin, end): (Timestamp, Timestamp) = (
                    "2026-01-01T12:00:00Z".parse().unwrap(),
                    "2027-01-01T12:00:00Z".parse().unwrap(),
                );
                let all = std::iter::successors(cron.after(begin, &zone), |time| {
                    cron.after(*time, &zone)
                });
                all.take_while(|time| *time <= end).count()
            };
            assert_eq!(count("30 2 * * *"), 365, "{zone:?}");
            assert!((8759..=8761).contains(&count("0 * * * *")), "{zone:?}");
        }
    }

    proptest! {
        #[test]
        fn times_grow_and_hourly_ones_are_never_more_than_an_hour_apart(
            seconds in 1_700_000_000_i64..1_900_000_000, minute in 0_u8..60,
            zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
        ) {
            let zone = TimeZone::get(zone).unwrap();
            let cron = Cron::read(&format!("{minute} * * * *")).unwrap();
            let from = Timestamp::from_second(seconds).unwrap();
            let first = cron.after(from, &zone).unwrap();
            let second = cron.after(first, &zone).unwrap();
            prop_assert!(from < first && first < second);
            prop_assert!(second.as_second() - first.as_second() <= 5400);
            prop_assert_eq!(i64::from(first.to_zoned(zone).minute()) % 30, i64::from(minute) % 30);
        }
    }
}
