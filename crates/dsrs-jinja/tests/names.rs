//! The names of a text are those whose absence makes its evaluation fail, in every construct of the language.
#![allow(clippy::panic)]

use dsrs_jinja::{Analysis, AnalysisError, FILTERS, FUNCTIONS, METHODS, TESTS};

#[path = "names/random_texts.rs"]
mod random_texts;

/// The uses in an expression, as `name`, `name.member`, and `?` behind what may be absent.
fn uses(source: &str) -> Vec<String> {
    let analysis =
        Analysis::of_expression(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let shown = analysis.uses().iter().map(|used| {
        let member = used.member.iter().map(|member| format!(".{member}")).collect::<String>();
        format!("{}{member}{}", used.name, if used.may_be_absent { "?" } else { "" })
    });
    shown.collect()
}

fn refusals(source: &str) -> String {
    match Analysis::of_template(source) {
        Err(AnalysisError::Refused(refusals)) => {
            let shown = refusals.iter().map(|refusal| format!("{}: {refusal}", refusal.line));
            shown.collect::<Vec<_>>().join("\n")
        }
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn every_construct_is_searched() {
    for (source, wanted) in [
        ("a", "a"),
        ("a[:1]", "a"),
        ("outputs.answer[:1] == expected.answer[:1]", "outputs.answer expected.answer"),
        ("a[b:c:2]", "a b c"),
        ("a[b]", "a b"),
        ("a[b].c[d.e]", "a b d.e"),
        ("a.b.c", "a.b"),
        ("a['b'].c", "a.b"),
        ("a['b']", "a.b?"),
        ("a[0].b", "a"),
        ("(a or b).c", "a b"),
        ("a if b else c", "a b c"),
        ("a < b <= c", "a b c"),
        ("not -a ** b // c % d", "a b c d"),
        ("a ~ b in c and d not in e", "a b c d e"),
        ("[a, (b, c), {d: e, 'f': g}]", "a b c d e g"),
        ("a|upper|replace(b, c)|join(attribute=d)", "a b c d"),
        ("a is divisibleby(b) and c is not in d", "a b c d"),
        ("a.upper().replace(b.c, d)", "a b.c d"),
        ("range(a, b[1:])|list", "a b"),
        ("dict(x=a, **b)", "a b"),
        ("range > 3 and dict.range", "range dict.range"),
        ("a is defined or b.c is undefined or d.e.f is defined", "a? b.c? d.e"),
        ("a|default(b) ~ c|d('')", "a? b c?"),
        ("a|default(b)|upper ~ a", "a? b a"),
        ("true and none == 'a' ~ 1", ""),
    ] {
        assert_eq!(uses(source).join(" "), wanted, "{source}");
    }
}

#[test]
fn a_loop_defines_names_for_its_body() {
    for (source, wanted) in [
        ("{% for c in t[:2] %}{{ c }}{% endfor %}", "t"),
        ("{% for a in a %}{{ a }}{% else %}{{ a.b }}{% endfor %}", "a"),
        (
            "{% for a in x %}{{ loop.index }}{{ loop.cycle(b, c) }}{% endfor %}{{ loop.last }}",
            "x b c loop",
        ),
        ("{% for a in loop if loop and a %}{% else %}{{ loop }}{% endfor %}", "loop"),
        ("{% for a, (b, c) in x|items %}{{ a ~ b ~ c ~ d }}{% endfor %}", "x d"),
        (
            "{% for a in x %}{% for b in a %}{{ a ~ b }}{% endfor %}{{ b }}{% endfor %}{{ a }}",
            "x b a",
        ),
        ("{% for a in x recursive %}{{ loop(a.b[1:]) }}{{ y }}{% endfor %}", "x y"),
        ("{% if a[1:] %}{{ b }}{% elif c %}{{ d }}{% else %}{{ e }}{% endif %}", "a b c d e"),
        ("{{ a }}{# {{ b }} #}{% raw %}{{ c }}{% endraw %}{{ self }}", "a self"),
    ] {
        let analysis =
            Analysis::of_template(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(analysis.names().join(" "), wanted, "{source}");
    }
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let source = "{{ a|upcase|random }}\n{{ a is bigger and b is callable }}\n\
                  {{ a.upcase() ~ a.format(1) }}{{ lower(a) ~ len(b) }}\n\
                  {{ a|map('upcase')|select('bigger')|rejectattr('x', 'longer') }}\n\
                  {{ a[::-1] ~ a[::b] }}{{ a[0]() }}{{ self.a() }}{{ super() }}{{ loop(a) }}";
    assert_eq!(
        refusals(source),
        "1: there is no filter `upcase`\n\
         1: there is no filter `random`: the same inputs give the same text\n\
         2: there is no test `bigger`\n\
         2: there is no test `callable`: values are data\n\
         3: there is no method `upcase`\n\
         3: there is no method `format`: use the filter: `'%s'|format(value)`\n\
         3: there is no function `lower`\n\
         3: there is no function `len`: use the filter `length`\n\
         4: there is no filter `upcase`\n\
         4: there is no test `bigger`\n\
         4: there is no test `longer`\n\
         5: the step of a slice is a positive number; the filter `reverse` reverses a text or a list\n\
         5: the step of a slice is a positive number; the filter `reverse` reverses a text or a list\n\
         5: a value is called like a function\n\
         5: `self.a()` calls a block, and there are no blocks\n\
         5: there is no function `super`: there are no blocks here\n\
         5: there is no function `loop`: it is called inside of `{% for … recursive %}` only"
    );
    assert!(refusals("{% set a = 1 %}").contains("neither `if` nor `for`"));
}

#[test]
fn the_documentation_lists_everything() {
    let page = include_str!("../../../docs/strategies.md");
    let section = page.split("\n## Expressions\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let row = |begins: &str| {
        let rows = section.lines().filter(|line| line.starts_with(begins)).collect::<Vec<_>>();
        assert!(!rows.is_empty(), "{begins}");
        rows.concat()
    };
    for (rows, names) in [
        ("| Filters of ", FILTERS),
        ("| Tests ", TESTS),
        ("| Methods of ", METHODS),
        ("| Functions ", FUNCTIONS),
    ] {
        let rows =
            if rows == "| Filters of " { row(rows) + &row("| Other filters ") } else { row(rows) };
        let listed: Vec<&str> = rows.split('`').skip(1).step_by(2).collect();
        for name in names {
            assert!(listed.contains(name), "`{name}` is missing in the row {rows}");
        }
        for name in listed.iter().filter(|name| **name != "select" || names == FILTERS) {
            assert!(names.contains(name), "`{name}` does not exist: {rows}");
        }
    }
}
