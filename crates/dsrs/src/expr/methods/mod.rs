//! Methods of values, as in Python. Values are data, so a member is never called.

mod text;
mod text_parts;

use minijinja::value::{ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use self::text::call_text;
use super::work::spend_elements;

/// Adds the methods to an engine.
pub(super) fn add_methods(engine: &mut Environment<'_>) {
    engine.set_unknown_method_callback(call);
}

fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    spend_elements(state, std::slice::from_ref(value))?;
    spend_elements(state, arguments)?;
    let result = match (value.as_str(), value.kind()) {
        (Some(text), _) => call_text(text, method, arguments)?,
        (None, ValueKind::Map) => call_map(state, value, method, arguments)?,
        (None, ValueKind::Seq | ValueKind::Iterable) => call_list(value, method, arguments)?,
        _ => return Err(ErrorKind::UnknownMethod.into()),
    };
    spend_elements(state, std::slice::from_ref(&result))?;
    Ok(result)
}

fn call_map(
    state: &mut State<'_, '_>,
    map: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    match method {
        "items" => {
            let () = from_args(arguments)?;
            state.apply_filter("items", std::slice::from_ref(map))
        }
        "keys" => {
            let () = from_args(arguments)?;
            Ok(map.try_iter()?.collect())
        }
        "values" => {
            let () = from_args(arguments)?;
            map.try_iter()?.map(|name| map.get_item(&name)).collect::<Result<Value, _>>()
        }
        "get" => {
            let (name, default): (&Value, Option<&Value>) = from_args(arguments)?;
            let found = map.get_item(name)?;
            let absent = || default.cloned().unwrap_or_else(|| Value::from(()));
            Ok(if found.is_undefined() { absent() } else { found })
        }
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

fn call_list(list: &Value, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    match method {
        "count" => {
            let (wanted,): (&Value,) = from_args(arguments)?;
            Ok(Value::from(list.try_iter()?.filter(|element| element == wanted).count()))
        }
        "index" => {
            let (wanted,): (&Value,) = from_args(arguments)?;
            let found = list.try_iter()?.position(|element| element == *wanted);
            let reason =
                || Error::new(ErrorKind::InvalidOperation, "`index`: the list has no such element");
            found.map(Value::from).ok_or_else(reason)
        }
        _ => Err(ErrorKind::UnknownMethod.into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::expr::Template;
    use crate::value::Payload;

    fn render(source: &str) -> String {
        let x = Payload::from_json(r#"{"b": 1, "items": [2, 3, 2], "a": null}"#).unwrap();
        let template = Template::compile(&format!("{{{{ {source} }}}}")).unwrap();
        template.render([("x", &x)]).unwrap_or_else(|error| error.reason)
    }

    #[test]
    fn dicts_and_lists_have_the_methods_of_python() {
        for (source, wanted) in [
            ("x.items()", r#"[["b",1],["items",[2,3,2]],["a",null]]"#),
            ("x.keys()", r#"["b","items","a"]"#),
            ("x.values()|first", "1"),
            ("x.get('b')", "1"),
            ("x.get('c')", "null"),
            ("x.get('c', 'none')", "none"),
            ("x.items", "[2,3,2]"),
            ("x.items.count(2)", "2"),
            ("x['items'].index(3)", "1"),
        ] {
            assert_eq!(render(source), wanted, "{source}");
        }
        assert!(render("x.items.index(9)").contains("no such element"));
        assert!(render("x.b.upper()").contains("number has no method named upper"));
        assert!(render("x.upper()").contains("map has no method named upper"));
    }
}
