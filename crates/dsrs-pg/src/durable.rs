//! Makes the files of a new cluster durable: all of them at once, when they are complete. May not know what is in
//! them.
//!
//! `initdb` waits for the disk file by file. Several threads wait at the same time, for flushes that the disk may
//! then join.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::fsync;

use super::error::PgError;

/// Threads that wait for the disk.
const THREADS: usize = 16;

/// Waits until a directory and everything below it is on disk.
pub(super) fn sync_tree(directory: &Path) -> Result<(), PgError> {
    let paths = tree(directory)?;
    let next = AtomicUsize::new(0);
    let sync_some = || -> Result<(), PgError> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync(path)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(sync_some)).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Waits until a file, or the entries of a directory, are on disk.
pub(super) fn sync(path: &Path) -> Result<(), PgError> {
    let done = File::open(path).and_then(|file| fsync(file).map_err(io::Error::from));
    done.map_err(PgError::file("flush", path))
}

/// The directory and all files and directories below it. Symbolic links are not followed: `initdb` makes none.
fn tree(directory: &Path) -> Result<Vec<PathBuf>, PgError> {
    let mut found = vec![directory.to_owned()];
    let entries = std::fs::read_dir(directory).map_err(PgError::file("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(PgError::file("list", directory))?;
        let kind = entry.file_type().map_err(PgError::file("list", entry.path()))?;
        if kind.is_dir() {
            found.extend(tree(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_and_directory_is_flushed_and_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("base/1")).unwrap();
        for file in ["PG_VERSION", "base/1/1259", "base/1/1249"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(root.join("nowhere"), root.join("link")).unwrap();
        let mut found = tree(root).unwrap();
        found.sort();
        let below = ["", "PG_VERSION", "base", "base/1", "base/1/1249", "base/1/1259"];
        assert_eq!(found, below.map(|path| root.join(path)));
        sync_tree(root).unwrap();
    }

    #[test]
    fn what_cannot_be_flushed_is_named() {
        let error = sync(Path::new("/nowhere/data")).unwrap_err().to_string();
        assert!(error.starts_with("cannot flush /nowhere/data: "), "{error}");
    }
}
