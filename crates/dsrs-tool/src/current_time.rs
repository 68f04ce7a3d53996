//! The built-in tool `current_time`: a model does not know the date.

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use dsrs::facet::Facet;
use dsrs::inventory;
use dsrs::predict::function_tool;
use dsrs::strategy::BuiltinTool;

#[derive(Facet)]
#[facet(crate = dsrs::facet)]
struct CurrentTimeArguments {
    /// the offset from UTC, such as `+02:00`; UTC if absent
    #[facet(default)]
    utc_offset: Option<String>,
}

inventory::submit! {
    BuiltinTool {
        name: "current_time",
        make: |_| {
            let tool = |arguments: CurrentTimeArguments| async move {
                format_time(Utc::now(), arguments.utc_offset.as_deref())
            };
            function_tool("current_time", "Returns the date and the time of day, as in \
                2026-01-31T14:05:09Z.", tool).map_err(|error| error.to_string())
        },
    }
}

fn format_time(now: DateTime<Utc>, offset: Option<&str>) -> Result<String, String> {
    let offset = match offset.map(str::trim) {
        None | Some("" | "Z" | "UTC") => {
            return Ok(now.to_rfc3339_opts(SecondsFormat::Secs, true));
        }
        Some(offset) => offset.parse::<FixedOffset>().map_err(|_| {
            format!(
                "`{}` is not an offset from UTC; expected one such as `+02:00`",
                offset.escape_debug()
            )
        })?,
    };
    Ok(now.with_timezone(&offset).to_rfc3339_opts(SecondsFormat::Secs, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_in_utc_or_at_the_requested_offset() {
        let now = DateTime::parse_from_rfc3339("2026-01-31T23:05:09.5Z").unwrap().to_utc();
        assert_eq!(format_time(now, None).unwrap(), "2026-01-31T23:05:09Z");
        assert_eq!(format_time(now, Some("+02:00")).unwrap(), "2026-02-01T01:05:09+02:00");
        assert_eq!(format_time(now, Some("-0330")).unwrap(), "2026-01-31T19:35:09-03:30");
        for odd in ["Europe/Berlin", "+99:00", "two"] {
            assert!(format_time(now, Some(odd)).unwrap_err().contains("+02:00"), "{odd}");
        }
    }
}
