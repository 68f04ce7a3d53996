//! Reads what an LM wrote as a value of a type. Repairs small errors and reports every repair;
//! refuses anything ambiguous. Total: any text gives a value or an error, at bounded depth. Knows
//! types and values; does not know fields, prompts or LMs.

mod candidates;
mod fence;
mod fit;
mod leniency;
mod lines;
mod loose;
mod name;
mod number;
mod path;
mod records;
mod repair;
mod report;
mod shorten;
mod tags;
mod word;

use crate::types::Type;
use crate::value::Payload;

pub(crate) use fence::{fenced, unfenced};
pub use leniency::{Leniencies, LeniencyKind};
pub use path::Path;
pub(crate) use path::split_first_step;
pub use report::{Leniency, ParseReport};

pub(crate) use shorten::{brief, shorten};

/// The longest text, in bytes.
pub const TEXT_LIMIT: usize = 4 * 1024 * 1024;

/// A text or value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct CoerceError {
    /// The place in the value: `person.age`, `[0]`, or empty for the whole value.
    pub path: String,
    /// What was expected and what was found, in words that an LM understands.
    pub reason: String,
}

impl CoerceError {
    fn new(path: &Path<'_>, reason: impl Into<String>) -> Self {
        Self { path: path.to_string(), reason: reason.into() }
    }
}

/// Reads text as a value of a type, with only the given leniencies.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::{coerce::{coerce, Leniencies, ParseReport}, types::{Type, TypeDefs, TypeIR}, value::Payload};
/// let ty = Type::new(TypeIR::Int, Arc::new(TypeDefs::default()));
/// let mut report = ParseReport::default();
/// assert_eq!(coerce("1,200", &ty, Leniencies::ALL, &mut report), Ok(Payload::Int(1200)));
/// assert_eq!(report.entries().len(), 1);
/// assert!(coerce("1,200", &ty, Leniencies::STRICT, &mut report).is_err());
/// ```
///
/// # Errors
/// The place where the text does not fit, and why.
pub fn coerce(
    text: &str,
    ty: &Type,
    allowed: Leniencies,
    report: &mut ParseReport,
) -> Result<Payload, CoerceError> {
    fit::read_text(text, ty, allowed, report)
}

/// The value for something left out: the default, else null if the type allows it.
///
/// # Errors
/// If there is neither.
pub fn absent(
    ty: &Type,
    default: Option<&Payload>,
    report: &mut ParseReport,
) -> Result<Payload, CoerceError> {
    fit::read_absent(ty, default, report)
}
