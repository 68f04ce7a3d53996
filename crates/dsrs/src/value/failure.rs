//! Failures as data: what went wrong, where, and what lies beneath. This is the chain that a value
//! of kind `error` keeps. Knows nothing of how anything fails.

use std::error::Error;
use std::sync::Arc;

use super::{Map, Payload};

/// How deep a chain of causes is followed.
const DEPTH: usize = 32;

/// One failure and its causes.
///
/// ```
/// use dsrs::value::Failure;
/// let parse = "x".parse::<i64>().unwrap_err();
/// let failure = Failure::of(&parse).at("count");
/// assert_eq!(
///     failure.to_payload().to_json(),
///     r#"{"code":"error","message":"invalid digit found in string","node":"count"}"#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Stable and machine-readable.
    pub code: Arc<str>,
    /// What happened, for a person.
    pub message: Arc<str>,
    /// The node where it happened.
    pub node: Option<Arc<str>>,
    /// What lies beneath, the nearest first.
    pub causes: Vec<Failure>,
}

impl Failure {
    /// A failure without causes.
    #[must_use]
    pub fn new(code: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), message: message.into(), node: None, causes: Vec::new() }
    }

    /// An error of Rust with all that lies beneath it, under the code `error`.
    #[must_use]
    pub fn of(error: &dyn Error) -> Self {
        let sources = std::iter::successors(error.source(), |error| (*error).source()).take(DEPTH);
        let causes = sources.map(|cause| Self::new("error", cause.to_string())).collect();
        Self { causes, ..Self::new("error", error.to_string()) }
    }

    /// The same failure, tied to the node where it happened.
    #[must_use]
    pub fn at(mut self, node: impl Into<Arc<str>>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Several failures as one: the first is what failed, the rest are causes beside its own.
    #[must_use]
    pub fn joined(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut failures = failures.into_iter();
        let mut primary = failures.next()?;
        primary.causes.extend(failures);
        Some(primary)
    }

    /// `{code, message, node?, causes?}`.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let mut members = Map::new();
        members.insert("code".into(), Payload::Str(self.code.clone()));
        members.insert("message".into(), Payload::Str(self.message.clone()));
        if let Some(node) = &self.node {
            members.insert("node".into(), Payload::Str(node.clone()));
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Self::to_payload).collect();
            members.insert("causes".into(), Payload::list(causes));
        }
        Payload::map(members)
    }
}
