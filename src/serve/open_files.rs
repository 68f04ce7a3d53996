//! How many files and sockets the process may have open: as many as the system lets it have. Every
//! stream takes two, and the usual limit of 1,024 is a relic of `select`. Knows nothing else.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit to the highest that is allowed. Where it cannot be raised, it stays.
pub(super) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
