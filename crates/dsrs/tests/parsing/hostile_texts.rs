//! Texts that nest without end: every reader refuses them, or reads them, on a stack of 512 KiB (2 MiB
//! in a build without optimization, whose frames are larger). A stack overflow ends the test process,
//! so nothing here asserts more than that a call returns.

use dsrs::adapter::ChatAdapter;
use dsrs::coerce::Leniencies;
use dsrs::expr::{Condition, Template, calculate};
use dsrs::problem::{At, Problems};
use dsrs::signature::read_signature;
use dsrs::types::{Type, TypeDefs, TypeScope, parse_type_expr};
use dsrs::value::{Map, Payload, parse_json};

/// As long as the largest request body. Shorter without optimization, to save time: what nests is deep
/// enough.
const LARGE: usize = if cfg!(debug_assertions) { 256 << 10 } else { 4 << 20 };

const STACK: usize = if cfg!(debug_assertions) { 2 << 20 } else { 512 << 10 };

/// What compiles Jinja texts needs no more in any build.
const JINJA_STACK: usize = 512 << 10;

/// What opens before a text, what stands in the middle, and what closes behind it.
type Nest = (&'static str, &'static str, &'static str);

/// Runs on a small stack.
fn on_a_stack(size: usize, run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(size).spawn(run).unwrap().join().unwrap();
}

/// Nested texts of about these sizes: small ones pass the limits of length, and large ones do not.
fn texts((open, middle, close): Nest) -> impl Iterator<Item = String> {
    let depths = [8, 16, 24, 32, 64, 100, 128, 200, 400, 650, 900, 1_600, 19_000, 30_000];
    let large = LARGE / (open.len() + close.len()).max(1);
    depths
        .into_iter()
        .chain([large])
        .map(move |depth| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth)))
}

fn try_all(stack: usize, nests: &'static [Nest], read: fn(&str)) {
    for nest in nests {
        for text in texts(*nest) {
            on_a_stack(stack, move || read(&text));
        }
    }
}

/// Expressions that nest in every way of the grammar.
const EXPRESSIONS: &[Nest] = &[
    ("not ", "1", ""),
    ("-", "1", ""),
    ("1 if 1 else ", "1", ""),
    ("1 if ", "1", " else 1"),
    ("", "1", "+1"),
    ("", "1", "~1"),
    ("", "1", "/1"),
    ("1**", "1", ""),
    ("", "1", " and 1"),
    ("1 or ", "1", ""),
    ("", "1", " == 1"),
    ("", "1", " in 1"),
    ("", "this", " is defined"),
    ("", "this", ".a"),
    ("", "this", "[0]"),
    ("", "this", "|e"),
    ("", "this", "()"),
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{1: ", "1", "}"),
    ("[1, ", "1", "]"),
    ("f(", "1", ")"),
    ("f(a=", "1", ")"),
    ("this|map(", "1", ")"),
    ("this[", "1", "]"),
    ("this[1:", "1", "]"),
    ("this is in(", "1", ")"),
    ("not (", "1", ").a"),
    ("-f(not [", "1", "].a|e)"),
    ("'", "(((", "\\'"),
];

