//! The commands of a client: the built program as a process, against a real server.

mod datasets;
mod graphs;
mod jobs;
mod own;
mod runs;
mod state;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use crate::Api;
use dsrs_test::{program, scratch, within};

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The same, if it ended with this exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// What it printed to stdout, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The words of each line of a table, without the head.
    pub fn rows(&self) -> Vec<Vec<&str>> {
        self.stdout.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
    }
}

/// A terminal's user: a directory, and the environment of the commands.
pub struct Shell {
    directory: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Shell {
    /// Calls this server.
    pub fn at(api: &Api) -> Self {
        Self::with_env(&[("DSRS_URL", &api.url)])
    }

    pub fn with_env(env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Self { directory: scratch(), env: env.collect() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file of the directory.
    pub fn write(&self, name: &str, text: impl AsRef<str>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text.as_ref()).unwrap();
        path
    }

    /// Reads a file of the directory.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// A command that is not started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).env_clear().envs(self.env.iter().cloned());
        command.current_dir(self.path()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, args: &[&str]) -> Ran {
        ended(self.command(args).spawn().unwrap()).await
    }

    /// Runs a command with this text on stdin.
    pub async fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).await.unwrap();
        ended(child).await
    }
}

async fn ended(child: Child) -> Ran {
    let output = within("the end of the command", child.wait_with_output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}
