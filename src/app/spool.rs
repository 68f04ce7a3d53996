//! Space for uploads that are too large for memory: unnamed files in one directory, with a bound over
//! all of them. May not know what the files contain.

use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::{SpooledTempFile, spooled_tempfile_in, tempfile_in};

use crate::app::AppError;

/// The largest file that stays in memory.
const IN_MEMORY: usize = 256 << 10;

/// The space of all uploads in progress.
#[derive(Debug)]
pub(crate) struct SpoolSpace {
    directory: PathBuf,
    limit: u64,
    used: AtomicU64,
}

/// A file of an upload. Dropping it removes it and frees its space. The system removes it if the
/// process is killed, because it has no name.
#[derive(Debug)]
pub(crate) struct SpoolFile {
    file: SpooledTempFile,
    size: u64,
    space: Arc<SpoolSpace>,
}

/// Why the directory of uploads cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot create files for uploads in {directory}: {source}; set `uploads.directory` to a directory that this user may write"
)]
pub struct SpoolError {
    directory: String,
    source: io::Error,
}

/// Checks that uploads can be stored in a directory.
///
/// # Errors
/// If no file can be created there.
pub fn check_spool_directory(directory: &Path) -> Result<(), SpoolError> {
    let failed = |source| SpoolError { directory: directory.display().to_string(), source };
    tempfile_in(directory).map(drop).map_err(failed)
}

impl SpoolSpace {
    pub(crate) fn new(directory: PathBuf, limit: u64) -> Arc<Self> {
        Arc::new(Self { directory, limit, used: AtomicU64::new(0) })
    }

    /// A new file, empty.
    pub(crate) fn file(self: &Arc<Self>) -> SpoolFile {
        let file = spooled_tempfile_in(IN_MEMORY, &self.directory);
        SpoolFile { file, size: 0, space: self.clone() }
    }

    /// The bytes of all files.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add) {
            Ok(_) => Ok(()),
            Err(_) => Err(ErrorKind::QuotaExceeded.into()),
        }
    }
}

impl SpoolFile {
    /// A file in a space of its own.
    #[cfg(test)]
    pub(crate) fn of_test() -> Self {
        SpoolSpace::new(tempfile::env::temp_dir(), u64::MAX).file()
    }

    /// Back to the beginning, to be read.
    pub(crate) fn into_reader(mut self) -> io::Result<BufReader<Self>> {
        self.rewind()?;
        Ok(BufReader::new(self))
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = bytes.len() as u64;
        self.space.reserve(size)?;
        self.size += size;
        self.file.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for SpoolFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for SpoolFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// The error of an upload that cannot be stored.
pub(crate) fn no_space(error: &io::Error) -> AppError {
    if error.kind() == ErrorKind::QuotaExceeded {
        tracing::warn!("an upload is refused: `uploads.max_spool_bytes` is used up");
        let detail = "the uploads in progress use all space for uploads \
                      (`uploads.max_spool_bytes`); try again later";
        return AppError::Unavailable(detail.to_owned());
    }
    tracing::error!(%error, "cannot store an upload");
    let detail =
        "the server has no space to store the upload (`uploads.directory`); try again later";
    AppError::Unavailable(detail.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_space_share_its_bound_and_free_it_when_they_end() {
        let space = SpoolSpace::new(tempfile::env::temp_dir(), 10);
        let (mut first, mut second) = (space.file(), space.file());
        first.write_all(b"1234567").unwrap();
        assert_eq!(second.write_all(b"1234").unwrap_err().kind(), ErrorKind::QuotaExceeded);
        second.write_all(b"123").unwrap();
        assert_eq!(space.used(), 10);
        drop(first);
        assert_eq!(space.used(), 3);
        let mut text = String::new();
        second.into_reader().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), space.used()), ("123", 0));
    }

    #[test]
    fn a_directory_that_does_not_exist_is_refused_with_its_name() {
        let error = check_spool_directory(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(
            error.contains("/nowhere/at/all") && error.contains("uploads.directory"),
            "{error}"
        );
    }
}
