//! What a text may use, checked before the engine compiles it: its depth, then the names of its filters, tests, methods
//! and functions. Finds the names of the values that it uses.

use dsrs_jinja::{Analysis, AnalysisError, Refusal};

use super::{ExprError, depth, explain};
use crate::read::{listed, nearest};

/// Checks an expression.
///
/// # Errors
/// It nests too deep, cannot be parsed, or uses what does not exist.
pub(super) fn check_expression(source: &str) -> Result<Analysis, ExprError> {
    depth::check_expression(source)?;
    Analysis::of_expression(source).map_err(|error| refusal(error, source))
}

/// Checks a template, whose depth is known to be bounded.
///
/// # Errors
/// It cannot be parsed, or uses what does not exist.
pub(super) fn check_template(source: &str) -> Result<Analysis, ExprError> {
    Analysis::of_template(source).map_err(|error| refusal(error, source))
}

fn refusal(error: AnalysisError, source: &str) -> ExprError {
    match error {
        AnalysisError::Syntax(error) => explain(error),
        AnalysisError::Refused(refusals) => {
            let has_lines = source.contains('\n');
            let text = |refusal: &Refusal| match has_lines {
                true => format!("line {}: {}", refusal.line, text(refusal)),
                false => text(refusal),
            };
            ExprError { reason: refusals.iter().map(text).collect::<Vec<_>>().join("; ") }
        }
    }
}

/// What is refused, and what to write instead.
fn text(refusal: &Refusal) -> String {
    let known = refusal.known();
    if refusal.reason().is_some() || known.is_empty() {
        return refusal.to_string();
    }
    match nearest(&refusal.name, known.iter().copied()) {
        Some(name) => format!("{refusal}; did you mean `{name}`?"),
        None => format!("{refusal}; known ones: {}", listed(known.iter().copied())),
    }
}
