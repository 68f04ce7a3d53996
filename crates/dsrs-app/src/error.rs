//! The errors of the app: one enum, without transport. Problems in a request keep their places;
//! internal errors keep their cause for the log.

use dsrs::problem::{Code, Problem, Problems};
use dsrs_api::problem_code::ProblemCode;
use dsrs_archive::ArchiveFailure;

use crate::json::JsonObject;
use crate::parse::ParseFailure;
use dsrs_store::StoreError;

/// The kind of document that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The shape of a request.
    Request,
    Graph,
    /// The inputs of a run or a node.
    Input,
    /// A predictor state.
    State,
    /// The name in the body differs from the one in the path.
    Name,
}

/// Why the app did not do what a request asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppError {
    /// No resource has this name, id or number.
    #[error("{0}")]
    NotFound(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The name is in use.
    #[error("{0}")]
    AlreadyExists(String),
    /// The current version is not the one that the request expects.
    #[error("the current version is not the expected one; read it again")]
    Stale,
    /// The document is invalid; with all problems found.
    #[error("{problems}")]
    Invalid {
        /// The kind of document.
        what: Invalid,
        /// The problems, with their places.
        problems: Problems,
    },
    /// A text is not a value of the expected type.
    #[error("{}", .0.detail)]
    Parse(Box<ParseFailure>),
    /// Graph version and state version do not belong together.
    #[error("{0}")]
    StateMismatch(String),
    /// The run has ended, so the request no longer applies.
    #[error("{0}")]
    RunFinished(String),
    /// The run is in the archive, which is not changed.
    #[error("{0}")]
    RunArchived(String),
    /// The run has not ended, so the request does not apply yet.
    #[error("{0}")]
    RunUnfinished(String),
    /// The node does not wait for a signal.
    #[error("{0}")]
    NotWaiting(String),
    /// Two evaluations cannot be compared.
    #[error("{0}")]
    NotComparable(String),
    /// An optimization found nothing to activate.
    #[error("{0}")]
    NothingFound(String),
    /// Another version has been activated in the meantime.
    #[error("{0}")]
    Superseded(String),
    /// Another request with the same idempotency key has replaced this one.
    #[error("another request with this `Idempotency-Key` has replaced this one; repeat it")]
    KeyTaken,
    /// Too many concurrent runs.
    #[error("{0}")]
    TooBusy(String),
    /// The server cannot serve now.
    #[error("{0}")]
    Unavailable(String),
    /// A bug, or a fault of the environment.
    #[error("internal error: {0}")]
    Internal(String),
}

impl AppError {
    /// An invalid document.
    pub fn invalid(what: Invalid, problems: Problems) -> Self {
        Self::Invalid { what, problems }
    }

    /// The code of its problem.
    #[must_use]
    pub fn code(&self) -> ProblemCode {
        match self {
            Self::NotFound(_) => ProblemCode::NotFound,
            Self::Forbidden(_) => ProblemCode::Forbidden,
            Self::AlreadyExists(_) => ProblemCode::AlreadyExists,
            Self::Stale | Self::Superseded(_) => ProblemCode::PreconditionFailed,
            Self::Invalid { what, .. } => what.code(),
            Self::Parse(failure) if failure.constraint.is_some() => ProblemCode::ConstraintFailed,
            Self::Parse(_) => ProblemCode::ParseError,
            Self::StateMismatch(_) => ProblemCode::StateMismatch,
            Self::RunFinished(_) => ProblemCode::RunFinished,
            Self::RunArchived(_) => ProblemCode::RunArchived,
            Self::NotWaiting(_) => ProblemCode::NodeNotWaiting,
            Self::RunUnfinished(_) => ProblemCode::RunUnfinished,
            Self::NotComparable(_) => ProblemCode::NotComparable,
            Self::NothingFound(_) => ProblemCode::NothingFound,
            Self::KeyTaken => ProblemCode::IdempotencyInProgress,
            Self::TooBusy(_) => ProblemCode::RateLimited,
            Self::Unavailable(_) => ProblemCode::Unavailable,
            Self::Internal(_) => ProblemCode::Internal,
        }
    }

    /// What happened, as clients may know it.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Self::Invalid { problems, .. } => summary(problems),
            Self::Internal(_) => "an internal error occurred; the log has details".to_owned(),
            _ => self.to_string(),
        }
    }

    /// The seconds after which a repeat of the request may succeed, if it asks for one.
    #[must_use]
    pub const fn retry_after(&self) -> Option<u64> {
        match self {
            Self::KeyTaken | Self::TooBusy(_) | Self::Unavailable(_) => Some(1),
            _ => None,
        }
    }

    /// Its problem as JSON text: what the client of a request receives.
    pub(crate) fn problem_json(&self, request_id: &str) -> String {
        let code = self.code();
        let mut object = JsonObject::new();
        object.text("type", &code.path()).text("title", code.title());
        object.shown("status", code.status()).text("detail", &self.detail());
        object.text("code", code.as_str()).raw("errors", &self.items_json());
        object.text("request_id", request_id);
        object.finish()
    }

    fn items_json(&self) -> String {
        let Self::Invalid { problems, .. } = self else { return "[]".to_owned() };
        let item = |problem: &Problem| {
            let mut item = JsonObject::new();
            item.text("pointer", &problem.pointer).text("code", problem.code.as_str());
            item.text("detail", &problem.detail);
            item.finish()
        };
        format!("[{}]", problems.iter().map(item).collect::<Vec<_>>().join(","))
    }
}

