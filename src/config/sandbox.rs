//! The settings of the sandbox, and the program that runs in it: this one, started again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::parse;
use super::reader::Reader;

/// The command that makes a process of this program the sandbox's child; `--help` does not tell it.
pub const SANDBOX_COMMAND: &str = "python-sandbox";

/// Where Python of a model runs, and what it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Whether it runs at all.
    pub enabled: bool,
    /// The program whose [`SANDBOX_COMMAND`] is the child.
    pub program: PathBuf,
    /// Time limit of one program.
    pub time: Duration,
    /// Memory limit of one program, in bytes.
    pub memory: u64,
    /// Limit of what one program prints, in bytes.
    pub output: usize,
}

pub(super) fn read_sandbox(read: &mut Reader<'_>) -> Option<SandboxConfig> {
    let enabled = read.required("sandbox.enabled", parse::switch);
    let time = read.required("sandbox.time_s", parse::positive);
    let memory = read.required("sandbox.memory_mib", parse::positive);
    let output = read.required("sandbox.output_kib", output);
    Some(SandboxConfig {
        enabled: enabled?,
        program: own_program(),
        time: Duration::from_secs(time?.into()),
        memory: u64::from(memory?) << 20,
        output: output?,
    })
}

/// What is printed is held in memory and sent to a model: a GiB of it is a mistake.
fn output(text: &str) -> Result<usize, parse::Expected> {
    let expected = || "expected a whole number from 1 to 1048576".to_owned();
    let kib = parse::positive(text).ok().filter(|kib| *kib <= 1 << 20).ok_or_else(expected)?;
    Ok(usize::try_from(kib).map_err(|_| expected())? << 10)
}

/// Linux has a name for it that holds when the file is replaced while the server runs.
fn own_program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    if own.exists() {
        return own.to_owned();
    }
    // Unknown, it does not start, and whoever runs a program is told so.
    std::env::current_exe().unwrap_or_default()
}
