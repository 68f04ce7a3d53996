//! Raises the limit of open files and sockets of the process as far as the system allows. Every
//! stream needs two, and the usual limit of 1,024 is a relic of `select`. Knows nothing else.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit to the allowed maximum. If that fails, the limit stays.
pub(super) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}
