//! The postmaster as a process: starts it, waits until it accepts connections, stops it.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::PgOptions;
use super::binaries::Binaries;
use super::cluster::failure_line;
use super::error::PgError;
use super::layout::Layout;
use super::owner::Owner;
use super::pidfile::{POLL_INTERVAL, PidFile, answers, is_alive};

/// How long Postgres may take to become ready; after a crash it replays its log first.
const START: Duration = Duration::from_secs(120);

/// The interval between two checks of a Postgres that starts, which takes about 30 ms.
const START_POLL: Duration = Duration::from_millis(2);

/// How long a fast shutdown may take before it becomes an immediate one.
const STOP: Duration = Duration::from_secs(30);

/// Connections beyond the pool's: an operator's `psql`, the migrator, a listener.
const SPARE_CONNECTIONS: u32 = 16;

/// Size at which the log is rotated; one old log remains.
const LARGEST_LOG: u64 = 16 << 20;

/// A running Postgres.
#[derive(Debug)]
pub(super) struct Postmaster {
    pid: u32,
    /// Absent if another process started it.
    child: Option<Child>,
    stopped: bool,
}

impl Postmaster {
    /// Adopts a Postgres that a killed server left.
    pub(super) fn adopted(pid: u32) -> Self {
        Self { pid, child: None, stopped: false }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Fast shutdown; if that takes too long, an immediate one, after which the next start recovers.
    pub(super) fn stop(&mut self) -> Result<(), PgError> {
        for signal in [Signal::INT, Signal::QUIT] {
            self.signal(signal);
            let deadline = Instant::now() + STOP;
            while Instant::now() < deadline {
                if self.is_gone() {
                    self.stopped = true;
                    return Ok(());
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        Err(PgError::Program {
            program: "postgres",
            message: format!("process {} does not stop", self.pid),
        })
    }

    fn is_gone(&mut self) -> bool {
        match &mut self.child {
            // A child that has ended remains a process until it is waited for.
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => !is_alive(self.pid),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // A process that is already gone is the goal.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        if !self.stopped && !self.is_gone() {
            self.signal(Signal::INT);
        }
    }
}

/// Starts Postgres and waits until it accepts connections.
pub(super) fn start(
    binaries: &Binaries,
    layout: &Layout,
    owner: &Owner,
    options: &PgOptions,
) -> Result<Postmaster, PgError> {
    let (log, log_start) = open_log(layout, owner)?;
    let failed = |error: std::io::Error| PgError::Program {
        program: "postgres",
        message: error.to_string(),
    };
    let mut command = owner.command(&binaries.program("postgres"));
    command.arg("-D").arg(&layout.pgdata);
    for setting in settings(layout, options) {
        command.arg("-c").arg(setting);
    }
    // Its own process group: Ctrl-C at the terminal is for the server, and Postgres stops after the
    // server's work is done.
    command.process_group(0).stdout(log.try_clone().map_err(failed)?).stderr(log);
    let child = command.spawn().map_err(failed)?;
    let mut postmaster = Postmaster { pid: child.id(), child: Some(child), stopped: false };
    wait_until_ready(&mut postmaster, layout, log_start)?;
    Ok(postmaster)
}

/// Settings of a small private server. They are on the command line, so that the operator can edit
/// the file in the cluster for every other setting.
fn settings(layout: &Layout, options: &PgOptions) -> Vec<String> {
    let socket = layout.socket_dir.to_string_lossy().replace('"', "\"\"");
    let connections = options.connections.saturating_add(SPARE_CONNECTIONS);
    let mut settings = vec![
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories=\"{socket}\""),
        "unix_socket_permissions=0700".to_owned(),
        "port=5432".to_owned(),
        format!("max_connections={connections}"),
        "shared_buffers=32MB".to_owned(),
        "wal_level=minimal".to_owned(),
        "max_wal_senders=0".to_owned(),
        "max_wal_size=512MB".to_owned(),
        "jit=off".to_owned(),
        "max_parallel_workers_per_gather=0".to_owned(),
        "timezone=UTC".to_owned(),
        "log_timezone=UTC".to_owned(),
        "log_min_messages=warning".to_owned(),
        "log_checkpoints=off".to_owned(),
    ];
    if options.throwaway {
        let without_durability = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
        settings.extend(without_durability.map(str::to_owned));
    }
    settings
}

/// Whether the running Postgres of a cluster has the settings that these options ask for. Postgres
/// writes its command line into a file.
pub(super) fn has_settings(layout: &Layout, options: &PgOptions) -> bool {
    let wanted: String =
        settings(layout, options).iter().map(|text| format!(" \"-c\" \"{text}\"")).collect();
    let line = std::fs::read_to_string(layout.pgdata.join("postmaster.opts"));
    line.is_ok_and(|line| line.trim_end().ends_with(&wanted))
}

/// Opens the log for appending; returns its present size.
fn open_log(layout: &Layout, owner: &Owner) -> Result<(File, u64), PgError> {
    let size = std::fs::metadata(&layout.log).map_or(0, |found| found.len());
    if size > LARGEST_LOG {
        let old = layout.log.with_extension("log.old");
        std::fs::rename(&layout.log, old).map_err(PgError::file("move", &layout.log))?;
    }
    let log = OpenOptions::new().create(true).append(true).open(&layout.log);
    let log = log.map_err(PgError::file("open", &layout.log))?;
    owner.own(&layout.log).map_err(PgError::file("own", &layout.log))?;
    let size = log.metadata().map_or(0, |found| found.len());
    Ok((log, size))
}

fn wait_until_ready(
    postmaster: &mut Postmaster,
    layout: &Layout,
    log_start: u64,
) -> Result<(), PgError> {
    let deadline = Instant::now() + START;
    while Instant::now() < deadline {
        let ours = PidFile::read(&layout.pgdata).filter(|found| found.pid == postmaster.pid);
        if ours.is_some_and(|found| found.ready) && answers(&layout.socket_dir) {
            return Ok(());
        }
        if postmaster.is_gone() {
            let message = failure_since(&layout.log, log_start);
            return Err(PgError::Program { program: "postgres", message });
        }
        std::thread::sleep(START_POLL);
    }
    let (pid, directory) = (postmaster.pid, layout.root.clone());
    Err(PgError::Stuck { pid, directory, what: "become ready" })
}

fn failure_since(log: &Path, offset: u64) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let from = usize::try_from(offset).unwrap_or(0).min(text.len());
    let message = String::from_utf8_lossy(text.get(from..).unwrap_or_default()).into_owned();
    failure_line(&message)
        .unwrap_or_else(|| format!("it ended without a word in {}", log.display()))
}
