//! Reading what an LM wrote as a value of a type. Small slips are mended and every mending is
//! reported; anything doubtful is refused. Total: any text gives a value or an error, at bounded
//! depth. Knows types and values and nothing of fields, prompts or LMs.

mod brief;
mod candidates;
mod fit;
mod kinds;
mod lines;
mod loose;
mod name;
mod number;
mod path;
mod records;
mod repair;
mod report;
mod tags;
mod word;

use crate::types::Type;
use crate::value::Payload;

pub use kinds::{Leniencies, LeniencyKind};
pub use path::Path;
pub use report::{Leniency, Report};

pub(crate) use brief::{brief, shorten};

/// How long a text may be, in bytes.
pub const TEXT_LIMIT: usize = 4 * 1024 * 1024;

/// A text or value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct CoerceError {
    /// Where in the value: `person.age`, `[0]`, or nothing for the whole.
    pub path: String,
    /// What was expected and what was found, in words that an LM understands.
    pub reason: String,
}

impl CoerceError {
    fn new(path: &Path<'_>, reason: impl Into<String>) -> Self {
        Self { path: path.to_string(), reason: reason.into() }
    }
}

/// Reads text as a value of a type, by no other leniency than those allowed.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::{coerce::{coerce, Leniencies, Report}, types::{Type, TypeDefs, TypeIR}, value::Payload};
/// let ty = Type::new(TypeIR::Int, Arc::new(TypeDefs::default()));
/// let mut report = Report::default();
/// assert_eq!(coerce("1,200", &ty, Leniencies::ALL, &mut report), Ok(Payload::Int(1200)));
/// assert_eq!(report.entries().len(), 1);
/// assert!(coerce("1,200", &ty, Leniencies::STRICT, &mut report).is_err());
/// ```
///
/// # Errors
/// Where the text does not fit, and why.
pub fn coerce(
    text: &str,
    ty: &Type,
    allowed: Leniencies,
    report: &mut Report,
) -> Result<Payload, CoerceError> {
    fit::read_text(text, ty, allowed, report)
}

/// What stands in for a value that was left out: the default, else null where the type takes it.
///
/// # Errors
/// When nothing stands in for it.
pub fn absent(
    ty: &Type,
    default: Option<&Payload>,
    report: &mut Report,
) -> Result<Payload, CoerceError> {
    fit::read_absent(ty, default, report)
}
