//! An example: inputs of a graph, and what is expected of its outputs. Knows nothing of datasets.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::value::{Fields, Payload};

/// One example of what a program is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Stands for what it says: examples that say the same have the same.
    pub id: Arc<str>,
    /// The inputs of the graph, admitted and complete.
    pub inputs: Fields,
    /// What is expected, by name; mostly outputs of the graph.
    pub expected: Fields,
}

impl Example {
    /// An example whose id is made from what it says.
    ///
    /// ```
    /// use dsrs::optimize::Example;
    /// use dsrs::value::Payload;
    ///
    /// let fields = |text: &str| Payload::from_json(text).unwrap().as_map().unwrap().clone();
    /// let one = Example::of(fields(r#"{"question": "2 + 2"}"#), fields(r#"{"answer": "4"}"#));
    /// let other = Example::of(fields(r#"{"question": "2 + 2"}"#), fields(r#"{"answer": "5"}"#));
    /// assert!(one.id.len() == 32 && one.id != other.id);
    /// ```
    #[must_use]
    pub fn of(inputs: Fields, expected: Fields) -> Self {
        let id = Self::id_of(
            &Payload::map(inputs.clone()).to_json(),
            &Payload::map(expected.clone()).to_json(),
        );
        Self { id, inputs, expected }
    }

    /// The id of an example whose parts are these JSON texts: the first half of their SHA-256, in
    /// lower-case hex.
    #[must_use]
    pub fn id_of(inputs: &str, expected: &str) -> Arc<str> {
        let mut hash = Sha256::new();
        // With a length before it, no text can pass for the end of another.
        hash.update((inputs.len() as u64).to_le_bytes());
        hash.update(inputs);
        hash.update(expected);
        let half = hash.finalize().into_iter().take(16);
        let hex = half.fold(String::with_capacity(32), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        hex.into()
    }
}
