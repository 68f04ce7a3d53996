//! The directories of the private Postgres: inside the data directory, unless its user has no access
//! there; the socket too, unless its path is too long.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use url::Url;

use super::error::PgError;
use super::owner::Owner;
use dsrs_config::HostPaths;

/// A socket's path may have 107 bytes on Linux and 103 on macOS; `/.s.PGSQL.5432` takes 14.
const LONGEST_SOCKET_DIR: usize = 103 - 14;

/// The parent of clusters that root cannot put into the data directory.
const ELSEWHERE: &str = "/var/lib/dsrs-server";

/// The paths of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The parent of all its files.
    pub(super) root: PathBuf,
    /// Postgres's own directory.
    pub(super) pgdata: PathBuf,
    /// The directory of its socket.
    pub(super) socket_dir: PathBuf,
    pub(super) log: PathBuf,
    /// Whether `root` is outside the data directory.
    pub(super) elsewhere: bool,
}

impl Layout {
    /// Chooses the paths and creates the directories.
    pub(super) fn settle(
        data_dir: &Path,
        host: &HostPaths,
        owner: &Owner,
    ) -> Result<Self, PgError> {
        let elsewhere = owner.drops() && !owner.can_enter(data_dir);
        let root = match elsewhere {
            false => data_dir.join("postgres"),
            true => Path::new(ELSEWHERE).join(fingerprint(data_dir)),
        };
        owner.make_private(&root).map_err(PgError::file("make", &root))?;
        let socket_dir = settle_socket(&root, host, owner)?;
        let (pgdata, log) = (root.join("data"), root.join("postgres.log"));
        Ok(Self { pgdata, log, socket_dir, elsewhere, root })
    }

    pub(super) fn url(&self, database: &str) -> String {
        let host = self.socket_dir.to_string_lossy();
        let base = format!("postgres://{}@localhost/{database}", super::DATABASE);
        Url::parse_with_params(&base, [("host", host.as_ref())]).map(String::from).unwrap_or(base)
    }

    /// The major version that created the cluster, if there is one.
    pub(super) fn existing_version(&self) -> Option<String> {
        std::fs::read_to_string(self.pgdata.join("PG_VERSION")).ok().map(|v| v.trim().to_owned())
    }

    /// The same for a cluster that must exist.
    pub(super) fn cluster_version(&self) -> Result<String, PgError> {
        let path = self.pgdata.join("PG_VERSION");
        let text = std::fs::read_to_string(&path).map_err(PgError::file("read", path))?;
        Ok(text.trim().to_owned())
    }
}

fn settle_socket(root: &Path, host: &HostPaths, owner: &Owner) -> Result<PathBuf, PgError> {
    let inside = root.join("socket");
    if fits_a_socket(&inside) {
        owner.make_private(&inside).map_err(PgError::file("make", &inside))?;
        return Ok(inside);
    }
    let short = short_socket_dir(root, host, owner);
    match owner.claim_private(&short) {
        Ok(true) => Ok(short),
        Ok(false) => Err(PgError::ForeignDirectory { directory: short }),
        Err(source) => Err(PgError::File { action: "make", path: short, source }),
    }
}

fn fits_a_socket(directory: &Path) -> bool {
    directory.as_os_str().len() <= LONGEST_SOCKET_DIR
}

/// The same path for the same root, so that the next server finds a Postgres that is still running.
fn short_socket_dir(root: &Path, host: &HostPaths, owner: &Owner) -> PathBuf {
    let name = format!("dsrs-{}", fingerprint(root));
    let runtime = host.runtime.as_ref().filter(|directory| owner.can_enter(directory));
    let places = runtime.into_iter().chain([&host.temp]).map(|directory| directory.join(&name));
    places
        .into_iter()
        .find(|path| fits_a_socket(path))
        .unwrap_or_else(|| Path::new("/tmp").join(name))
}

fn fingerprint(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
