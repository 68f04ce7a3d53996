//! Values that the examples of several views share.

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::RawJson;

/// The id of an example.
pub(crate) const ID: Uuid = Uuid::from_u128(0x0199_0d5e_7c1c_7b7e_9d8a_0c2f_0f1f_2f3f);

/// The point in time of an example, some seconds after the first one.
pub(crate) fn time(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_757_000_000 + seconds, 250_000_000).unwrap_or_default()
}

/// A value as the stored text of it.
pub(crate) fn raw(value: &impl Serialize) -> RawJson<'static> {
    serde_json::to_string(value).unwrap_or_default().into()
}
