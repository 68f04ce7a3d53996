//! The server of the examples as a process, with a private Postgres in a directory of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A running server; stopped when dropped, with its Postgres.
pub(crate) struct Host {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    child: Child,
    _directory: TempDir,
}

impl Host {
    /// Starts it with this endpoint as its model.
    pub(crate) fn start(lm: &str) -> Self {
        let tmp = env!("CARGO_TARGET_TMPDIR");
        let directory = tempfile::Builder::new().prefix("host-").tempdir_in(tmp).unwrap();
        let log = directory.path().join("stderr.log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        let of_machine = |name| Some((name, std::env::var_os(name)?));
        command.arg("serve").env_clear();
        command.envs(["PATH", "HOME", "PG_BIN", "TMPDIR"].into_iter().filter_map(of_machine));
        command.env("DSRS_BIND", "127.0.0.1:0").env("OPENAI_BASE_URL", lm);
        command.current_dir(&directory).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let block: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let url = block.iter().find_map(|line| line.trim().strip_prefix("address"));
        let url = url.unwrap_or_else(|| panic!("{}", std::fs::read_to_string(log).unwrap()));
        Self { url: url.trim().to_owned(), child, _directory: directory }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SIGTERM, so that its Postgres stops with it.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
