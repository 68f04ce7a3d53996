//! Reading what an LM wrote as a value of a type. Small slips are mended and every mending is
//! reported; anything doubtful is refused. Total: any text gives a value or an error, at bounded
//! depth. Knows types and values and nothing of fields, prompts or LMs.

#[cfg_attr(not(test), expect(dead_code, reason = "used by the other half of the parser"))]
mod candidates;
mod fit;
mod kinds;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the other half of the parser"))]
mod lines;
mod loose;
mod path;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the other half of the parser"))]
mod records;
mod repair;
mod report;
mod scalar;
#[cfg_attr(not(test), expect(dead_code, reason = "used by the other half of the parser"))]
mod tags;
mod text;

use crate::types::Type;
use crate::value::Payload;

pub use kinds::{Leniencies, LeniencyKind};
pub use path::Path;
pub use report::{Leniency, Report};

pub(crate) use report::shorten;

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
    let strict = allowed != Leniencies::ALL;
    let fitter = fit::Fitter { defs: &ty.defs, strict };
    text::read(&fitter, text, &ty.ir, report)
}

/// Fits a value that was already read as JSON to a type, with the same leniencies.
///
/// # Errors
/// Where the value does not fit, and why.
pub fn fit(
    value: &Payload,
    ty: &Type,
    allowed: Leniencies,
    report: &mut Report,
) -> Result<Payload, CoerceError> {
    let strict = allowed != Leniencies::ALL;
    let fitter = fit::Fitter { defs: &ty.defs, strict };
    fitter.fit(value, &ty.ir, &Path::Root, report)
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
    let fitter = fit::Fitter { defs: &ty.defs, strict: false };
    fitter.absent(&ty.ir, default, &Path::Root, report)
}

/// The first JSON object or array that stands in a text: the whole of it, in a fenced block, or
/// amid prose. Says by which leniency it was found.
#[must_use]
pub fn find_json(text: &str) -> Option<(Payload, Option<LeniencyKind>)> {
    text::find_json(text)
}
