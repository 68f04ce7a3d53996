//! An example: inputs of a graph and expected outputs. Knows nothing of datasets.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::value::{Fields, Payload};

/// One example for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// A hash of its content: equal examples have equal ids.
    pub id: Arc<str>,
    /// The inputs of the graph, admitted and complete.
    pub inputs: Fields,
    /// Expected outputs by name, and other members for metrics.
    pub expected: Fields,
}

impl Example {
    /// An example with the id of its content.
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

    /// The id of an example with these JSON texts: the first half of their SHA-256 in lower-case hex.
    #[must_use]
    pub fn id_of(inputs: &str, expected: &str) -> Arc<str> {
        let mut hash = Sha256::new();
        // The length prefix separates the texts unambiguously.
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
