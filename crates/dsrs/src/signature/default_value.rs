//! Defaults that an author writes as text for a field of another type. Only the derives use this.

use facet::Facet;

use crate::reflect::{ReflectError, from_payload};
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

/// Whether a default is a value of its type.
///
/// # Errors
/// Why it is not, with the name of the field.
pub fn check_default<T: Facet<'static>>(name: &str, text: &Payload) -> Result<(), ReflectError> {
    from_payload::<T>(text).map(drop).map_err(|error| error.below(name))
}
