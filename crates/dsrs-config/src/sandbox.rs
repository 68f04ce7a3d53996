//! The settings of the Python sandbox, and the program that runs in it: this one, started again. Knows
//! the names of walls and not how they are raised.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dsrs_sandbox::Wall;

use super::nearest::hint;
use super::reader::SettingReader;
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
    /// Maximum number of concurrent sessions.
    pub sessions: usize,
    /// The walls without which no program runs.
    pub require: Vec<Wall>,
}

/// Every wall that this platform can have.
const AUTO: &str = "auto";

/// Reads the settings under `sandbox.`.
pub(super) fn read_sandbox(read: &mut SettingReader<'_>) -> Option<SandboxConfig> {
    let settings = SandboxSettings::read(read, "")?;
    Some(SandboxConfig {
        enabled: settings.enabled,
        program: own_program(),
        time: Duration::from_secs(settings.time_s.into()),
        memory: u64::from(settings.memory_mib) << 20,
        output: settings.output_kib << 10,
        sessions: usize::try_from(settings.sessions).unwrap_or(usize::MAX),
        require: read_walls(read, &settings.require),
    })
}

fn read_walls(read: &mut SettingReader<'_>, names: &[String]) -> Vec<Wall> {
    let mut walls = Vec::new();
    for name in names {
        match (name.as_str(), Wall::named(name)) {
            (AUTO, _) => walls.extend(Wall::of_platform()),
            (_, Some(wall)) => walls.push(wall),
            (_, None) => refuse_wall(read, name),
        }
    }
    walls.sort_unstable();
    walls.dedup();
    walls
}

fn refuse_wall(read: &mut SettingReader<'_>, name: &str) {
    let path = "sandbox.require";
    let known = [AUTO].into_iter().chain(Wall::ALL.map(Wall::as_str));
    let known: Vec<&str> = known.collect();
    let reason = format!(
        "there is no wall \"{}\"; expected {}{}",
        name.escape_debug(),
        known.join(", "),
        hint(name, known.iter().copied())
    );
    if let Some(given) = read.given(path) {
        read.refuse(path, given, &reason);
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
