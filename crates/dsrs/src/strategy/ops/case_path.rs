//! The name of a case of `switch` in the paths of its predictors. Knows nothing of the case but its value.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::value::is_identifier;

/// The longest part of a value that is in its name.
const SHOWN: usize = 40;

/// The value itself, or, if that is no name, its letters and digits and the beginning of its hash. It does not depend on the
/// other cases, so that the state of a case stays with it.
///
/// ```
/// use dsrs::strategy::case_path;
///
/// assert_eq!(&*case_path("angry"), "angry");
/// assert_eq!(&*case_path("very angry"), "very_angry_ae0956b9");
/// ```
#[must_use]
pub fn case_path(value: &str) -> Arc<str> {
    // `else` is the strategy for all other values.
    if is_identifier(value) && value != "else" {
        return value.into();
    }
    let plain = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '_' };
    let shown: String = value.chars().take(SHOWN).map(plain).collect();
    let hash = Sha256::digest(value);
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{shown}_{hash}").into()
}
