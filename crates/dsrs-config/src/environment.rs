//! The process environment as a plain map. The only place of the server that reads `std::env`; other
//! code receives what it needs, so that a test can substitute it.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables by name.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of this process; bytes that are not UTF-8 are replaced.
    pub fn of_process() -> Self {
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Self(std::env::vars_os().map(|(name, text)| (lossy(name), lossy(text))).collect())
    }

    /// The text of a variable. An empty variable counts as not set, which is the meaning of
    /// `${KEY:-}` in a compose file.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Every variable that is set and not empty, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.keys().filter_map(|name| Some((name.as_str(), self.get(name)?)))
    }

    /// The directories of this machine and user.
    pub fn host(&self) -> HostPaths {
        let path = |name| self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        HostPaths {
            home: path("HOME"),
            cache_home: path("XDG_CACHE_HOME"),
            runtime: path("XDG_RUNTIME_DIR"),
            temp: path("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp")),
        }
    }
}

impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}

/// Directories that the environment names, for rooms that may not read the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPaths {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The directory of the user's caches, if it is set.
    pub cache_home: Option<PathBuf>,
    /// A directory for sockets that only this user can access, if there is one.
    pub runtime: Option<PathBuf>,
    /// The directory for temporary files.
    pub temp: PathBuf,
}
