//! `postmaster.pid`: what Postgres writes about itself, and how to treat the file of an earlier
//! server.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

use super::error::PgError;
use super::layout::Layout;

/// How long the Postgres of a killed server may take to answer or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interval between two checks of its state.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The relevant lines of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: u32,
    /// Whether Postgres reports that it accepts connections.
    pub(super) ready: bool,
}

impl PidFile {
    /// The content of the cluster's file, if there is one.
    pub(super) fn read(pgdata: &Path) -> Option<Self> {
        std::fs::read(pgdata.join("postmaster.pid"))
            .ok()
            .map(|text| Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Line 1 is the process id, negative for a single-user Postgres; line 8 is the status. A file
    /// that a full disk or a power cut damaged yields process 0, which is no process.
    fn parse(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let pid = lines.first().and_then(|line| line.parse::<i32>().ok()).unwrap_or(0);
        Self { pid: pid.unsigned_abs(), ready: lines.get(7) == Some(&"ready") }
    }
}

/// Finds the Postgres of an earlier server: returns one that runs, waits for one that is stopping,
/// and removes a file whose process is gone or is another program.
pub(super) fn settle_previous(layout: &Layout) -> Result<Option<u32>, PgError> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(found) = PidFile::read(&layout.pgdata) {
        if !is_postgres(found.pid, &layout.pgdata) {
            let path = layout.pgdata.join("postmaster.pid");
            std::fs::remove_file(&path).map_err(PgError::file("remove", path))?;
            return Ok(None);
        }
        if found.ready && answers(&layout.socket_dir) {
            return Ok(Some(found.pid));
        }
        if Instant::now() > deadline {
            let directory = layout.root.clone();
            return Err(PgError::Stuck { pid: found.pid, directory, what: "answer" });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(None)
}

/// Whether the cluster has a Postgres that accepts connections.
pub(super) fn is_ready(layout: &Layout) -> bool {
    let found = PidFile::read(&layout.pgdata);
    found.is_some_and(|found| {
        found.ready && is_postgres(found.pid, &layout.pgdata) && answers(&layout.socket_dir)
    })
}

/// Whether a process with this id exists and we may signal it. A process that we may not signal
/// belongs to another user, and Postgres always belongs to us.
pub(super) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Whether the process is the Postgres of this cluster: ids are reused, soon after a reboot. Where
/// the system does not show it, the file is trusted.
fn is_postgres(pid: u32, pgdata: &Path) -> bool {
    // Directories are compared, not their paths: one may lead there through a symbolic link.
    let same = |cwd: Metadata| {
        let identity = |found: &Metadata| (found.dev(), found.ino());
        std::fs::metadata(pgdata).is_ok_and(|own| identity(&own) == identity(&cwd))
    };
    is_alive(pid) && std::fs::metadata(format!("/proc/{pid}/cwd")).map_or(true, same)
}

/// Whether anything listens on the socket.
pub(super) fn answers(socket_dir: &Path) -> bool {
    UnixStream::connect(socket_dir.join(".s.PGSQL.5432")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_process_and_a_status_and_half_a_file_has_less() {
        let whole = "4711\n/data\n1700000000\n5432\n/data/socket\n\n  12 34\nready   \n";
        assert_eq!(PidFile::parse(whole), PidFile { pid: 4711, ready: true });
        assert!(!PidFile::parse(&whole.replace("ready", "starting")).ready);
        assert_eq!(PidFile::parse("4711\n/data\n"), PidFile { pid: 4711, ready: false });
        assert_eq!(PidFile::parse("-4711\n").pid, 4711);
        assert_eq!(PidFile::parse("").pid, 0);
        assert_eq!(PidFile::parse("nonsense\n").pid, 0);
    }

    #[test]
    fn this_process_is_alive_and_process_zero_is_not() {
        assert!(is_alive(std::process::id()));
        assert!(!is_alive(0) && !is_alive(u32::MAX));
    }
}
