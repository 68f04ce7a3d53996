//! The engine of all expressions and templates: the language of `dsrs_jinja`, with bounded fuel and work. It is
//! constant: it has no templates and no state.

use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, Output, State, Value};

use super::bounded::bound;
use super::filters::add_filters;
use super::methods::add_methods;
use super::operators::add_operators;
use super::pattern::add_matching_test;
use super::value_text::write_json;

/// How many instructions one evaluation may execute.
const FUEL: u64 = 50_000;

/// The engine.
pub(super) static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::new();
    engine.set_fuel(Some(FUEL));
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_formatter(write);
    bound(&mut engine);
    add_filters(&mut engine);
    add_methods(&mut engine);
    add_operators(&mut engine);
    add_matching_test(&mut engine);
    engine.remove_filter("pprint");
    for global in ["namespace", "debug"] {
        engine.remove_global(global);
    }
    engine
});

/// Writes a value of a template: a text as it is, what is absent as nothing, everything else as JSON.
fn write(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => Ok(out.write_str(text)?),
        (None, ValueKind::Undefined) => Ok(()),
        (None, _) => write_json(value, out, None),
    }
}

#[cfg(test)]
mod tests {
    use minijinja::ErrorKind;

    use super::*;

    /// Whether the engine has a filter or a test of a name.
    fn has(kind: &str, name: &str) -> bool {
        let found = ENGINE.compile_expression_owned(format!("'{name}' is {kind}"));
        found.unwrap().eval(()).unwrap().is_true()
    }

    #[test]
    fn the_engine_has_what_the_language_has() {
        for name in dsrs_jinja::FILTERS {
            assert!(has("filter", name), "{name}");
        }
        for name in dsrs_jinja::TESTS {
            assert!(has("test", name), "{name}");
        }
        let functions: Vec<String> = ENGINE.globals().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(functions, dsrs_jinja::FUNCTIONS);
        for name in dsrs_jinja::METHODS {
            let called =
                ENGINE.compile_expression_owned(format!("x.{name}(1, 2, 3, 4, 5)")).unwrap();
            let fails = |x: Value| called.eval(Value::from_pairs([("x", x)])).unwrap_err().kind();
            let values = [Value::from("a"), Value::from(vec![1]), Value::from_pairs([("a", 1)])];
            let known = values.map(fails).iter().any(|kind| *kind != ErrorKind::UnknownMethod);
            assert!(known, "{name}");
        }
        assert!(!has("filter", "pprint") && !has("filter", "random"));
    }
}
