//! Why a verb did not do what it was asked: one enum, without transport. Problems with places are
//! carried whole; faults of ours keep their source for the log.

use dsrs::problem::{Code, Problem, Problems};

use crate::app::parse::ParseFailure;
use crate::store::StoreError;

/// What kind of document does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The shape of a request.
    Request,
    /// A graph.
    Graph,
    /// The inputs of a run or a node.
    Input,
    /// A predictor state.
    State,
    /// The name in the body is not the one it is addressed by.
    Name,
}

/// Why a verb did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppError {
    /// Nothing of that name, id or number.
    #[error("{0}")]
    NotFound(String),
    /// The name is taken.
    #[error("{0}")]
    AlreadyExists(String),
    /// The caller has seen another version than the one in force.
    #[error("the version in force is another than the one expected; read it again")]
    Stale,
    /// The document does not fit, with all that is wrong.
    #[error("{problems}")]
    Invalid {
        /// What does not fit.
        what: Invalid,
        /// Where and why.
        problems: Problems,
    },
    /// A text does not fit what it is to be read as.
    #[error("{}", .0.detail)]
    Parse(Box<ParseFailure>),
    /// Graph version and state version do not belong together.
    #[error("{0}")]
    StateMismatch(String),
    /// The run has ended, and what was asked no longer applies.
    #[error("{0}")]
    RunFinished(String),
    /// The run has not ended, and what was asked does not apply yet.
    #[error("{0}")]
    RunUnfinished(String),
    /// The node does not wait for a value.
    #[error("{0}")]
    NotWaiting(String),
    /// Two evaluations cannot be compared.
    #[error("{0}")]
    NotComparable(String),
    /// An optimization found nothing to be put in force.
    #[error("{0}")]
    NothingFound(String),
    /// Something else is in force by now than what was expected.
    #[error("{0}")]
    Superseded(String),
    /// Too many runs at the same time.
    #[error("{0}")]
    TooBusy(String),
    /// The server cannot serve now.
    #[error("{0}")]
    Unavailable(String),
    /// A fault of ours.
    #[error("a fault of ours: {0}")]
    Internal(String),
}

impl AppError {
    /// A document that does not fit.
    pub(crate) fn invalid(what: Invalid, problems: Problems) -> Self {
        Self::Invalid { what, problems }
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, name } => {
                Self::NotFound(format!("there is no {what} `{name}`"))
            }
            StoreError::AlreadyExists { what, name } => {
                Self::AlreadyExists(format!("there is a {what} `{name}` already"))
            }
            StoreError::Stale { .. } => Self::Stale,
            StoreError::StateMismatch { .. } => Self::StateMismatch(error.to_string()),
            StoreError::Superseded(what) => Self::RunUnfinished(what.to_owned()),
            StoreError::Unavailable { .. } => {
                tracing::warn!(cause = error.cause(), "the database is not available");
                Self::Unavailable("the database is not available; try again".to_owned())
            }
            StoreError::Internal(_) => Self::Internal(error.cause()),
        }
    }
}

/// The outcome of a check beside what is wrong with the request already: all of it is refused
/// together.
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

/// What a graph document's problems amount to: a misshapen request, or parts that do not fit.
pub(crate) fn graph_problems(problems: Problems) -> AppError {
    let shape = problems.iter().all(is_shape);
    AppError::invalid(if shape { Invalid::Request } else { Invalid::Graph }, problems)
}

fn is_shape(problem: &Problem) -> bool {
    match problem.code {
        Code::MissingField | Code::WrongType | Code::InvalidValue => true,
        // The same code stands for a path in an edge or an output that names no field.
        Code::UnknownField => {
            let pointer = problem.pointer.as_str();
            let end = pointer.ends_with("/from") || pointer.ends_with("/to");
            !(pointer.starts_with("/edges/") && end || pointer.starts_with("/outputs/"))
        }
        _ => false,
    }
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
    fn a_misshapen_body_is_told_from_a_graph_that_does_not_hold_together() {
        assert_eq!(kind(&[("/nmae", Code::UnknownField)]), Invalid::Request);
        assert_eq!(kind(&[("/edges/0/form", Code::UnknownField)]), Invalid::Request);
        assert_eq!(kind(&[("/edges/0/from", Code::UnknownField)]), Invalid::Graph);
        let mixed = [("/nodes", Code::WrongType), ("/edges/0", Code::Cycle)];
        assert_eq!(kind(&mixed), Invalid::Graph);
    }
}
