//! Values as files of JSON: states of modules, and whatever else a program keeps. A file is replaced as
//! a whole or not at all. Knows nothing of what it stores.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file that was not written or not read.
#[derive(Debug, thiserror::Error)]
pub enum JsonFileError {
    /// The file system refused.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content is not JSON, or not of the wanted type; the value has no form in JSON.
    #[error("`{}`: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// Writes a value as a file of JSON, indented. Another file of this name is replaced at once: who
/// reads it meanwhile, or after a crash, finds the old content or the new.
///
/// ```
/// use dsrs::{Module, Predict, Signature, load_json, save_json};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("dsrs-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let path = folder.join("qa.json");
/// let tuned = Predict::<QA>::builder().instruction("Be brief.").build().unwrap();
/// save_json(&path, &tuned.state().unwrap()).unwrap();
///
/// let mut qa = Predict::<QA>::new();
/// qa.load_state(load_json::<dsrs::module::ModuleState>(&path).unwrap()).unwrap();
/// assert_eq!(qa.dump_state(), tuned.dump_state());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
///
/// # Errors
/// If the file cannot be written, or the value has no form in JSON. An existing file is unchanged then.
pub fn save_json<T: Serialize + ?Sized>(
    path: impl AsRef<Path>,
    value: &T,
) -> Result<(), JsonFileError> {
    let path = path.as_ref();
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|source| JsonFileError::Json { path: path.to_owned(), source })?;
    text.push(b'\n');
    replace(path, &text).map_err(|source| JsonFileError::Io { path: path.to_owned(), source })
}

/// Reads a value from a file of JSON.
///
/// # Errors
/// If the file cannot be read, or its content is not such a value.
pub fn load_json<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<T, JsonFileError> {
    let path = path.as_ref();
    let text = fs::read(path);
    let text = text.map_err(|source| JsonFileError::Io { path: path.to_owned(), source })?;
    serde_json::from_slice(&text)
        .map_err(|source| JsonFileError::Json { path: path.to_owned(), source })
}

/// Writes a new file beside the old one, and moves it into its place.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = beside(path)?;
    let written = write_new(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // It may not exist; the first error counts.
        drop(fs::remove_file(&beside));
    }
    written
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    let file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut writer = BufWriter::new(file);
    writer.write_all(text)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A name in the same directory that no other call uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name();
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "names no file"))?;
    let mut own = OsString::from(".");
    own.push(name);
    own.push(format!(".{}.{}.tmp", process::id(), CALLS.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(own))
}
