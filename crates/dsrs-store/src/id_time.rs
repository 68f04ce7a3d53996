//! Ids as times: they are UUIDv7, which begin with the milliseconds since 1970. So the rows of a time are a range
//! of ids, and a query that names the range reads only the partitions of that time. May not know tables.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

/// The most by which the time in an id and the time of its row differ.
const DIFFERENCE: TimeDelta = TimeDelta::days(1);

/// The bits behind the milliseconds.
const BITS_BEHIND: u32 = 80;

/// The first id of a time: no id of that millisecond or later is before it. Ids end in the year 10889.
#[must_use]
pub fn first_id(at: DateTime<Utc>) -> Uuid {
    let milliseconds = u128::try_from(at.timestamp_millis()).unwrap_or(0);
    match milliseconds.leading_zeros() >= BITS_BEHIND {
        true => Uuid::from_u128(milliseconds << BITS_BEHIND),
        false => Uuid::max(),
    }
}

/// The time in an id, in whole milliseconds.
#[must_use]
pub fn time_of(id: Uuid) -> DateTime<Utc> {
    let milliseconds = i64::try_from(id.as_u128() >> BITS_BEHIND).ok();
    milliseconds.and_then(DateTime::from_timestamp_millis).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// An id that is before those of all rows of a time or later.
pub(super) fn before_rows_since(at: DateTime<Utc>) -> Uuid {
    first_id(at.checked_sub_signed(DIFFERENCE).unwrap_or(DateTime::<Utc>::MIN_UTC))
}

/// An id that is behind those of all rows of a time or earlier.
pub(super) fn behind_rows_until(at: DateTime<Utc>) -> Uuid {
    at.checked_add_signed(DIFFERENCE).map_or(Uuid::max(), first_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_between_the_first_ids_of_its_millisecond_and_the_next() {
        let id = Uuid::now_v7();
        let at = time_of(id);
        assert!(first_id(at) <= id && id < first_id(at + TimeDelta::milliseconds(1)));
        assert_eq!(time_of(first_id(at)), at);
        assert!(before_rows_since(at) < id && id < behind_rows_until(at));
    }

    #[test]
    fn times_that_no_id_has_are_before_or_behind_all_ids() {
        assert_eq!(first_id(DateTime::<Utc>::MIN_UTC), Uuid::nil());
        assert_eq!(before_rows_since(DateTime::<Utc>::MIN_UTC), Uuid::nil());
        assert_eq!(behind_rows_until(DateTime::<Utc>::MAX_UTC), Uuid::max());
        assert_eq!(first_id(time_of(Uuid::max())).as_u128(), u128::MAX << BITS_BEHIND);
    }
}
