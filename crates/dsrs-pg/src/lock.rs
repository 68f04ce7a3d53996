//! The owner of a data directory: a lock on a file in it for the lifetime of the process. The system
//! releases it when the process ends, however it ends, and children do not inherit it: Rust opens
//! files close-on-exec.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::PgError;

/// The lock. Dropping it releases the data directory.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// A child has a copy of the file between its start and the start of its program, so closing ours might not
    /// release the lock.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl DirectoryLock {
    /// Acquires the lock, or reports which process has it.
    pub(super) fn take(data_dir: &Path) -> Result<Self, PgError> {
        let path = data_dir.join("server.lock");
        let failed = |source| PgError::File { action: "lock", path: path.clone(), source };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = read_holder(&mut file);
                return Err(PgError::InUse { directory: data_dir.to_owned(), holder });
            }
            Err(error) => return Err(failed(error.into())),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { file })
    }
}

fn read_holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Creates the data directory if it is missing and returns its full path.
pub(super) fn make_directory(path: &Path) -> Result<PathBuf, PgError> {
    if !path.exists() {
        std::fs::create_dir_all(path).map_err(PgError::file("make", path))?;
        // The user that Postgres runs as must be able to traverse it, but not to list it.
        let open = Permissions::from_mode(0o711);
        std::fs::set_permissions(path, open).map_err(PgError::file("make", path))?;
    }
    path.canonicalize().map_err(PgError::file("enter", path))
}
