//! The end of the transaction of a request: a commit, which stores the answer under an idempotency key if there is one, or
//! the rollback of a rehearsal. May not know how an answer looks: the caller renders it.

use dsrs_store::idempotency::KeyedAnswer;
use dsrs_store::job::Ending;

/// The end of a request whose work stores a row of type `R`.
pub enum Commit<R> {
    /// The work is stored, with its answer if the request has a key.
    Now(AnswerBuilder<R>),
    /// The work is checked as a whole, and rolled back.
    Rehearse,
}

impl<R> Commit<R> {
    pub(crate) fn ending(self, row: &R) -> Ending {
        match self {
            Self::Now(answer) => Ending::Commit(answer.build(row)),
            Self::Rehearse => Ending::Rollback,
        }
    }
}

/// Makes the answer of a request with a key from what its work stores: a row of type `R`.
pub struct AnswerBuilder<R>(Option<Build<R>>);

type Build<R> = Box<dyn FnOnce(&R) -> KeyedAnswer + Send>;

impl<R> AnswerBuilder<R> {
    /// For a request without a key: no answer is stored.
    pub const fn none() -> Self {
        Self(None)
    }

    /// For a request with a key.
    pub fn new(build: impl FnOnce(&R) -> KeyedAnswer + Send + 'static) -> Self {
        Self(Some(Box::new(build)))
    }

    /// The answer to store; `None` without a key.
    pub(crate) fn build(self, row: &R) -> Option<KeyedAnswer> {
        self.0.map(|build| build(row))
    }
}
