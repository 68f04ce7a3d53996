//! Checks the condition of a constraint when the derive expands, by the parser that compiles it when
//! the program runs. It knows nothing of values: operand types fail when the condition is evaluated.

use minijinja::{Environment, Error};
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
    let engine = Environment::new();
    match engine.compile_expression(text) {
        Ok(expression) => {
            let mut names: Vec<String> =
                expression.undeclared_variables(false).into_iter().collect();
            names.retain(|name| {
                name != "this" && engine.globals().all(|(global, _)| global != name)
            });
            let unknown = names.into_iter().min()?;
            Some(format!(
                "`{unknown}` is not defined; the condition can only use `this`, the value"
            ))
        }
        Err(error) => Some(format!("this is not a Jinja expression: {}", reason(&error))),
    }
}

/// What the parser says, without a place: the compiler shows the text.
fn reason(error: &Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
}
