//! What can go wrong below: one enum, without transport and without secrets.
//!
//! The split that matters upstairs: a database that cannot serve now ([`StoreError::Unavailable`],
//! worth trying again) is never reported as a fault of ours ([`StoreError::Internal`]).

use sqlx::migrate::MigrateError;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing of that name, id or number in this workspace.
    #[error("no {what} {name:?}")]
    NotFound {
        /// The noun: `graph`, `graph version`, `state version`, `run`.
        what: &'static str,
        /// How it was asked for.
        name: String,
    },
    /// The name is taken.
    #[error("{what} {name:?} already exists")]
    AlreadyExists {
        /// The noun.
        what: &'static str,
        /// The name in question.
        name: String,
    },
    /// The caller expected another version than the one found under the lock.
    #[error("the version has changed: the current one is {current}")]
    Stale {
        /// The version that is current now.
        current: i32,
    },
    /// The state version was made for another graph version.
    #[error("state version {state_version} fits graph version {fits}, not {graph_version}")]
    StateMismatch {
        /// The state version asked for.
        state_version: i32,
        /// The graph version it was made for.
        fits: i32,
        /// The graph version it was to go with.
        graph_version: i32,
    },
    /// The database cannot be reached, or has no time for us; another try may succeed.
    #[error("the database is unavailable: {reason}")]
    Unavailable {
        /// What was seen, for the log.
        reason: String,
        /// The driver's error, if it was one.
        #[source]
        source: Option<sqlx::Error>,
    },
    /// What was to be done no longer can be: another has done it, or something else, before.
    #[error("{0}")]
    Superseded(&'static str),
    /// Another request has claimed the idempotency key of this one.
    #[error("another request has claimed the idempotency key")]
    KeyTaken,
    /// A fault of ours or of the data; trying again will not help.
    #[error("the database refused a statement")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    pub fn not_found(what: &'static str, name: impl ToString) -> Self {
        Self::NotFound { what, name: name.to_string() }
    }

    /// Whether no statement would succeed now. Otherwise it is this statement that took too long, was not
    /// granted a lock, or was in conflict with another transaction.
    pub fn is_outage(&self) -> bool {
        let Self::Unavailable { source, .. } = self else { return false };
        let state = source.as_ref().and_then(sqlx::Error::as_database_error);
        let state = state.and_then(|error| error.code());
        !state.is_some_and(|state| is_of_statement(&state))
    }

    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// What lies beneath, in one line for the log; never for a client.
    pub fn cause(&self) -> String {
        match self {
            Self::Internal(source) => source.to_string(),
            other => other.to_string(),
        }
    }

    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal(reason.into().into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_passing(&error) {
            Self::Unavailable { reason: error.to_string(), source: Some(error) }
        } else {
            Self::Internal(Box::new(error))
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) => error.into(),
            other => Self::Internal(Box::new(other)),
        }
    }
}

/// Whether the connection or the server's present condition is to blame, not the statement.
fn is_passing(error: &sqlx::Error) -> bool {
    use sqlx::Error;
    match error {
        Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::PoolClosed => true,
        Error::WorkerCrashed | Error::BeginFailed | Error::Protocol(_) => true,
        Error::Database(error) => error.code().is_some_and(|state| is_passing_state(&state)),
        _ => false,
    }
}

/// Whether the other side has closed the connection.
pub(super) fn is_lost_connection(error: &sqlx::Error) -> bool {
    let state = error.as_database_error().and_then(|error| error.code());
    let is_closed = |state: &str| state.starts_with("08") || state.starts_with("57P");
    matches!(error, sqlx::Error::Io(_)) || state.is_some_and(|state| is_closed(&state))
}

/// SQLSTATE classes of connections, resources, locks, shutdowns and refused log-ins.
pub(super) fn is_passing_state(state: &str) -> bool {
    let class = state.get(..2).unwrap_or_default();
    matches!(class, "08" | "28" | "3D" | "40" | "53" | "57" | "58")
        || matches!(state, "55P03" | "25P03" | "25P02" | "25006")
}

/// Of those, the states that one statement may have while others succeed.
fn is_of_statement(state: &str) -> bool {
    state.starts_with("40") || matches!(state, "57014" | "55P03" | "25P02" | "25P03")
}

/// Whether a unique index refused the row, and which.
pub(crate) fn violated_index(error: &sqlx::Error) -> Option<&str> {
    let database = error.as_database_error()?;
    if database.is_unique_violation() { database.constraint() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{StoreError, is_passing_state};

    #[test]
    fn a_server_that_shuts_down_or_is_full_is_worth_another_try() {
        for state in ["57P01", "57P03", "53300", "08006", "40001", "55P03", "57014"] {
            assert!(is_passing_state(state), "{state}");
        }
        for state in ["42601", "23505", "22P02", "42P01", ""] {
            assert!(!is_passing_state(state), "{state}");
        }
    }

    #[test]
    fn a_lost_connection_is_unavailable_and_a_missing_column_is_internal() {
        let lost = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(matches!(StoreError::from(lost), StoreError::Unavailable { .. }));
        let ours = sqlx::Error::ColumnNotFound("x".into());
        assert!(matches!(StoreError::from(ours), StoreError::Internal(_)));
    }
}
