//! The answer of a request with an idempotency key, made when its work is stored, so that both are one
//! transaction. May not know how an answer looks: the caller renders it.

use dsrs_store::idempotency::KeyedAnswer;

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
