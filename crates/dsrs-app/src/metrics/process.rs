//! What Linux says of this process: CPU time, memory, open files. Elsewhere there is nothing to say.

use std::fs;

use chrono::{DateTime, Utc};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProcessFigures {
    pub(super) cpu_seconds: f64,
    pub(super) resident_bytes: u64,
    pub(super) open_files: u64,
}

/// When this process began to measure itself.
pub(super) fn started() -> f64 {
    let now: DateTime<Utc> = Utc::now();
    now.timestamp_millis() as f64 / 1000.0
}

/// Reads the figures; `None` where there is no `/proc`.
pub(super) fn figures() -> Option<ProcessFigures> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let usage = fs::read_to_string("/proc/self/stat").ok()?;
    let files = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(ProcessFigures {
        cpu_seconds: cpu_ticks(&usage)? as f64 / TICKS,
        resident_bytes: resident_kib(&status)? * 1024,
        open_files: files as u64,
    })
}

/// Ticks of a second in `/proc`, on every architecture that Linux supports.
const TICKS: f64 = 100.0;

/// The ticks of user and system time: the 14th and 15th member. The second one is a name in parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut members = rest.split_whitespace().skip(11);
    let user: u64 = members.next()?.parse().ok()?;
    let system: u64 = members.next()?.parse().ok()?;
    Some(user + system)
}

fn resident_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_skipped() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(resident_kib("Name:\tx\nVmRSS:\t   2048 kB\n"), Some(2048));
    }
}
