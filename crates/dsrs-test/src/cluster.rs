//! One throwaway Postgres for a whole run of this binary, started by the first test that needs it, and others for
//! tests that stop theirs.
//!
//! It is the product's own private Postgres. Since a static is never dropped, a shell watches it:
//! it reads from a pipe that only this process has open. When this process ends, for whatever
//! reason, the pipe ends, and the shell stops Postgres and removes its files.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use dsrs_config::Environment;
use dsrs_pg::{PgOptions, PrivatePostgres};

use super::{is_running, target};

/// The running cluster and its guard, whose input is the pipe.
pub struct TestCluster {
    pub postgres: PrivatePostgres,
    guard: Child,
}

impl TestCluster {
    /// Starts one in a directory, which it is started in again after it was stopped.
    pub fn start(data_dir: &Path, connections: u32) -> Self {
        let options = PgOptions { connections, ..pg_options(data_dir) };
        let postgres = PrivatePostgres::start(&options).unwrap_or_else(|error| panic!("{error}"));
        let guard = guard(&postgres, data_dir);
        Self { postgres, guard }
    }

    /// Stops it, and leaves its files.
    pub fn stop(mut self) {
        self.guard.kill().unwrap();
        self.guard.wait().unwrap();
        self.postgres.stop().unwrap();
    }
}

/// The cluster of this run.
pub fn cluster() -> &'static TestCluster {
    static CLUSTER: OnceLock<TestCluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let parent = memory_dir().unwrap_or_else(scratch_dir);
        remove_left(&parent);
        let data_dir = parent.join(format!("{CLUSTER_OF}{}", std::process::id()));
        TestCluster::start(&data_dir, 300)
    })
}

/// What precedes the process id in the name of the directory of a run.
const CLUSTER_OF: &str = "dsrs-tests-";

/// Removes the files of runs that were killed together with their guard.
fn remove_left(parent: &Path) {
    for entry in std::fs::read_dir(parent).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(CLUSTER_OF).and_then(|process| process.parse().ok());
        let lock = File::open(entry.path().join("server.lock"));
        if process.is_some_and(|process| !is_running(process))
            && lock.is_ok_and(|lock| lock.try_lock().is_ok())
        {
            // Another run may remove them too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A throwaway Postgres in a directory, with the programs that `PG_BIN` names if it names any.
pub fn pg_options(data_dir: &Path) -> PgOptions {
    let env = Environment::of_process();
    PgOptions {
        data_dir: data_dir.to_owned(),
        pg_bin: env.get("PG_BIN").map(PathBuf::from),
        host: env.host(),
        connections: 4,
        throwaway: true,
    }
}

/// A file system in memory, if there is one with room. Every test makes and removes a database of 600 files, and ext4
/// without a journal searches long for the number of a new file after many others were removed.
fn memory_dir() -> Option<PathBuf> {
    const ROOM: u64 = 4 << 30;
    let directory = PathBuf::from("/dev/shm");
    let found = rustix::fs::statvfs(&directory).ok()?;
    (found.f_bavail * found.f_frsize >= ROOM).then_some(directory)
}

/// A directory under the build's own for files of tests.
pub fn scratch_dir() -> PathBuf {
    let directory = target().join("tmp");
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Ends Postgres when its input does, then removes the directories.
const GUARD: &str = r#"
read -r _
kill -QUIT "$1"
n=0
while kill -0 "$1" 2>/dev/null && [ "$n" -lt 100 ]; do n=$((n + 1)); sleep 0.1; done
shift
rm -rf "$@"
"#;

fn guard(postgres: &PrivatePostgres, data_dir: &Path) -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GUARD, "guard"]).arg(postgres.pid().to_string());
    command.args([data_dir, postgres.directory(), postgres.socket_dir()]);
    // Its own process group, so that Ctrl-C does not stop it; no output, so that no reader of ours
    // waits for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}
