//! Why a request has no good answer.

use super::ServerProblem;

/// Why a request has no good answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The URL of the server is none.
    #[error("`{0}` is no URL of a server: it begins with http:// or https://")]
    Url(String),
    /// The key cannot be sent.
    #[error("DSRS_API_KEY is not valid in a header")]
    Key,
    /// TLS cannot be used on this machine.
    #[error("{0}")]
    Tls(String),
    /// Nothing answers there.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// The URL of the server.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The answer ended early, or stalled.
    #[error("the answer of {url} is not complete: {reason}")]
    Incomplete {
        /// The URL of the request.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The answer is not one of this API.
    #[error("{url} answered {status} and no JSON; is it a dsrs-server?")]
    Foreign {
        /// The URL of the request.
        url: String,
        /// The status.
        status: u16,
    },
    /// A refusal.
    #[error("{0}")]
    Refused(Box<ServerProblem>),
}

impl ClientError {
    /// The refusal, if the server refused.
    pub(crate) fn refusal(&self) -> Option<&ServerProblem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the server says that the thing does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(|problem| problem.status == 404)
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Url(_) | Self::Key | Self::Tls(_) => false,
            Self::Unreachable { .. } | Self::Incomplete { .. } | Self::Foreign { .. } => true,
            Self::Refused(problem) => problem.status >= 500 || problem.status == 429,
        }
    }
}

/// The innermost cause of an error.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}
