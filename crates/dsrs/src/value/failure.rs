//! Failures as data: what went wrong, where, and the causes. A value of kind `error` has one. Knows
//! nothing of how anything fails.

use std::error::Error;
use std::sync::Arc;

use super::{Map, Payload};

/// How deep a chain of causes is followed.
const DEPTH: usize = 32;

/// How many causes a joined failure has at most.
const JOINED_LIMIT: usize = 100;

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
    /// The causes, nearest first.
    pub causes: Vec<Failure>,
}

impl Failure {
    /// A failure without causes.
    #[must_use]
    pub fn new(code: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), message: message.into(), node: None, causes: Vec::new() }
    }

    /// A Rust error with all its sources, under the code `error`.
    #[must_use]
    pub fn of(error: &dyn Error) -> Self {
        let sources = std::iter::successors(error.source(), |error| (*error).source()).take(DEPTH);
        let causes = sources.map(|cause| Self::new("error", cause.to_string())).collect();
        Self { causes, ..Self::new("error", error.to_string()) }
    }

    /// The same failure with the node where it happened.
    #[must_use]
    pub fn at(mut self, node: impl Into<Arc<str>>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Several failures as one: the first, with the others as additional causes. Causes are flat and
    /// without duplicates, so that failures do not grow when they are joined again and again.
    #[must_use]
    pub fn joined(failures: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut failures = failures.into_iter();
        let mut primary = failures.next()?;
        for mut failure in failures {
            let causes = std::mem::take(&mut failure.causes);
            for cause in std::iter::once(failure).chain(causes) {
                let known = primary.is_same_as(&cause)
                    || primary.causes.iter().any(|known| known.is_same_as(&cause));
                if !known && primary.causes.len() < JOINED_LIMIT {
                    primary.causes.push(cause);
                }
            }
        }
        Some(primary)
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.node == other.node && self.code == other.code && self.message == other.message
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(node: &str) -> Failure {
        Failure::new("timeout", "late").at(node)
    }

    fn joined(failures: &[&Failure]) -> Failure {
        Failure::joined(failures.iter().copied().cloned()).unwrap()
    }

    fn describe(failure: &Failure) -> String {
        let causes: Vec<&str> = failure.causes.iter().filter_map(|c| c.node.as_deref()).collect();
        format!("{} because of {}", failure.node.as_deref().unwrap_or_default(), causes.join(", "))
    }

    #[test]
    fn joined_failures_are_the_first_with_the_others_as_causes() {
        let both = joined(&[&failed("a"), &failed("b")]);
        assert_eq!(describe(&both), "a because of b");
        let more = joined(&[&failed("c"), &both, &failed("d")]);
        assert_eq!(describe(&more), "c because of a, b, d");
        assert!(more.causes.iter().all(|cause| cause.causes.is_empty()));
        assert_eq!(Failure::joined([]), None);
    }

    #[test]
    fn duplicate_failures_are_joined_once() {
        assert_eq!(joined(&[&failed("a"), &failed("a")]), failed("a"));
    }

    #[test]
    fn failures_that_are_joined_repeatedly_stay_bounded() {
        let mut failures: Vec<_> = (0..2 * JOINED_LIMIT).map(|n| failed(&n.to_string())).collect();
        for _ in 0..50 {
            let all = Failure::joined(failures.clone()).unwrap();
            assert_eq!(all.causes.len(), JOINED_LIMIT);
            failures.push(all);
        }
    }
}
