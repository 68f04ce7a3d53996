//! The built-in tool `current_time`: LMs do not know what day it is.

use chrono::{DateTime, FixedOffset, SecondsFormat, Utc};
use dsrs::facet::Facet;
use dsrs::inventory;
use dsrs::predict::function_tool;
use dsrs::strategy::BuiltinTool;

#[derive(Facet)]
#[facet(crate = dsrs::facet)]
struct Asked {
    /// the distance from UTC, such as `+02:00`; UTC where it is left out
    #[facet(default)]
    utc_offset: Option<String>,
}

inventory::submit! {
    BuiltinTool {
        name: "current_time",
        make: |_| {
            let tell = |asked: Asked| async move { told(Utc::now(), asked.utc_offset.as_deref()) };
            function_tool("current_time", "Tells the date and the time of day, as in \
                2026-01-31T14:05:09Z.", tell).map_err(|error| error.to_string())
        },
    }
}

fn told(now: DateTime<Utc>, offset: Option<&str>) -> Result<String, String> {
    let offset = match offset.map(str::trim) {
        None | Some("" | "Z" | "UTC") => {
            return Ok(now.to_rfc3339_opts(SecondsFormat::Secs, true));
        }
        Some(offset) => offset.parse::<FixedOffset>().map_err(|_| {
            format!(
                "`{}` is no distance from UTC; expected one such as `+02:00`",
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
    fn the_time_is_told_in_utc_or_at_a_distance_from_it() {
        let now = DateTime::parse_from_rfc3339("2026-01-31T23:05:09.5Z").unwrap().to_utc();
        assert_eq!(told(now, None).unwrap(), "2026-01-31T23:05:09Z");
        assert_eq!(told(now, Some("+02:00")).unwrap(), "2026-02-01T01:05:09+02:00");
        assert_eq!(told(now, Some("-0330")).unwrap(), "2026-01-31T19:35:09-03:30");
        for odd in ["Europe/Berlin", "+99:00", "two"] {
            assert!(told(now, Some(odd)).unwrap_err().contains("+02:00"), "{odd}");
        }
    }
}
