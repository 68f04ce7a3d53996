//! Failures of the private Postgres, each in one line with its way out.

use std::io;
use std::path::PathBuf;

/// Why the private Postgres could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum PgError {
    /// No usable programs were found.
    #[error(
        "no Postgres programs (initdb, postgres) found; run ./demo.sh or scripts/ensure-postgres.sh to get them, install postgresql, or set DATABASE_URL"
    )]
    NoBinaries,
    /// `database.pg_bin` is wrong.
    #[error("database.pg_bin: {} has no initdb and postgres that {user} can run", directory.display())]
    BadBinaries {
        /// The configured directory.
        directory: PathBuf,
        /// The user who would run them.
        user: String,
    },
    /// The cluster was created by another major version.
    #[error(
        "{} was made by Postgres {wanted}, but only Postgres {installed} is here; install Postgres {wanted}, or use another --data-dir",
        directory.display()
    )]
    WrongVersion {
        /// The cluster.
        directory: PathBuf,
        /// Its major version.
        wanted: String,
        /// The major versions that were found.
        installed: String,
    },
    /// Another server owns the directory.
    #[error(
        "data directory {} is in use by another dsrs-server{}; stop that one, or give this one its own --data-dir",
        directory.display(), process(holder)
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// The process that has the lock, if it wrote its id.
        holder: Option<u32>,
    },
    /// Postgres does not run as root, and there is no other user for it.
    #[error(
        "Postgres refuses to run as root, and there is neither a user postgres nor nobody (65533 belongs to the sandbox); run as another user, or set DATABASE_URL"
    )]
    NoUser,
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// Its file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another user created the directory of the socket.
    #[error("{} belongs to another user; remove it, or use a shorter --data-dir", directory.display())]
    ForeignDirectory {
        /// The directory in question.
        directory: PathBuf,
    },
    /// A program failed.
    #[error("{program} failed: {message}")]
    Program {
        /// Its name.
        program: &'static str,
        /// Its own message, in one line.
        message: String,
    },
    /// A Postgres neither answers nor ends.
    #[error("Postgres (process {pid}) in {} does not {what}; see its postgres.log, or end it", directory.display())]
    Stuck {
        /// Its process id.
        pid: u32,
        /// The directory of its files.
        directory: PathBuf,
        /// What it fails to do.
        what: &'static str,
    },
}

impl PgError {
    /// For `map_err` on file operations.
    pub(super) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

fn process(holder: &Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
