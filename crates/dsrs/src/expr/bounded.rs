//! Filters whose output is bounded and whose input is charged. Fuel counts instructions, not bytes,
//! and an expression could apply a filter that doubles its text many times.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};

use super::work::{add_filter, meter};

/// The longest text that a filter may return, in bytes.
const LIMIT: usize = 4 << 20;

/// Bounds the filters of an engine that can return far more than they get, and removes those that
/// no expression needs.
pub(super) fn bound(engine: &mut Environment<'_>) {
    meter(engine);
    add_filter(engine, "replace", Value::from_function(replace));
    add_filter(engine, "join", Value::from_function(join));
    add_filter(engine, "string", Value::from_function(string));
    for filter in ["pprint", "format", "indent"] {
        engine.remove_filter(filter);
    }
}

fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let found = text.matches(from).count();
    within(found.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(text.replace(from, to))
}

fn string(value: &Value) -> Result<String, Error> {
    let text = value.to_string();
    within(text.len()).map(|()| text)
}

fn join(list: &Value, joiner: Option<&str>, options: Kwargs) -> Result<String, Error> {
    let attribute: Option<&str> = options.get("attribute")?;
    options.assert_all_used()?;
    let mut text = String::new();
    for (position, element) in list.try_iter()?.enumerate() {
        if position > 0 {
            text.push_str(joiner.unwrap_or_default());
        }
        let element = attribute.map_or(Ok(element.clone()), |name| element.get_attr(name))?;
        text.push_str(&element.to_string());
        within(text.len())?;
    }
    Ok(text)
}

fn within(length: usize) -> Result<(), Error> {
    if length <= LIMIT {
        return Ok(());
    }
    let reason = format!("a filter would produce a text of more than {LIMIT} bytes");
    Err(Error::new(ErrorKind::InvalidOperation, reason))
}
