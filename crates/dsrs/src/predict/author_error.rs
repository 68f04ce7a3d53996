//! Errors of an author's own code as errors of predictions.
//!
//! A conversion of every error would leave no room for `PredictError` to be an error itself, which
//! callers of a module expect. So the common ones are converted by `?`, and any by [`OrFail`].

use std::error::Error;
use std::fmt::Display;
use std::sync::Arc;

use super::{PredictError, PredictErrorKind};
use crate::lm::{LmError, LmErrorKind};

impl PredictError {
    /// The failure of an author's own code, in words.
    ///
    /// ```
    /// use dsrs::predict::PredictError;
    ///
    /// let error = PredictError::failed("no passage mentions the question");
    /// assert_eq!(error.kind.code(), "module_failed");
    /// ```
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(PredictErrorKind::Module, message)
    }

    /// The failure that an error of the author's own code is; one of a predictor stays as it is.
    fn of_error(error: Box<dyn Error + Send + Sync>) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(own) => return *own,
            Err(error) => error,
        };
        let kind = error.downcast_ref().map_or(PredictErrorKind::Module, kind_of);
        let message = with_causes(error.as_ref());
        Self { source: Some(Arc::from(error)), ..Self::new(kind, message) }
    }
}

/// Makes any error the failure of a module.
///
/// ```
/// use std::error::Error;
/// use dsrs::predict::{OrFail, PredictError};
///
/// #[derive(Debug)]
/// struct Offline;
///
/// impl std::fmt::Display for Offline {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("the index is offline")
///     }
/// }
///
/// impl Error for Offline {}
///
/// fn search() -> Result<Vec<String>, Offline> {
///     Err(Offline)
/// }
///
/// fn passages() -> Result<Vec<String>, PredictError> {
///     search().context("cannot search the handbook")
/// }
///
/// let error = passages().unwrap_err();
/// assert_eq!(error.message, "cannot search the handbook: the index is offline");
/// assert!(error.source().unwrap().is::<Offline>());
/// assert_eq!(search().or_fail().unwrap_err().message, "the index is offline");
/// ```
pub trait OrFail<T> {
    /// The error as the failure of the module. One of a predictor stays as it is.
    ///
    /// # Errors
    /// The failure.
    fn or_fail(self) -> Result<T, PredictError>;

    /// The same, with what could not be done before the message.
    ///
    /// # Errors
    /// The failure.
    fn context(self, what: impl Display) -> Result<T, PredictError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrFail<T> for Result<T, E> {
    fn or_fail(self) -> Result<T, PredictError> {
        self.map_err(|error| PredictError::of_error(error.into()))
    }

    fn context(self, what: impl Display) -> Result<T, PredictError> {
        self.map_err(|error| {
            let error = PredictError::of_error(error.into());
            PredictError { message: format!("{what}: {}", error.message), ..error }
        })
    }
}

/// Errors that `?` converts.
macro_rules! convert {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for PredictError {
            fn from(error: $error) -> Self {
                Self::of_error(error.into())
            }
        })*
    };
}

impl From<&str> for PredictError {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

impl From<String> for PredictError {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

convert! {
    Box<dyn Error + Send + Sync>,
    std::char::ParseCharError,
    std::env::VarError,
    std::fmt::Error,
    std::io::Error,
    std::net::AddrParseError,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    std::num::TryFromIntError,
    std::str::ParseBoolError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::sync::mpsc::RecvError,
    std::time::SystemTimeError,
    serde_json::Error,
    tokio::sync::AcquireError,
    tokio::sync::oneshot::error::RecvError,
    tokio::task::JoinError,
    tokio::time::error::Elapsed,
    LmError,
}

/// The kind of an error of an LM client that a module uses by itself.
fn kind_of(error: &LmError) -> PredictErrorKind {
    match error.kind {
        LmErrorKind::Cancelled => PredictErrorKind::Cancelled,
        LmErrorKind::Budget => PredictErrorKind::Budget,
        LmErrorKind::RateLimited => {
            PredictErrorKind::RateLimited { retry_after: error.retry_after }
        }
        LmErrorKind::QuotaExhausted => PredictErrorKind::QuotaExhausted,
        LmErrorKind::Filtered => PredictErrorKind::Filtered,
        _ => PredictErrorKind::Lm,
    }
}

/// How many causes a message names.
const DEPTH: usize = 8;

/// The text of an error and those of its causes, unless it quotes them itself.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    for cause in causes.take(DEPTH).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
