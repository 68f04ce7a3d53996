//! Points in time and durations, as people read them.

use chrono::{DateTime, Utc};
use maud::{Markup, html};

/// A point in time: how long ago, with the exact time on hover.
pub(crate) fn ago(at: DateTime<Utc>) -> Markup {
    html! { time datetime=(at.to_rfc3339()) { (ago_text(at, Utc::now())) } }
}

fn ago_text(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - at).num_seconds();
    match seconds {
        ..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        86_400..2_592_000 => format!("{} d ago", seconds / 86_400),
        _ => at.format("%Y-%m-%d").to_string(),
    }
}

/// A point in time to come: how far away it is, with the exact time on hover.
pub(crate) fn ahead(at: DateTime<Utc>) -> Markup {
    html! { time datetime=(at.to_rfc3339()) { (ahead_text(at, Utc::now())) } }
}

fn ahead_text(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (at - now).num_seconds();
    match seconds {
        ..1 => "now".to_owned(),
        1..60 => format!("in {seconds} s"),
        60..3600 => format!("in {} min", seconds / 60),
        3600..86_400 => format!("in {} h", seconds / 3600),
        _ => format!("in {} d", seconds / 86_400),
    }
}

/// A duration in milliseconds.
pub(crate) fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => "<1 ms".to_owned(),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 10_000.0 => format!("{:.2} s", ms / 1_000.0),
        ms if ms < 60_000.0 => format!("{:.1} s", ms / 1_000.0),
        ms if ms < 3_600_000.0 => {
            format!("{:.0} min {:02.0} s", (ms / 60_000.0).floor(), (ms / 1_000.0) % 60.0)
        }
        ms => format!("{:.1} h", ms / 3_600_000.0),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn times_read_as_people_say_them() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(400);
        let before = |seconds| ago_text(now - TimeDelta::seconds(seconds), now);
        assert_eq!(
            [0, 42, 90, 7_200, 172_800].map(before).join(", "),
            "just now, 42 s ago, 1 min ago, 2 h ago, 2 d ago"
        );
        assert_eq!(before(86_400 * 40), "1970-12-27");
        let after = |seconds| ahead_text(now + TimeDelta::seconds(seconds), now);
        assert_eq!(
            [-3, 42, 90, 7_200, 172_800].map(after).join(", "),
            "now, in 42 s, in 1 min, in 2 h, in 2 d"
        );
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let texts = [0.4, 12.0, 1_234.0, 45_000.0, 61_500.0, 7_200_000.0].map(duration).join(", ");
        assert_eq!(texts, "<1 ms, 12 ms, 1.23 s, 45.0 s, 1 min 02 s, 2.0 h");
    }
}
