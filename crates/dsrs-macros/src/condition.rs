//! Checks the condition of a constraint when the derive expands, by the parser that compiles it when
//! the program runs. It knows nothing of values: operand types fail when the condition is evaluated.

use dsrs_jinja::{Analysis, AnalysisError};
use syn::{LitStr, Result};

/// The longest condition, as in documents.
const LENGTH_LIMIT: usize = 2_000;

/// Refuses a text that is no condition over `this`, at the place of the text.
pub(crate) fn check(condition: &LitStr) -> Result<()> {
    let problem = explain(&condition.value());
    problem.map_or(Ok(()), |problem| Err(syn::Error::new_spanned(condition, problem)))
}

fn explain(text: &str) -> Option<String> {
    if text.len() > LENGTH_LIMIT {
        return Some(format!("the condition is longer than {LENGTH_LIMIT} bytes"));
    }
    match Analysis::of_expression(text) {
        Ok(analysis) => {
            let unknown = analysis.names().into_iter().filter(|name| *name != "this").min()?;
            Some(format!(
                "`{unknown}` is not defined; the condition can only use `this`, the value"
            ))
        }
        // The compiler shows the text and the place.
        Err(error @ AnalysisError::Syntax(_)) => {
            Some(format!("this is not a Jinja expression: {}", error.reason()))
        }
        Err(refused) => Some(refused.reason()),
    }
}
