//! The operators `~`, `*` and `+`, as the filters that `dsrs_jinja` makes of them. `~` writes values as templates do, and
//! what would be too long is refused before it is made.

use std::sync::LazyLock;

use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, Value};

use super::value_text::{text_of, within};
use super::work::{ELEMENT, add_filter, add_shallow_filter};

/// The engine as it is, for what the operators compute.
static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

/// Adds the operators to an engine.
pub(super) fn add_operators(engine: &mut Environment<'_>) {
    add_filter(engine, dsrs_jinja::JOIN, Value::from_function(join));
    add_shallow_filter(engine, dsrs_jinja::MULTIPLY, Value::from_function(multiply));
    add_shallow_filter(engine, dsrs_jinja::ADD, Value::from_function(add));
}

fn join(first: &Value, others: Rest<Value>) -> Result<String, Error> {
    let mut text = text_of(first)?;
    for other in others.iter() {
        text.push_str(&text_of(other)?);
        within(text.len())?;
    }
    Ok(text)
}

fn multiply(first: Value, others: Rest<Value>) -> Result<Value, Error> {
    others.iter().try_fold(first, |product, factor| {
        for (repeated, times) in [(&product, factor), (factor, &product)] {
            if let (Some(size), Some(times)) = (size(repeated), times.as_usize()) {
                within(size.saturating_mul(times))?;
            }
        }
        compute("a * b", product, factor)
    })
}

fn add(first: Value, others: Rest<Value>) -> Result<Value, Error> {
    others.iter().try_fold(first, |sum, other| {
        let sizes = [size(&sum), size(other)].map(Option::unwrap_or_default);
        within(sizes[0].saturating_add(sizes[1]))?;
        compute("a + b", sum, other)
    })
}

/// The bytes of a text, or of a list without the contents of its elements.
fn size(value: &Value) -> Option<usize> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => Some(text.len()),
        (None, ValueKind::Seq | ValueKind::Iterable) => {
            value.len().map(|n| n.saturating_mul(ELEMENT))
        }
        _ => None,
    }
}

/// The result of the engine. An error has the place of the filter instead of one here.
fn compute(operation: &str, a: Value, b: &Value) -> Result<Value, Error> {
    let values = Value::from_pairs([("a", a), ("b", b.clone())]);
    let result = PLAIN.compile_expression(operation)?.eval(values);
    result.map_err(|error| Error::new(error.kind(), error.detail().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::expr::Template;
    use crate::value::Payload;

    fn render(source: &str) -> String {
        let values = Payload::from_json(
            r#"{"f": 1.0, "n": null, "t": true, "l": ["a", 2], "d": {"k": "v"}, "s": "é", "long": 1e22}"#,
        );
        let template = Template::compile(source).unwrap();
        template.render([("x", &values.unwrap())]).unwrap_or_else(|error| error.reason)
    }

    #[test]
    fn a_joined_value_is_written_as_the_template_writes_it() {
        for member in ["f", "n", "t", "l", "d", "s", "long", "absent"] {
            let alone = render(&format!("{{{{ x.{member} }}}}"));
            assert_eq!(render(&format!("{{{{ x.{member} ~ '' }}}}")), alone, "{member}");
            assert_eq!(render(&format!("{{{{ x.{member}|string }}}}")), alone, "{member}");
        }
        assert_eq!(render("{{ 'a' ~ none ~ 1.0 ~ true ~ [1, 'b'] }}"), "anull1.0true[1,\"b\"]");
    }

    #[test]
    fn operators_compute_what_they_compute() {
        for (source, wanted) in [
            ("2 * 3 + x.f", "7.0"),
            ("'ab' * 2 + 'c'", "ababc"),
            ("2 * 'ab'", "abab"),
            ("[1] + x.l + [2]", "[1,\"a\",2,2]"),
            ("(1, 2) * 2", "[1,2,1,2]"),
            ("'a' * 0 ~ 2 * 3 * 4", "24"),
        ] {
            assert_eq!(render(&format!("{{{{ {source} }}}}")), wanted, "{source}");
        }
        let wrong = render("\n{{ x.s + x.f }}");
        assert!(
            wrong.contains("unsupported types string and number") && wrong.contains(":2"),
            "{wrong}"
        );
    }

    #[test]
    fn brackets_of_a_text_count_once() {
        for (open, close) in [("(", " + x.f)"), ("(", " ~ 'b')"), ("('a' ~ ", ")")] {
            let source = format!("{{{{ {}'1'|float{} }}}}", open.repeat(15), close.repeat(15));
            assert!(!render(&source).contains("nests too deep"), "{source}");
        }
    }

    #[test]
    fn what_would_be_too_long_is_refused() {
        for source in [
            "('x' * 99999999)|length",
            "(99999999 * 'x')|length",
            "('x' * 5000 * 5000)|length",
            "((1, 2) * 9999999)|length",
            "([1] * 99999999)|length",
            "(('x' * 4000000) + ('x' * 4000000))|length",
            "(('x' * 4000000) ~ ('x' * 4000000))|length",
        ] {
            let refused = render(&format!("{{{{ {source} }}}}"));
            assert!(refused.contains("more than 4194304 bytes"), "{source}: {refused}");
        }
    }
}
