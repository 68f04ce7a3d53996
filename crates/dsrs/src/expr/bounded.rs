//! Filters whose output is bounded and whose input is charged. Fuel counts instructions, not bytes,
//! and an expression could apply a filter that doubles its text many times.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, Value};

use super::value_text::{text_of, within};
use super::work::{add_filter, meter};

/// Bounds the filters of an engine that can return far more than they get.
pub(super) fn bound(engine: &mut Environment<'_>) {
    meter(engine);
    add_filter(engine, "replace", Value::from_function(replace));
    add_filter(engine, "join", Value::from_function(join));
    add_filter(engine, "string", Value::from_function(text_of));
}

fn replace(text: &str, from: &str, to: &str) -> Result<String, Error> {
    let found = text.matches(from).count();
    within(found.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(text.replace(from, to))
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
        text.push_str(&text_of(&element)?);
        within(text.len())?;
    }
    Ok(text)
}
