//! The server as a process: the built program with settings of the test's own, nothing of the
//! environment that the tests run in, and files of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::cluster::scratch_dir;
use super::engine::engine_settings;
use super::patience::found_blocking;
use super::program::program;

/// A server to be started: its settings and its directory, which outlives every process of it.
pub struct ServerSetup {
    directory: TempDir,
    env: Vec<(String, String)>,
    args: Vec<String>,
    /// A program that starts the server, with its arguments.
    starter: &'static [&'static str],
    has_log_reader: bool,
}

/// The command that serves.
const SERVE: &str = "serve";

/// A running server; ended when dropped.
pub struct Server {
    child: Child,
    /// What it printed at start.
    pub block: String,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
}

/// How a server ended that did not start.
#[derive(Debug)]
pub struct Refused {
    pub success: bool,
    pub stderr: String,
}

impl ServerSetup {
    /// On a free port of this machine, with a private Postgres in a directory of its own.
    pub fn new() -> Self {
        let directory =
            tempfile::Builder::new().prefix("server-").tempdir_in(scratch_dir()).unwrap();
        let args = vec![SERVE.to_owned()];
        let setup = Self { directory, env: Vec::new(), args, starter: &[], has_log_reader: true };
        let mut setup = setup.env("DSRS_BIND", "127.0.0.1:0").env("DSRS_SHUTDOWN_TIMEOUT", "5s");
        for name in ["PATH", "HOME", "PG_BIN", "TMPDIR"] {
            if let Ok(text) = std::env::var(name) {
                setup = setup.env(name, &text);
            }
        }
        setup
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, text: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Works on this database instead of a private Postgres.
    pub fn database(mut self, url: &str) -> Self {
        for (name, text) in engine_settings(url) {
            self = self.env(&name, &text);
        }
        self.env("DATABASE_URL", url)
    }

    /// Adds a word to the command line.
    pub fn arg(mut self, text: &str) -> Self {
        self.args.push(text.to_owned());
        self
    }

    /// Works on background runs instead of serving; it has no address.
    pub fn worker(mut self) -> Self {
        "worker".clone_into(&mut self.args[0]);
        self
    }

    /// Logs into a pipe without a reader.
    pub fn without_log_reader(mut self) -> Self {
        self.has_log_reader = false;
        self
    }

    /// Without the right to change users, as in some containers. Only root has it.
    pub fn without_setuid(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            self.starter = &["/usr/bin/setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid"];
        }
        self
    }

    /// The directory it runs in, where `dsrs.toml` and `data` are looked for.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts it; a server that refuses to start is the test's failure.
    pub fn start(&self) -> Server {
        self.try_start().unwrap_or_else(|refused| panic!("{}", refused.stderr))
    }

    /// Starts it and waits for its start-up block, or for its end.
    pub fn try_start(&self) -> Result<Server, Refused> {
        let log = self.log();
        let mut words = self.starter.iter().map(PathBuf::from).chain([program()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(&self.args).env_clear().envs(self.env.iter().cloned());
        command.current_dir(self.directory()).stdin(Stdio::null()).stdout(Stdio::piped());
        match self.has_log_reader {
            true => command.stderr(std::fs::File::create(&log).unwrap()),
            false => command.stderr(std::io::pipe().unwrap().1),
        };
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let block: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let address = block.iter().find_map(|line| line.trim().strip_prefix("address"));
        let works = self.args[0] != SERVE && !block.is_empty();
        match address.or_else(|| works.then_some("")) {
            Some(url) => Ok(Server { url: url.trim().to_owned(), block: block.join("\n"), child }),
            None => {
                let success = child.wait().unwrap().success();
                Err(Refused { success, stderr: std::fs::read_to_string(log).unwrap() })
            }
        }
    }

    /// Runs another command with the same settings and returns what it printed, or its log if it failed.
    pub fn command(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program());
        command.args(args).env_clear().envs(self.env.iter().cloned());
        let output = command.current_dir(self.directory()).stdin(Stdio::null()).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Where the process writes its log.
    pub fn log(&self) -> PathBuf {
        self.directory().join("stderr.log")
    }
}

impl Default for ServerSetup {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// The most memory that the process has used, in MiB; only Linux says so.
    pub fn peak_mib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib / 1024)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends SIGTERM and waits.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        found_blocking("the end of the server", || self.child.try_wait().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM first, so that its Postgres stops with it.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
