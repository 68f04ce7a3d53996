//! Space for uploads that are too large for memory: unnamed files in one directory, with a bound over
//! all of them. May not know what the files contain.

use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::{SpooledTempFile, spooled_tempfile_in, tempfile_in};
use uuid::Uuid;

use crate::AppError;
use crate::capacity::{Capacity, CapacityExceeded, CapacityShare};
use dsrs_config::UploadConfig;

/// The largest file that stays in memory.
const IN_MEMORY: usize = 256 << 10;

/// The space of all uploads in progress.
#[derive(Debug)]
pub struct SpoolSpace {
    directory: PathBuf,
    bytes: Arc<Capacity>,
    uploads: Arc<Capacity>,
}

/// A file of an upload. Dropping it removes it and frees its space. The system removes it if the
/// process is killed, because it has no name.
#[derive(Debug)]
pub struct SpoolFile {
    file: SpooledTempFile,
    bytes: CapacityShare,
}

/// The error of a file that has no space.
#[derive(Debug, thiserror::Error)]
#[error("the space for uploads is used up")]
struct SpaceExceeded(CapacityExceeded);

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
    pub fn new(config: &UploadConfig) -> Self {
        let UploadConfig { directory, .. } = config;
        Self {
            directory: directory.clone(),
            bytes: Capacity::new(config.max_spool_bytes, config.max_spool_bytes_per_workspace),
            uploads: Capacity::new(
                config.max_concurrent.into(),
                config.max_concurrent_per_workspace.map(u64::from),
            ),
        }
    }

    /// The place of an upload, to be held until it is stored: parts of its files are in memory.
    ///
    /// # Errors
    /// If there are too many uploads.
    pub fn place(&self, workspace: Uuid) -> Result<CapacityShare, AppError> {
        self.uploads.place(workspace).map_err(CapacityExceeded::of_uploads)
    }

    /// A new file, empty.
    pub fn file(&self, workspace: Uuid) -> SpoolFile {
        let file = spooled_tempfile_in(IN_MEMORY, &self.directory);
        SpoolFile { file, bytes: self.bytes.share(workspace) }
    }

    /// The bytes of all files.
    pub(crate) fn used(&self) -> u64 {
        self.bytes.total()
    }

    /// A space of a test.
    #[cfg(test)]
    pub(crate) fn of_test(bytes: u64) -> Self {
        Self::new(&UploadConfig {
            directory: tempfile::env::temp_dir(),
            max_spool_bytes: bytes,
            max_spool_bytes_per_workspace: None,
            max_concurrent: 2,
            max_concurrent_per_workspace: Some(1),
        })
    }
}

impl SpoolFile {
    /// Back to the beginning, to be read.
    pub(crate) fn into_reader(mut self) -> io::Result<BufReader<Self>> {
        self.rewind()?;
        Ok(BufReader::new(self))
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let grown = self.bytes.grow(bytes.len() as u64);
        grown.map_err(|full| io::Error::new(ErrorKind::QuotaExceeded, SpaceExceeded(full)))?;
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

/// The error of an upload that cannot be stored.
pub fn no_space(error: &io::Error) -> AppError {
    let full = error.get_ref().and_then(|inner| inner.downcast_ref::<SpaceExceeded>());
    if let Some(SpaceExceeded(full)) = full {
        return full.of_spool();
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
        let space = SpoolSpace::of_test(10);
        let file = || space.file(Uuid::nil());
        let (mut first, mut second) = (file(), file());
        first.write_all(b"1234567").unwrap();
        let refused = no_space(&second.write_all(b"1234").unwrap_err()).to_string();
        assert!(refused.contains("`uploads.max_spool_bytes`"), "{refused}");
        second.write_all(b"123").unwrap();
        assert_eq!(space.used(), 10);
        drop(first);
        assert_eq!(space.used(), 3);
        let mut text = String::new();
        second.into_reader().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), space.used()), ("123", 0));
    }

    #[test]
    fn uploads_have_places_in_all_and_in_each_workspace() {
        let space = SpoolSpace::of_test(10);
        let first = space.place(Uuid::nil()).unwrap();
        let refused = space.place(Uuid::nil()).unwrap_err().to_string();
        assert!(refused.contains("`uploads.max_concurrent_per_workspace`"), "{refused}");
        let _second = space.place(Uuid::max()).unwrap();
        let refused = space.place(Uuid::from_u128(1)).unwrap_err().to_string();
        assert!(refused.contains("`uploads.max_concurrent`"), "{refused}");
        drop(first);
        space.place(Uuid::nil()).unwrap();
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
