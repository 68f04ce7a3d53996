//! Creates the cluster, once. It is created beside its final place, written to disk and moved there as a whole, so
//! that an interrupted start, even by a power cut, leaves nothing that looks like a cluster.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::DATABASE;
use super::binaries::Binaries;
use super::durable::{sync, sync_tree};
use super::error::PgError;
use super::layout::Layout;
use super::owner::Owner;

/// What the names of unfinished clusters begin with. Each has a name of its own: the `initdb` of a killed server
/// continues, and must not write into ours.
const UNFINISHED: &str = "data.new";

/// Runs `initdb` and gives its database our name.
pub(super) fn initialise(
    binaries: &Binaries,
    layout: &Layout,
    owner: &Owner,
    throwaway: bool,
) -> Result<(), PgError> {
    remove_unfinished(&layout.root)?;
    let fresh = layout.root.join(format!("{UNFINISHED}.{}", std::process::id()));
    run_initdb(binaries, &fresh, owner)?;
    name_database(binaries, &fresh, owner)?;
    if !throwaway {
        sync_tree(&fresh)?;
    }
    std::fs::rename(&fresh, &layout.pgdata).map_err(PgError::file("move", &fresh))?;
    match throwaway {
        true => Ok(()),
        false => sync(&layout.root),
    }
}

fn remove_unfinished(root: &Path) -> Result<(), PgError> {
    let entries = std::fs::read_dir(root).map_err(PgError::file("list", root))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            // One that its `initdb` still writes into remains until the next time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Only users with access to the socket's directory can connect, so there is no password. The C
/// locale sorts the same on every machine. The disk is waited for once, when all is written.
fn run_initdb(binaries: &Binaries, pgdata: &Path, owner: &Owner) -> Result<(), PgError> {
    let mut command = owner.command(&binaries.program("initdb"));
    command.arg("-D").arg(pgdata).args(["-U", DATABASE, "--auth=trust", "--no-instructions"]);
    command.args(["--encoding=UTF8", "--locale=C", "--no-sync"]);
    let output = command.output();
    judge("initdb", output)
}

/// `initdb` makes a database for administrators, which becomes ours: a copy would cost as much as a quarter of `initdb`
/// and 300 files. A single-user Postgres reads the statement from its input: no connection is needed. With `-F` it does
/// not wait for the disk.
fn name_database(binaries: &Binaries, pgdata: &Path, owner: &Owner) -> Result<(), PgError> {
    let mut command = owner.command(&binaries.program("postgres"));
    command.args(["--single", "-F", "-D"]).arg(pgdata).arg("template1");
    let statement = format!("ALTER DATABASE postgres RENAME TO {DATABASE}\n");
    judge("postgres --single", feed(&mut command, &statement))
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
            let message = failure_line(&String::from_utf8_lossy(&output.stderr));
            let message = message.unwrap_or_else(|| output.status.to_string());
            Err(PgError::Program { program, message })
        }
        Err(error) => Err(PgError::Program { program, message: error.to_string() }),
    }
}

/// The line of a program's output that describes the failure: the last fatal line, else the last
/// error, else the last line.
pub(super) fn failure_line(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = |word: &str| lines.iter().rev().find(|line| line.contains(word));
    let line = last("FATAL:").or_else(|| last("PANIC:")).or_else(|| last("error:"));
    line.or(lines.last()).map(|line| (*line).to_owned())
}
