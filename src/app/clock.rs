//! Wall-clock times and how they are written. The engine counts from a run's start; dates are made
//! here.

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};

/// The present time, as exact as the database keeps it, so that what is answered now reads the same
/// later.
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// RFC 3339 in UTC.
pub(crate) fn timestamp(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
