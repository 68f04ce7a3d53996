//! The settings of the Python sandbox, and the program that runs in it: this one, started again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::settings::SandboxSettings;

/// The command that makes a process of this program the sandbox's child; `--help` does not list it.
pub const SANDBOX_COMMAND: &str = "python-sandbox";

/// Where Python that a model wrote runs, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Whether Python runs at all.
    pub enabled: bool,
    /// The program whose [`SANDBOX_COMMAND`] is the child.
    pub program: PathBuf,
    /// Time limit of one program.
    pub time: Duration,
    /// Memory limit of one program, in bytes.
    pub memory: u64,
    /// Maximum output of one program, in bytes.
    pub output: usize,
}

impl From<SandboxSettings> for SandboxConfig {
    fn from(settings: SandboxSettings) -> Self {
        Self {
            enabled: settings.enabled,
            program: own_program(),
            time: Duration::from_secs(settings.time_s.into()),
            memory: u64::from(settings.memory_mib) << 20,
            output: settings.output_kib << 10,
        }
    }
}

/// On Linux this name stays valid when the file is replaced while the server runs.
fn own_program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    if own.exists() {
        return own.to_owned();
    }
    // Without a path the child does not start, and the run that needs it fails with that reason.
    std::env::current_exe().unwrap_or_default()
}
