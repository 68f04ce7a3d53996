//! Operators become filters that mean the same, at every place where an expression may be.

use dsrs_jinja::{expression_with_filters, template_with_filters};
use minijinja::value::Rest;
use minijinja::{Environment, Value};
use proptest::prelude::*;

fn expression(source: &str) -> String {
    let found = expression_with_filters(source).unwrap_or_else(|error| error.to_string());
    found
        .replace("operator_join", "J")
        .replace("operator_multiply", "M")
        .replace("operator_add", "A")
}

#[test]
fn an_operator_becomes_a_filter_in_its_place() {
    for (source, wanted) in [
        ("a ~ b", "a |J( b)"),
        ("a ~ b ~ c", "a |J( b , c)"),
        ("(a ~ b) ~ c", "(a |J( b)) |J( c)"),
        ("a ~ (b ~ c)", "a |J (b |J( c))"),
        ("a*b/c*d", "(a|M(b)/c)|M(d)"),
        ("a * b ~ c + d", "((a |M( b) )|J( c) )|A( d)"),
        ("-a * b ** 2", "(-a )|M( b ** 2)"),
        ("a + 1 + b", "a + 1 + b"),
        ("a - b + c", "a - b + c"),
        ("(a + b)|f(c ~ d)", "(a |A( b))|f(c |J( d))"),
        ("a[1 * e].f(x=c ~ d)[:g * h]", "a[(1 )|M( e)].f(x=c |J( d))[:g |M( h)]"),
        ("[a ~ '~', {'k': b * c}]", "[a |J( '~'), {'k': b |M( c)}]"),
        ("a ~ b if c ~ d == e else f * g", "a |J( b) if c |J( d) == e else f |M( g)"),
        ("x.f(a ~ b) is t(c * d)", "x.f(a |J( b)) is t(c |M( d))"),
        ("a|f ~ b is g", "a|f |J( b is g)"),
        ("not a + b in c", "not a |A( b) in c"),
        ("a ~ (b, c)", "a |J( (b, c))"),
        ("(a)[0] * (b)[1]", "(a)[0] |M( (b)[1])"),
        ("(a - b) * (c)", "(a - b) |M (c)"),
        ("a - b", "a - b"),
    ] {
        assert_eq!(expression(source), wanted, "{source}");
    }
}

#[test]
fn a_template_is_rewritten_within_its_tags_alone() {
    let source = "é ~ {{ a ~ b -}} {# {{ a ~ b }} #} {% raw %}{{ a ~ b }}{% endraw %}\n\
                  {%- for x in y if x ~ a %}{{ x * 2 }}{% else %}{% if a ~ b %}*{% endif %}{% endfor %}";
    let wanted = "é ~ {{ a |operator_join( b) -}} {# {{ a ~ b }} #} {% raw %}{{ a ~ b }}{% endraw %}\n\
                  {%- for x in y if x |operator_join( a) %}{{ x |operator_multiply( 2) }}{% else %}\
                  {% if a |operator_join( b) %}*{% endif %}{% endfor %}";
    assert_eq!(template_with_filters(source).unwrap(), wanted);
}

/// An engine whose filters are the operators.
fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    for (name, source) in
        [("operator_join", "a ~ b"), ("operator_multiply", "a * b"), ("operator_add", "a + b")]
    {
        engine.add_filter(name, move |first: Value, others: Rest<Value>| {
            let plain = Environment::new();
            let operation = plain.compile_expression(source)?;
            others.iter().try_fold(first, |a, b| operation.eval(minijinja::context! { a, b }))
        });
    }
    engine
}

fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("a"), Just("b"), Just("'~*'"), Just("3"), Just("n"), Just("l")];
    leaf.prop_map(str::to_owned).prop_recursive(5, 24, 3, |inner| {
        let operators =
            prop::sample::select(vec!["~", "*", "+", "-", "/", "//", "%", "**", "==", "in", "and"]);
        prop_oneof![
            4 => (inner.clone(), operators, inner.clone())
                .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            2 => inner.clone().prop_map(|inside| format!("({inside})")),
            1 => inner.clone().prop_map(|inside| format!("-({inside})")),
            1 => inner.clone().prop_map(|inside| format!("({inside})|string")),
            1 => (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("[{one},{two}][0]")),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(|(yes, test, no)| format!("({yes} if {test} else {no})")),
        ]
    })
}

proptest! {
    #[test]
    fn the_result_is_that_of_the_operators(source in texts()) {
        let engine = engine();
        let values = || minijinja::context! { a => "x", b => "yz", n => 2, l => vec![1, 2] };
        let result = |source: &str| {
            let found = engine.compile_expression(source).and_then(|found| found.eval(values()));
            found.map(|value| value.to_string()).map_err(|error| error.kind())
        };
        let rewritten = expression_with_filters(&source);
        prop_assume!(rewritten.is_ok());
        let rewritten = rewritten.unwrap();
        prop_assert_eq!(result(&source), result(&rewritten), "{}", rewritten);
    }
}