#[test]
fn no_expression_exhausts_the_stack() {
    try_all(JINJA_STACK, EXPRESSIONS, |text| {
        drop(Condition::compile(text).map(|condition| condition.holds(&Payload::Int(1))));
        drop(calculate(text));
        let constraint = format!("[{{\"assert\":{}}}]", serde_json::to_string(text).unwrap());
        let definition =
            format!(r#"{{"class":{{"x":{{"type":"int","constraints":{constraint}}}}}}}"#);
        let types = parse_json(format!("{{\"A\":{definition}}}").as_bytes()).unwrap().payload;
        let _ = TypeScope::read(&types, &At::Root, &mut Problems::new());
    });
}

#[test]
fn no_template_exhausts_the_stack() {
    const BLOCKS: &[Nest] = &[
        ("{% if 1 %}", "", "{% endif %}"),
        ("{% for i in x %}", "", "{% endfor %}"),
        ("{% if 1 %}", "", "{% elif 1 %}"),
        ("{% if 1 %}", "", "{% else %}"),
        ("{% elif 1 %}", "", ""),
        ("{{ '}}' ~ (", "1", ") }}"),
        ("{% if '%}' == (", "1", ") %}"),
        ("{# {{ #}", "{{ x }}", ""),
        ("{{", "", ""),
        ("{% if (", "1", ") %}"),
    ];
    let render = |text: &str| {
        drop(Template::compile(text).map(|template| template.render([("x", &Payload::Int(1))])));
    };
    try_all(JINJA_STACK, BLOCKS, render);
    try_all(JINJA_STACK, EXPRESSIONS, |text| {
        for around in [("{{ ", " }}"), ("{% if ", " %}{% endif %}"), ("{{ '}}' ~ ", " }}")] {
            let text = format!("{}{text}{}", around.0, around.1);
            drop(Template::compile(&text).map(|template| template.render([])));
        }
    });
}

#[test]
fn no_type_exhausts_the_stack() {
    const TYPES: &[Nest] = &[
        ("list[", "int", "]"),
        ("(", "int", ")"),
        ("dict[str, ", "int", "]"),
        ("tuple[int, ", "int", "]"),
        ("{a: ", "int", "}"),
        ("int | ", "int", ""),
        ("Optional[", "int", "]"),
        ("", "int", "?"),
        ("", "int", "[]"),
        ("a: list[", "int", "]"),
    ];
    try_all(STACK, TYPES, |text| {
        drop(parse_type_expr(text));
        let mut problems = Problems::new();
        let mut scope = TypeScope::new();
        let signature = Payload::str(format!("a: {text} -> b: {text}"));
        drop(read_signature(&signature, &mut scope, &At::Root, &mut problems));
        drop(problems.to_string());
    });
}

#[test]
fn no_document_exhausts_the_stack() {
    const DOCUMENTS: &[Nest] = &[
        ("[", "1", "]"),
        ("{\"a\":", "1", "}"),
        ("{\"type\":\"array\",\"items\":", "{}", "}"),
        ("{\"anyOf\":[", "{}", "]}"),
        ("{\"properties\":{\"a\":", "{}", "}}"),
        ("{\"additionalProperties\":", "{}", "}"),
        ("{\"list\":", "\"int\"", "}"),
        ("{\"class\":{\"x\":", "\"int\"", "}}"),
        ("{\"$defs\":{\"a\":", "{}", "},\"$ref\":\"#/$defs/a\"}"),
    ];
    try_all(STACK, DOCUMENTS, |text| {
        let Ok(parsed) = parse_json(text.as_bytes()) else { return };
        let mut problems = Problems::new();
        let mut scope = TypeScope::new();
        drop(scope.read_type(&parsed.payload, &At::Root, &mut problems));
        let schemas = Payload::from_json(&format!("{{\"input_schema\":{text}}}"));
        if let Ok(schemas) = schemas {
            drop(read_signature(&schemas, &mut scope, &At::Root, &mut problems));
        }
        drop((problems.to_string(), parsed.payload.to_json()));
    });
}

#[test]
fn no_chain_of_references_exhausts_the_stack() {
    on_a_stack(STACK, || {
        for link in
            [r##"{"$ref":"#/$defs/dN"}"##, r##"{"type":"array","items":{"$ref":"#/$defs/dN"}}"##]
        {
            for length in [100, 900, 3_000] {
                let entry =
                    |n: usize| format!("\"d{n}\":{}", link.replace("dN", &format!("d{}", n + 1)));
                let defs: Vec<String> = (0..length).map(entry).collect();
                let text = format!(
                    "{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{},\"d{length}\":{{}}}}}}",
                    defs.join(",")
                );
                let payload = parse_json(text.as_bytes()).unwrap().payload;
                let (mut problems, mut scope) = (Problems::new(), TypeScope::new());
                let ty = scope.read_type(&payload, &At::Root, &mut problems);
                drop((ty.map(|ty| ty.to_string()), scope.finish()));
            }
        }
    });
}

/// The problems of a JSON Schema.
fn problems_of_schema(text: &str) -> String {
    let payload = parse_json(text.as_bytes()).unwrap().payload;
    let mut problems = Problems::new();
    drop(TypeScope::new().read_type(&payload, &At::Root, &mut problems));
    problems.to_string()
}

#[test]
fn a_short_schema_that_asks_for_endless_reading_is_refused() {
    let next = |n: usize| {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1);
        format!(r#""d{n}":{{"anyOf":[{next},{{"type":"array","items":{next}}}]}}"#)
    };
    let defs: Vec<String> = (0..40).map(next).collect();
    let last = r#""d40":{"type":"string","description":"d","maxLength":3}"#;
    let text = format!(
        r##"{{"properties":{{"a":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{},{last}}}}}"##,
        defs.join(",")
    );
    let found = problems_of_schema(&text);
    assert!(found.contains("more than 100000 would have to be read"), "{found}");
}

#[test]
fn more_definitions_than_a_graph_may_have_are_refused_before_they_are_read() {
    let flat: Vec<String> = (0..8_000).map(|n| format!(r#""d{n}":{{"type":"object"}}"#)).collect();
    let flat = format!(r#"{{"type":"string","$defs":{{{}}}}}"#, flat.join(","));
    assert_eq!(
        problems_of_schema(&flat),
        "/$defs/d1000: a graph has at most 1000 types (too_large)"
    );

    let object =
        |n: usize| format!(r#"{{"title":"T","properties":{{"f{n}":{{"type":"string"}}}}}}"#);
    let alike: Vec<String> = (0..30_000).map(object).collect();
    let alike = format!(r#"{{"anyOf":[{}]}}"#, alike.join(","));
    assert!(problems_of_schema(&alike).contains("at most 10"));
}

/// A union of 900 names, and a list of it.
fn names() -> (Type, Type) {
    let names: Vec<String> = (0..900).map(|n| format!("\"name {n}\"")).collect();
    let read = |ty: &str| Type::new(parse_type_expr(ty).unwrap(), TypeDefs::default().into());
    let union = names.join(" | ");
    (read(&format!("list[{union}]")), read(&format!("list[{union} | int | list[int]]")))
}

/// The work is linear in the text: names in another case are looked up.
#[test]
fn names_in_another_case_are_read_however_many_there_are() {
    const COUNT: usize = 60_000;
    let list = |name: fn(usize) -> String| {
        format!("[{}]", (0..COUNT).map(name).collect::<Vec<_>>().join(","))
    };
    let (union, with_others) = names();
    let members: Vec<String> = (0..COUNT).map(|n| format!(r#""name {n}":null"#)).collect();
    let members = Payload::from_json(&format!(r#"{{"E":{{"enum":{{{}}}}}}}"#, members.join(",")));
    let defs = TypeScope::read(&members.unwrap(), &At::Root, &mut Problems::new()).finish();
    let enumeration = Type::new(parse_type_expr("list[E]").unwrap(), defs);
    for (ty, text) in [
        (&union, list(|n| format!("\"NAME {}\"", n % 900))),
        (&with_others, list(|n| format!("\"Name-{}!\"", n % 900))),
        (&enumeration, list(|n| format!("\"NAME_{n}\""))),
        (&enumeration, list(|n| format!("\"Name {n}. Surely so\""))),
    ] {
        let found = ChatAdapter::parse_value(ty, &text, Leniencies::ALL).unwrap();
        assert_eq!(found.value.as_list().map(<[Payload]>::len), Some(COUNT));
        assert_eq!(found.report.entries().last().unwrap().times, COUNT - 99);
    }
}

#[test]
fn a_list_of_sentences_with_many_names_is_refused_and_says_why() {
    let (union, with_others) = names();
    let sentences: Vec<String> = (0..15_000).map(|n| format!("\"so name {}\"", n % 900)).collect();
    for (ty, kinds) in [(union, ""), (with_others, " or a whole number or a list")] {
        let found =
            ChatAdapter::parse_value(&ty, &format!("[{}]", sentences.join(",")), Leniencies::ALL);
        let found = found.unwrap_err().to_string();
        assert!(found.starts_with("[1111]: expected one of `name 0`"), "{found}");
        let reason = format!(
            "`name 19`, 880 more{kinds}, found `so name 211` (the search for a near name was \
             stopped after 1000000 comparisons; only exact names and names in another case are \
             still found)"
        );
        assert!(found.ends_with(&reason), "{found}");
    }
}

/// The work is linear in the text: with a search for each name, these take minutes.
#[test]
fn every_member_of_a_large_enum_or_class_is_read() {
    const COUNT: usize = 60_000;
    let read = |types: String, ty: &str, text: String| {
        let mut problems = Problems::new();
        let payload = Payload::from_json(&types).unwrap();
        let defs = TypeScope::read(&payload, &At::Root, &mut problems).finish();
        assert!(problems.is_empty(), "{problems}");
        let ty = Type::new(parse_type_expr(ty).unwrap(), defs);
        ChatAdapter::parse_value(&ty, &text, Leniencies::ALL).unwrap().value
    };
    let joined = |one: fn(usize) -> String| (0..COUNT).map(one).collect::<Vec<_>>().join(",");
    let list = |found: Payload| found.as_list().map(<[Payload]>::len);

    let names = format!(r#"{{"E":{{"enum":{{{}}}}}}}"#, joined(|n| format!(r#""name {n}":null"#)));
    let text = format!("[{}]", joined(|n| format!("\"name {n}\"")));
    assert_eq!(list(read(names, "list[E]", text)), Some(COUNT));

    let aliases = joined(|n| format!(r#""name {n}":{{"alias":"a{n}"}}"#));
    let aliases = format!(r#"{{"E":{{"enum":{{{aliases}}}}}}}"#);
    let text = format!("[{}]", joined(|n| format!("\"a{n}\"")));
    assert_eq!(list(read(aliases, "list[E]", text)), Some(COUNT));

    let fields = format!(r#"{{"C":{{"class":{{{}}}}}}}"#, joined(|n| format!(r#""f_{n}":"int""#)));
    let text = format!("{{{}}}", joined(|n| format!(r#""F {n}":1"#)));
    let found = read(fields, "C", text);
    assert_eq!(found.as_map().map(Map::len), Some(COUNT));
}

#[test]
fn no_answer_of_a_model_exhausts_the_stack() {
    const ANSWERS: &[Nest] = &[
        ("[", "1", "]"),
        ("[", "", ""),
        ("{\"a\":", "1", "}"),
        ("{a:", "1", ""),
        ("<a>", "1", "</a>"),
        ("- ", "1", ""),
        ("(", "1", ")"),
    ];
    try_all(STACK, ANSWERS, |text| {
        for ty in ["any", "list[int]", "dict[str, any]", "str"] {
            let ty = Type::new(parse_type_expr(ty).unwrap(), TypeDefs::default().into());
            drop(ChatAdapter::parse_value(&ty, text, Leniencies::ALL));
        }
    });
}
