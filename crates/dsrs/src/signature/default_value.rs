//! Defaults that an author writes as text for a field of another type. Only the derives use this.

use facet::Facet;

use crate::reflect::from_payload;
use crate::value::Payload;

/// The value of a default.
///
/// # Panics
/// If the text is no value of the type. [`SignatureSchema::try_of`](super::SignatureSchema::try_of), which
/// comes before every use of a signature, has returned that as an error.
#[must_use]
#[expect(clippy::panic, reason = "a default is written by a programmer, not read from input")]
pub fn read_default<T: Facet<'static>>(text: &Payload) -> T {
    match from_payload(text) {
        Ok(value) => value,
        Err(error) => panic!("a default does not fit its type: {error}"),
    }
}