impl Invalid {
    const fn code(self) -> ProblemCode {
        match self {
            Self::Request => ProblemCode::InvalidRequest,
            Self::Graph => ProblemCode::InvalidGraph,
            Self::Input => ProblemCode::InvalidInput,
            Self::State => ProblemCode::InvalidState,
            Self::Name => ProblemCode::NameMismatch,
        }
    }
}

/// The problems of a document in one text: the only one, or their number.
#[must_use]
pub fn summary(problems: &Problems) -> String {
    match (problems.len(), problems.unrecorded()) {
        (1, _) => problems.iter().next().map(ToString::to_string).unwrap_or_default(),
        (many, 0) => format!("{many} problems, each named in `errors`"),
        (many, more) => {
            format!("{many} problems; `errors` names the first of them, {more} are left out")
        }
    }
}

impl From<ArchiveFailure> for AppError {
    fn from(failure: ArchiveFailure) -> Self {
        match failure {
            ArchiveFailure::Store(error) => error.into(),
            ArchiveFailure::Unreadable | ArchiveFailure::Silent => {
                Self::Unavailable(failure.to_string())
            }
        }
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, name } => {
                Self::NotFound(format!("there is no {what} `{name}`"))
            }
            StoreError::AlreadyExists { what, name } => {
                Self::AlreadyExists(format!("there is already {} {what} `{name}`", article(what)))
            }
            StoreError::Stale { .. } => Self::Stale,
            StoreError::StateMismatch { .. } => Self::StateMismatch(error.to_string()),
            StoreError::Superseded(what) => Self::RunUnfinished(what.to_owned()),
            StoreError::KeyTaken => Self::KeyTaken,
            StoreError::Unavailable { .. } => {
                tracing::warn!(cause = error.cause(), "the database is not available");
                Self::Unavailable("the database is not available; try again".to_owned())
            }
            StoreError::Internal(_) => Self::Internal(error.cause()),
        }
    }
}

/// Merges the problems found earlier in a request with those of a check, so that all of them are
/// reported together.
pub(crate) fn merge_faults<T>(
    mut known: Problems,
    checked: Result<T, AppError>,
) -> Result<T, AppError> {
    let (what, found) = match checked {
        Ok(checked) if known.is_empty() => return Ok(checked),
        Ok(_) => (Invalid::Request, Problems::new()),
        Err(AppError::Invalid { what, problems }) => (what, problems),
        Err(other) => return Err(other),
    };
    known.also(found);
    Err(AppError::invalid(what, known))
}

/// The error for the problems of a graph document: a malformed request, or an invalid graph.
pub(crate) fn graph_problems(problems: Problems) -> AppError {
    let shape = problems.iter().all(is_shape);
    AppError::invalid(if shape { Invalid::Request } else { Invalid::Graph }, problems)
}

fn is_shape(problem: &Problem) -> bool {
    match problem.code {
        Code::MissingField | Code::WrongType | Code::InvalidValue => true,
        // The same code reports an edge or an output whose path names no field.
        Code::UnknownField => {
            let pointer = problem.pointer.as_str();
            let end = pointer.ends_with("/from") || pointer.ends_with("/to");
            !(pointer.starts_with("/edges/") && end || pointer.starts_with("/outputs/"))
        }
        _ => false,
    }
}

/// The article of a noun.
fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(problems: &[(&str, Code)]) -> Invalid {
        let problem = |(pointer, code): &(&str, Code)| Problem {
            pointer: (*pointer).to_owned(),
            code: *code,
            detail: String::new(),
        };
        let mut found = Problems::new();
        found.extend(problems.iter().map(problem));
        match graph_problems(found) {
            AppError::Invalid { what, .. } => what,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_malformed_body_is_distinguished_from_an_invalid_graph() {
        assert_eq!(kind(&[("/nmae", Code::UnknownField)]), Invalid::Request);
        assert_eq!(kind(&[("/edges/0/form", Code::UnknownField)]), Invalid::Request);
        assert_eq!(kind(&[("/edges/0/from", Code::UnknownField)]), Invalid::Graph);
        let mixed = [("/nodes", Code::WrongType), ("/edges/0", Code::Cycle)];
        assert_eq!(kind(&mixed), Invalid::Graph);
    }
}
