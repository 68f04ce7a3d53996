//! How views write points in time: RFC 3339 in UTC. For `#[serde(serialize_with = "…")]`.

use chrono::{DateTime, Utc};
use serde::Serializer;

/// A point in time.
pub(crate) fn timestamp<S: Serializer>(
    time: &DateTime<Utc>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&dsrs_app::timestamp(*time))
}

/// A point in time, or null.
pub(crate) fn timestamp_or_null<S: Serializer>(
    time: &Option<DateTime<Utc>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => timestamp(time, serializer),
        None => serializer.serialize_none(),
    }
}
