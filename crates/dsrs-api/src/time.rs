//! Times, as documents write them.

use chrono::DateTime;
use dsrs::document::TextFormat;
use dsrs::problem::Code;

/// A time of RFC 3339.
pub static TIME: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "an RFC 3339 time",
    format: Some("date-time"),
    pattern: None,
    length: None,
    accepts: |text| DateTime::parse_from_rfc3339(text).is_ok(),
};
