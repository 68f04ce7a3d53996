//! A table for every op: its inputs, the inferred type, and its output or failure.

use dsrs::value::Payload;

use super::support::{build, graph_of, run};

/// The node, its inputs with their types, their values; then the type of the output and either its
/// JSON, or `!` and a part of the failure.
type Row<'r> = (&'r str, &'r [(&'r str, &'r str)], &'r str, &'r str, &'r str);

async fn check(rows: &[Row<'_>]) {
    for (node, inputs, values, ty, expected) in rows {
        let document = graph_of(node, inputs);
        let program = build(&document).unwrap_or_else(|problems| panic!("{node}: {problems}"));
        let (name, output) = program.graph().outputs().next().unwrap();
        assert_eq!(output.ty.ir.to_string(), *ty, "the type of {node}");
        let outcome = run(&program, values).await;
        match (outcome.outputs, expected.strip_prefix('!')) {
            (Ok(outputs), None) => assert_eq!(outputs[name].to_json(), *expected, "{node}"),
            (Err(failure), Some(part)) => {
                let message = format!("{}: {}", failure.error.kind.code(), failure.error.message);
                assert!(message.contains(part), "{node}: {message}");
                assert_eq!(failure.node.as_deref(), Some("op"));
            }
            (Ok(outputs), Some(_)) => panic!("{node} returned {}", Payload::map(outputs).to_json()),
            (Err(failure), None) => panic!("{node} failed: {failure}"),
        }
    }
}

#[tokio::test]
async fn texts_are_rendered_from_templates_and_slots() {
    check(&[
        (
            r#""strategy": "render", "config": {"template": "{% for p in people %}{{ p.name }} ({{ p.age or '?' }})\n{% endfor %}"}"#,
            &[("people", "list[Person]")],
            r#"{"people": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": null}]}"#,
            "str",
            r#""Ada (36)\nBo (?)\n""#,
        ),
        (
            r#""strategy": "render", "config": {"fstring": "{{{person.name}}} says {words[0]} and {all}"}"#,
            &[("person", "Person"), ("words", "list[str]"), ("all", "list[int]")],
            r#"{"person": {"name": "Ada", "age": 1}, "words": ["hi"], "all": [1, 2]}"#,
            "str",
            r#""{Ada} says hi and [1,2]""#,
        ),
        (
            r#""strategy": "render", "config": {"template": "{{ a + 1 }}"}"#,
            &[("a", "str")],
            r#"{"a": "x"}"#,
            "str",
            "!op_failed: the template: invalid operation",
        ),
        (
            r#""strategy": "format", "config": {"template": "{name:<5}|{price:>9,.2f}|{items:yaml}"}"#,
            &[("name", "str"), ("price", "float"), ("items", "list[str]")],
            r#"{"name": "tea", "price": 1234.5, "items": ["a", "b"]}"#,
            "str",
            r#""tea  | 1,234.50|- a\n- b""#,
        ),
        (
            r#""strategy": "format", "config": {"template": "{maybe!s} {share!s:>8} {words!r} {words[0]!r}"}"#,
            &[("maybe", "str?"), ("share", "float"), ("words", "list[str]")],
            r#"{"maybe": null, "share": 0.00001, "words": ["it's"]}"#,
            "str",
            r#""None    1e-05 [\"it's\"] \"it's\"""#,
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_element_that_is_missing_fails_the_node() {
    let words: &[(&str, &str)] = &[("value", "list[str]")];
    let scores: &[(&str, &str)] = &[("value", "dict[str, int?]")];
    check(&[
        (
            r#""strategy": "element", "config": {"index": 0}"#,
            words,
            r#"{"value": ["a"]}"#,
            "str",
            r#""a""#,
        ),
        (
            r#""strategy": "element", "config": {"index": -2}"#,
            words,
            r#"{"value": ["a", "b"]}"#,
            "str",
            r#""a""#,
        ),
        (
            r#""strategy": "element", "config": {"index": 1}"#,
            words,
            r#"{"value": ["a"]}"#,
            "str",
            "!op_failed: there is no element `[1]`",
        ),
        (
            r#""strategy": "element", "config": {"index": -1}"#,
            words,
            r#"{"value": []}"#,
            "str",
            "!op_failed: there is no element `[-1]`",
        ),
        (
            r#""strategy": "element", "config": {"key": "it's"}"#,
            scores,
            r#"{"value": {"it's": null}}"#,
            "int?",
            "null",
        ),
        (
            r#""strategy": "element", "config": {"key": "b"}"#,
            scores,
            r#"{"value": {"a": 1}}"#,
            "int?",
            "!op_failed: there is no element `['b']`",
        ),
        (
            r#""strategy": "element", "config": {"index": -1}"#,
            &[("value", "tuple[int, bool]")],
            r#"{"value": [1, true]}"#,
            "bool",
            "true",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_template_has_slices_and_optional_names() {
    check(&[
        (
            r#""strategy": "render", "config": {"template": "{{ t[1:] }}{% for c in u[:1] %}({{ c }}){% endfor %}"}"#,
            &[("t", "list[str]"), ("u", "str")],
            r#"{"t": ["a", "b", "c"], "u": "xyz"}"#,
            "str",
            r#""[\"b\",\"c\"](x)""#,
        ),
        (
            r#""strategy": "render", "config": {"template": "{{ a }}{{ note|default('!') }}{% if b is defined %}{{ b }}{% endif %}"}"#,
            &[("a", "str")],
            r#"{"a": "hi"}"#,
            "str",
            r#""hi!""#,
        ),
        (
            r#""strategy": "branch", "config": {"if": "question[:3] == 'Why'"}"#,
            &[("then", "int"), ("else", "int"), ("question", "str")],
            r#"{"then": 1, "else": 2, "question": "Why so?"}"#,
            "int",
            "1",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_template_writes_values_as_slots_do() {
    for (ty, value) in [
        ("bool", "true"),
        ("str?", "null"),
        ("str", r#""a \"text\"\n""#),
        ("int", "-3"),
        ("float", "1.0"),
        ("float", "1e16"),
        ("list[str | null]", r#"["a\n", null]"#),
        ("dict[str, any]", r#"{"b": {"y": 1.5, "x": [true]}, "a": []}"#),
        ("{name: str, age: int?}", r#"{"name": "Ada", "age": null}"#),
        ("bytes", r#""aGkhPw==""#),
    ] {
        let text = |config: &str| {
            let node = format!(r#""strategy": "render", "config": {config}"#);
            let program = build(&graph_of(&node, &[("x", ty)]))
                .unwrap_or_else(|problems| panic!("{problems}"));
            async move { run(&program, &format!(r#"{{"x": {value}}}"#)).await.outputs.unwrap() }
        };
        let slot = text(r#"{"fstring": "{x}"}"#).await;
        assert_eq!(text(r#"{"template": "{{ x }}"}"#).await, slot, "{value}");
        assert_eq!(text(r#"{"template": "{{ x|string }}"}"#).await, slot, "{value}");
        assert_eq!(text(r#"{"template": "{{ [x]|join }}"}"#).await, slot, "{value}");
    }
}

/// A slot is one of Python's f-strings; a template writes JSON.
#[tokio::test]
async fn a_small_float_has_the_notation_of_its_language() {
    for (config, expected) in
        [(r#"{"fstring": "{x}"}"#, "1e-05"), (r#"{"template": "{{ x }}"}"#, "0.00001")]
    {
        let node = format!(r#""strategy": "render", "config": {config}"#);
        let program = build(&graph_of(&node, &[("x", "float")])).unwrap();
        let outputs = run(&program, r#"{"x": 0.00001}"#).await.outputs.unwrap();
        assert_eq!(outputs["text"], Payload::str(expected));
    }
}

#[tokio::test]
async fn texts_are_stripped_and_change_case() {
    check(&[
        (r#""strategy": "strip""#, &[("text", "str")], r#"{"text": " a b\n"}"#, "str", r#""a b""#),
        (
            r#""strategy": "strip", "config": {"characters": "*-"}"#,
            &[("text", "str")],
            r#"{"text": "--*a-b*"}"#,
            "str",
            r#""a-b""#,
        ),
        (r#""strategy": "lower""#, &[("text", "str")], r#"{"text": "ÄB"}"#, "str", r#""äb""#),
        (r#""strategy": "upper""#, &[("text", "Mood")], r#"{"text": "calm"}"#, "str", r#""CALM""#),
    ])
    .await;
}

#[tokio::test]
async fn texts_lists_classes_and_dicts_are_combined() {
    check(&[
        (
            r#""strategy": "concat", "config": {"separator": ", "}"#,
            &[("b", "str"), ("a", "Mood")],
            r#"{"b": "x", "a": "angry"}"#,
            "str",
            r#""x, angry""#,
        ),
        (
            r#""strategy": "concat", "config": {"inputs": ["a", "b"]}"#,
            &[("b", "list[str]"), ("a", "list[int?]")],
            r#"{"b": ["x"], "a": [1, null]}"#,
            "list[int | str | null]",
            r#"[1,null,"x"]"#,
        ),
        (
            r#""strategy": "merge""#,
            &[("one", "Person"), ("two", "{age: float, town: str}")],
            r#"{"one": {"name": "Ada", "age": 3}, "two": {"age": 4.5, "town": "London"}}"#,
            "{name: str, age: float, town: str}",
            r#"{"name":"Ada","age":4.5,"town":"London"}"#,
        ),
        (
            r#""strategy": "merge""#,
            &[("one", "dict[str, int]"), ("two", "dict[str, str]")],
            r#"{"one": {"a": 1, "b": 2}, "two": {"b": "x"}}"#,
            "dict[str, int | str]",
            r#"{"a":1,"b":"x"}"#,
        ),
    ])
    .await;
}

#[tokio::test]
async fn parts_are_selected_and_may_have_a_default() {
    let people = r#"{"value": {"people": [{"name": "Ada", "age": null}]}}"#;
    let ty = "{people: list[Person]}";
    check(&[
        (
            r#""strategy": "select", "config": {"path": "people[0].name"}"#,
            &[("value", ty)],
            people,
            "str?",
            r#""Ada""#,
        ),
        (
            r#""strategy": "select", "config": {"path": "people[0].age", "default": -1}"#,
            &[("value", ty)],
            people,
            "int",
            "-1",
        ),
        (
            r#""strategy": "select", "config": {"path": "people[7].name", "default": "nobody"}"#,
            &[("value", ty)],
            people,
            "str",
            r#""nobody""#,
        ),
        (
            r#""strategy": "select", "config": {"path": "['a b']", "default": 1}"#,
            &[("value", "dict[str, float]")],
            r#"{"value": {}}"#,
            "float",
            "1.0",
        ),
    ])
    .await;
}

#[tokio::test]
async fn values_are_converted_to_other_types() {
    let coerce = |ty: &str| format!(r#""strategy": "coerce", "config": {{"type": "{ty}"}}"#);
    let (int, float, text) = (coerce("int"), coerce("float"), coerce("str"));
    let (person, list) = (coerce("Person"), coerce("list[int]"));
    let bytes = coerce("bytes");
    let schema = r#""strategy": "coerce", "config": {"strict": true, "type": {"type": "integer"}}"#;
    check(&[
        (&int, &[("value", "str")], r#"{"value": "1,200"}"#, "int", "1200"),
        (
            schema,
            &[("value", "str")],
            r#"{"value": "1,200"}"#,
            "int",
            "!parse_error: the text is not a `int`",
        ),
        (&int, &[("value", "float")], r#"{"value": 3.0}"#, "int", "3"),
        (
            &int,
            &[("value", "float")],
            r#"{"value": 3.5}"#,
            "int",
            "!op_failed: 3.5 is not a 64-bit integer",
        ),
        (&float, &[("value", "int")], r#"{"value": 3}"#, "float", "3.0"),
        (&text, &[("value", "list[int]")], r#"{"value": [1, 2]}"#, "str", r#""[1,2]""#),
        (&text, &[("value", "float")], r#"{"value": 1.0}"#, "str", r#""1.0""#),
        (
            &person,
            &[("value", "any")],
            r#"{"value": {"name": "Ada"}}"#,
            "Person",
            r#"{"name":"Ada","age":null}"#,
        ),
        (&person, &[("value", "any")], r#"{"value": 7}"#, "Person", "!parse_error"),
        (&list, &[("value", "str")], r#"{"value": "[1, 2,]"}"#, "list[int]", "[1,2]"),
        (&bytes, &[("value", "str")], r#"{"value": "MTIz"}"#, "bytes", r#""MTIz""#),
        // Its digits would be base64.
        (
            &bytes,
            &[("value", "any")],
            r#"{"value": 1234}"#,
            "bytes",
            "!op_failed: an integer is not `bytes`",
        ),
        (&bytes, &[("value", "any")], r#"{"value": true}"#, "bytes", "!op_failed: a boolean"),
    ])
    .await;
}

#[tokio::test]
async fn a_text_is_parsed_as_an_answer_is() {
    let node = r#""strategy": "parse_structured", "config": {"type": "list[Person]"}"#;
    check(&[
        (
            node,
            &[("text", "str")],
            r#"{"text": "Here:\n```json\n[{name: 'Ada', age: 36}]\n```"}"#,
            "list[Person]",
            r#"[{"name":"Ada","age":36}]"#,
        ),
        (node, &[("text", "str")], r#"{"text": "nobody"}"#, "list[Person]", "!parse_error"),
    ])
    .await;
}

#[tokio::test]
async fn absent_values_have_defaults() {
    check(&[
        (
            r#""strategy": "unwrap_or", "config": {"default": 0}"#,
            &[("value", "int?")],
            r#"{"value": null}"#,
            "int",
            "0",
        ),
        (
            r#""strategy": "unwrap_or", "config": {"default": 0}"#,
            &[("value", "int?")],
            r#"{"value": 3}"#,
            "int",
            "3",
        ),
        (
            r#""strategy": "unwrap_or""#,
            &[("value", "int?"), ("default", "str")],
            r#"{"value": null, "default": "none"}"#,
            "int | str",
            r#""none""#,
        ),
        (
            r#""strategy": "unwrap_or""#,
            &[("value", "null | error"), ("default", "str")],
            r#"{"value": null, "default": "none"}"#,
            "str",
            r#""none""#,
        ),
        (r#""strategy": "is_error""#, &[("value", "any")], r#"{"value": {}}"#, "bool", "false"),
    ])
    .await;
}

#[tokio::test]
async fn numbers_are_computed() {
    let both: &[(&str, &str)] = &[("left", "int"), ("right", "int")];
    let mixed: &[(&str, &str)] = &[("left", "int"), ("right", "float")];
    let most = r#"{"left": 9223372036854775807, "right": 1}"#;
    check(&[
        (r#""strategy": "add""#, both, r#"{"left": 2, "right": 3}"#, "int", "5"),
        (r#""strategy": "add""#, mixed, r#"{"left": 2, "right": 0.5}"#, "float", "2.5"),
        (
            r#""strategy": "add""#,
            both,
            most,
            "int",
            "!op_failed: the result does not fit into 64 bits",
        ),
        (r#""strategy": "add""#, mixed, most, "float", "!invalid_value: input `left`"),
        (r#""strategy": "subtract""#, both, r#"{"left": 2, "right": 3}"#, "int", "-1"),
        (
            r#""strategy": "multiply", "config": {"right": 100}"#,
            &[("left", "float")],
            r#"{"left": 0.5}"#,
            "float",
            "50.0",
        ),
        (r#""strategy": "divide""#, both, r#"{"left": 3, "right": 2}"#, "float", "1.5"),
        (
            r#""strategy": "divide", "config": {"left": 1}"#,
            &[("right", "int")],
            r#"{"right": 0}"#,
            "float",
            "!op_failed: a division by zero",
        ),
        (
            r#""strategy": "multiply""#,
            &[("left", "float"), ("right", "float")],
            r#"{"left": 1e300, "right": 1e300}"#,
            "float",
            "!op_failed: the result is too large",
        ),
    ])
    .await;
}

#[tokio::test]
async fn numbers_are_aggregated() {
    let ints: &[(&str, &str)] = &[("values", "list[int]"), ("more", "int")];
    let given = r#"{"values": [3, 1, 2], "more": 0}"#;
    let none: &[(&str, &str)] = &[("values", "list[float]")];
    check(&[
        (r#""strategy": "sum""#, ints, given, "int", "6"),
        (r#""strategy": "min""#, ints, given, "int", "0"),
        (r#""strategy": "max""#, ints, given, "int", "3"),
        (r#""strategy": "mean""#, ints, given, "float", "1.5"),
        (r#""strategy": "sum""#, none, r#"{"values": []}"#, "float", "0.0"),
        (
            r#""strategy": "max""#,
            none,
            r#"{"values": []}"#,
            "float",
            "!op_failed: there are no numbers",
        ),
        (
            r#""strategy": "mean""#,
            none,
            r#"{"values": []}"#,
            "float",
            "!op_failed: there are no numbers",
        ),
        (
            r#""strategy": "max""#,
            &[("a", "int"), ("b", "float")],
            r#"{"a": 1, "b": 1.5}"#,
            "float",
            "1.5",
        ),
    ])
    .await;
}
