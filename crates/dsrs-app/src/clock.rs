//! Wall-clock times and their format. The engine measures durations from the start of a run; dates
//! are made here.

use chrono::{DateTime, Datelike, SecondsFormat, SubsecRound, Timelike, Utc};

/// The current time with the precision of the database, so that an answer now and a later one from
/// the database agree.
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// RFC 3339 in UTC, with none, three, six or nine decimal places, as many as necessary.
pub fn timestamp(time: DateTime<Utc>) -> String {
    match common_format(time) {
        Some(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        None => time.to_rfc3339_opts(SecondsFormat::AutoSi, true),
    }
}

/// Formats a time with a four-digit year and microseconds by hand: a run has half a dozen times, and
/// the general formatter takes ten times as long.
fn common_format(time: DateTime<Utc>) -> Option<Vec<u8>> {
    // A time with a zone computes its offset for each of its parts.
    let time = time.naive_utc();
    let (year, nanos) = (u32::try_from(time.year()).ok()?, time.nanosecond());
    // In a leap second the nanoseconds exceed a second.
    if year > 9999 || nanos >= 1_000_000_000 || nanos % 1000 != 0 {
        return None;
    }
    let mut text = b"0000-00-00T00:00:00.000000Z".to_vec();
    let date = [(year, 0, 4), (time.month(), 5, 2), (time.day(), 8, 2)];
    let of_day = [(time.hour(), 11, 2), (time.minute(), 14, 2), (time.second(), 17, 2)];
    for (number, at, width) in date.into_iter().chain(of_day).chain([(nanos / 1000, 20, 6)]) {
        digits(&mut text[at..at + width], number);
    }
    match nanos {
        0 => text.truncate(19),
        _ if nanos % 1_000_000 == 0 => text.truncate(23),
        _ => return Some(text),
    }
    text.push(b'Z');
    Some(text)
}

fn digits(target: &mut [u8], mut number: u32) {
    for digit in target.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_has_as_many_decimal_places_as_necessary() {
        for text in [
            "2026-11-21T14:10:29Z",
            "1969-12-31T23:59:59.500Z",
            "0001-01-01T00:00:00.000001Z",
            "9999-12-31T23:59:59.999999999Z",
            "2016-12-31T23:59:60Z",
        ] {
            let time = DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc);
            assert_eq!(timestamp(time), text);
        }
    }

    proptest! {
        #[test]
        fn times_have_the_format_of_the_calendar_library(
            seconds in -70_000_000_000_i64..270_000_000_000,
            micros in prop_oneof![Just(0), Just(250_000), 0_i64..1_000_000],
        ) {
            let time = DateTime::from_timestamp(seconds, 0).unwrap();
            let time = time + TimeDelta::microseconds(micros);
            prop_assert_eq!(timestamp(time), time.to_rfc3339_opts(SecondsFormat::AutoSi, true));
        }
    }
}
