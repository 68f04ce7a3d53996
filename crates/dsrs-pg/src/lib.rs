//! A private Postgres: a real one, run as a child on a Unix socket inside the data directory, for
//! operators without a database of their own. Knows the programs and files of Postgres and no SQL. It
//! blocks, so an async caller starts and stops it on a blocking thread.
//!
//! A file lock makes one server the owner of a data directory. If the server is killed, Postgres
//! continues to run; the next server acquires the free lock and adopts it.

mod binaries;
mod cluster;
mod durable;
mod error;
mod layout;
mod lock;
mod owner;
mod pidfile;
mod process;

use std::path::{Path, PathBuf};

pub use error::PgError;

use binaries::Binaries;
use dsrs_config::HostPaths;
use layout::Layout;
use lock::DirectoryLock;
use owner::Owner;
use process::Postmaster;

/// The database inside the cluster, and the role that owns it.
pub(crate) const DATABASE: &str = "dsrs";

/// Settings of a private Postgres.
#[derive(Debug, Clone, Default)]
pub struct PgOptions {
    /// The server's data directory; created if it is missing.
    pub data_dir: PathBuf,
    /// The directory of `initdb` and `postgres`, instead of searching.
    pub pg_bin: Option<PathBuf>,
    /// Directories that the environment names.
    pub host: HostPaths,
    /// Connections that the server's pool may open.
    pub connections: u32,
    /// Trades safety on power loss for speed. For tests only.
    pub throwaway: bool,
}

/// A running private Postgres. Dropping it asks Postgres to stop and does not wait;
/// [`PrivatePostgres::stop`] waits.
#[derive(Debug)]
pub struct PrivatePostgres {
    postmaster: Postmaster,
    layout: Layout,
    version: String,
    adopted: bool,
    // Released last, after Postgres was asked to stop.
    _lock: DirectoryLock,
}

impl PrivatePostgres {
    /// Locks the data directory, creates the cluster if there is none, and starts Postgres or adopts
    /// the one that a killed server left running.
    pub fn start(options: &PgOptions) -> Result<Self, PgError> {
        let data_dir = lock::make_directory(&options.data_dir)?;
        let lock = DirectoryLock::take(&data_dir)?;
        let owner = Owner::choose()?;
        let layout = Layout::settle(&data_dir, &options.host, &owner)?;
        let found = adoptable(&layout, options)?;
        let (postmaster, version) = match found {
            Some(pid) => (Postmaster::adopted(pid), layout.cluster_version()?),
            None => start_new(&layout, options, &owner)?,
        };
        Ok(Self { postmaster, layout, version, adopted: found.is_some(), _lock: lock })
    }

    /// The URL to connect with.
    pub fn url(&self) -> String {
        self.layout.url(DATABASE)
    }

    /// The directory of its files. It is outside the data directory if the user that Postgres runs
    /// as has no access there.
    pub fn directory(&self) -> &Path {
        &self.layout.root
    }

    /// Whether its files are outside the data directory.
    pub fn is_elsewhere(&self) -> bool {
        self.layout.elsewhere
    }

    /// The directory of its socket.
    pub fn socket_dir(&self) -> &Path {
        &self.layout.socket_dir
    }

    /// Postgres's major version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it was already running, left by a killed server.
    pub fn is_adopted(&self) -> bool {
        self.adopted
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    /// Ends its sessions, flushes its data, and waits until the process has ended.
    pub fn stop(mut self) -> Result<(), PgError> {
        self.postmaster.stop()
    }
}

/// The URL of the Postgres that another process runs in this data directory, if there is one.
///
/// # Errors
/// If the directories of the cluster cannot be entered.
pub fn running_url(options: &PgOptions) -> Result<Option<String>, PgError> {
    let Ok(data_dir) = options.data_dir.canonicalize() else { return Ok(None) };
    let owner = Owner::choose()?;
    let layout = Layout::settle(&data_dir, &options.host, &owner)?;
    Ok(pidfile::is_ready(&layout).then(|| layout.url(DATABASE)))
}

/// The Postgres of an earlier server, if it runs with the settings of this one. With others it is
/// stopped, to be started again.
fn adoptable(layout: &Layout, options: &PgOptions) -> Result<Option<u32>, PgError> {
    let Some(pid) = pidfile::settle_previous(layout)? else { return Ok(None) };
    if process::has_settings(layout, options) {
        return Ok(Some(pid));
    }
    tracing::info!(pid, "restarting the Postgres of an earlier server: its settings have changed");
    Postmaster::adopted(pid).stop()?;
    Ok(None)
}

fn start_new(
    layout: &Layout,
    options: &PgOptions,
    owner: &Owner,
) -> Result<(Postmaster, String), PgError> {
    let wanted = layout.existing_version();
    let binaries = Binaries::find(options, owner, wanted.as_deref())?;
    if wanted.is_none() {
        cluster::initialise(&binaries, layout, owner, options.throwaway)?;
    }
    let postmaster = process::start(&binaries, layout, owner, options)?;
    Ok((postmaster, binaries.version))
}
