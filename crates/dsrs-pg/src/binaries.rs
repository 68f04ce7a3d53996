//! Finds `initdb` and `postgres`, newest first, that the user of Postgres can run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::PgOptions;
use super::error::PgError;
use super::owner::Owner;
use dsrs_config::HostPaths;

/// The copy for root, which other users must be able to reach.
const ROOT_CACHE: &str = "/var/cache/dsrs-server/postgres";

/// A directory with the programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    directory: PathBuf,
    /// Major version, such as `17`.
    pub(super) version: String,
}

impl Binaries {
    /// The first usable programs; of the cluster's own major version if there is a cluster.
    pub(super) fn find(
        options: &PgOptions,
        owner: &Owner,
        wanted: Option<&str>,
    ) -> Result<Self, PgError> {
        let places = match &options.pg_bin {
            Some(directory) => vec![directory.clone()],
            None => candidates(&options.host),
        };
        let mut usable = Vec::new();
        // Each look starts a program, so the first that fits ends the search.
        for found in places.iter().filter_map(|place| Self::at(place, owner)) {
            if wanted.is_none_or(|wanted| found.version == wanted) {
                return Ok(found);
            }
            usable.push(found);
        }
        Err(match (wanted, &options.pg_bin) {
            (Some(wanted), _) if !usable.is_empty() => PgError::WrongVersion {
                directory: options.data_dir.clone(),
                wanted: wanted.to_owned(),
                installed: versions(&usable),
            },
            (_, Some(directory)) => {
                PgError::BadBinaries { directory: directory.clone(), user: owner.name.clone() }
            }
            (_, None) => PgError::NoBinaries,
        })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Whether both programs exist and the user can run them.
    fn at(directory: &Path, owner: &Owner) -> Option<Self> {
        if !directory.join("initdb").is_file() {
            return None;
        }
        let mut command = owner.command(&directory.join("postgres"));
        let output = command.arg("--version").stderr(Stdio::null()).output().ok()?;
        let version = major_version(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { directory: directory.to_owned(), version })
    }
}

fn versions(found: &[Binaries]) -> String {
    let mut versions: Vec<&str> = found.iter().map(|found| found.version.as_str()).collect();
    versions.dedup();
    versions.join(", ")
}

/// `postgres (PostgreSQL) 15.16 (Debian …)`; words such as `18beta1` count too.
fn major_version(output: &str) -> Option<String> {
    let number = output.split("PostgreSQL)").nth(1)?.trim();
    let major: String = number.chars().take_while(char::is_ascii_digit).collect();
    (!major.is_empty()).then_some(major)
}

/// The directories to search, in order.
fn candidates(host: &HostPaths) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = pg_config().into_iter().collect();
    for (parent, below) in [
        ("/usr/lib/postgresql", "bin"),
        ("/opt/homebrew/opt", "bin"),
        ("/usr/local/opt", "bin"),
        ("/home/linuxbrew/.linuxbrew/opt", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "bin"),
    ] {
        places.extend(versioned(Path::new(parent)).into_iter().map(|place| place.join(below)));
    }
    places.extend(["/usr/pgsql/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));
    for cache in caches(host) {
        places.extend(versioned(&cache).into_iter().map(|place| place.join("bin")));
    }
    places
}

/// Subdirectories named after a version, such as `15`, `17.9.0` or `postgresql@16`, newest first.
fn versioned(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| Some((version_of(&entry.file_name().to_string_lossy())?, entry.path())))
        .collect();
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn version_of(name: &str) -> Option<Vec<u32>> {
    let number = name.strip_prefix("postgresql@").unwrap_or(name);
    let parts = number.split(['.', '-']);
    parts.map(|part| part.parse().ok()).collect()
}

/// The directory where `scripts/ensure-postgres.sh` unpacks; the two must agree.
fn caches(host: &HostPaths) -> Vec<PathBuf> {
    let home = || host.home.as_ref().map(|home| home.join(".cache"));
    let user = host.cache_home.clone().or_else(home).map(|c| c.join("dsrs-server/postgres"));
    user.into_iter().chain([PathBuf::from(ROOT_CACHE)]).collect()
}

fn pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(path.trim())).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_the_output_of_postgres() {
        let of = |text| major_version(text).unwrap_or_default();
        assert_eq!(of("postgres (PostgreSQL) 15.16 (Debian 15.16-0+deb12u1)\n"), "15");
        assert_eq!(of("postgres (PostgreSQL) 18beta1\n"), "18");
        assert_eq!(of("something else 15"), "");
    }

    #[test]
    fn directories_named_after_versions_are_sorted_newest_first() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["9.6", "15", "postgresql@16", "17.9.0-beta", "17.9.0", "latest"] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        let names: Vec<String> = versioned(parent.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["17.9.0", "postgresql@16", "15", "9.6"]);
    }
}
