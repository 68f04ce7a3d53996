//! Creates the cluster, once. It is created beside its final place and moved there as a whole, so that
//! an interrupted start leaves nothing that looks like a cluster.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::DATABASE;
use super::binaries::Binaries;
use super::error::PgError;
use super::layout::Layout;
use super::owner::Owner;

/// Runs `initdb` and creates our database in the cluster.
pub(super) fn initialise(
    binaries: &Binaries,
    layout: &Layout,
    owner: &Owner,
    throwaway: bool,
) -> Result<(), PgError> {
    let fresh = layout.root.join("data.new");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh).map_err(PgError::file("remove", &fresh))?;
    }
    run_initdb(binaries, &fresh, owner, throwaway)?;
    create_database(binaries, &fresh, owner)?;
    std::fs::rename(&fresh, &layout.pgdata).map_err(PgError::file("move", &fresh))
}

/// Only users with access to the socket's directory can connect, so there is no password. The C
/// locale sorts the same on every machine.
fn run_initdb(
    binaries: &Binaries,
    pgdata: &Path,
    owner: &Owner,
    throwaway: bool,
) -> Result<(), PgError> {
    let mut command = owner.command(&binaries.program("initdb"));
    command.arg("-D").arg(pgdata).args(["-U", DATABASE, "--auth=trust", "--no-instructions"]);
    command.args(["--encoding=UTF8", "--locale=C"]);
    if throwaway {
        command.arg("--no-sync");
    }
    let output = command.output();
    judge("initdb", output)
}

/// A single-user Postgres reads the statement from its input: no connection is needed.
fn create_database(binaries: &Binaries, pgdata: &Path, owner: &Owner) -> Result<(), PgError> {
    let mut command = owner.command(&binaries.program("postgres"));
    command.args(["--single", "-D"]).arg(pgdata).arg("postgres");
    judge("postgres --single", feed(&mut command, &format!("CREATE DATABASE {DATABASE}\n")))
}

fn feed(command: &mut Command, text: &str) -> std::io::Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    child.wait_with_output()
}

fn judge(program: &'static str, output: std::io::Result<Output>) -> Result<(), PgError> {
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = last_complaint(&String::from_utf8_lossy(&output.stderr));
            let said = said.unwrap_or_else(|| output.status.to_string());
            Err(PgError::Program { program, said })
        }
        Err(error) => Err(PgError::Program { program, said: error.to_string() }),
    }
}

/// The line of a program's output that describes the failure: the last fatal line, else the last
/// error, else the last line.
pub(super) fn last_complaint(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = |word: &str| lines.iter().rev().find(|line| line.contains(word));
    let line = last("FATAL:").or_else(|| last("PANIC:")).or_else(|| last("error:"));
    line.or(lines.last()).map(|line| (*line).to_owned())
}
