//! Signatures and `types`: every notation, the canonical one, and the problems of invalid ones.

use dsrs::problem::{At, Problems};
use dsrs::signature::{field_to_payload, read_field, read_signature, signature_to_payload};
use dsrs::types::{TypeScope, defs_to_payload};
use dsrs::value::Payload;

const TYPES: &str =
    r#"{"Person": {"class": {"name": "str", "age": "int?"}}, "Mood": {"enum": {"calm": null}}}"#;

fn scope(json: &str) -> (TypeScope, Problems) {
    let mut problems = Problems::new();
    let types = Payload::from_json(json).unwrap();
    (TypeScope::read(&types, &At::Root.key("types"), &mut problems), problems)
}

fn canonical(json: &str) -> String {
    let (mut scope, mut problems) = scope(TYPES);
    let payload = Payload::from_json(json).unwrap();
    let draft = read_signature(&payload, &mut scope, &At::Root.key("signature"), &mut problems);
    match draft {
        Some(draft) if problems.is_empty() => {
            signature_to_payload(&draft.finish(scope.finish())).to_json()
        }
        _ => problems.to_string(),
    }
}

#[test]
fn three_notations_have_one_canonical_form() {
    let expected = r#"{"instructions":"Read `question` and `people`, then write `answer` and `score`.","inputs":[{"name":"question","type":"str"},{"name":"people","type":"list[Person]"}],"outputs":[{"name":"answer","type":"str"},{"name":"score","type":"float?"}]}"#;
    for spelling in [
        r#""question, people: list[Person] -> answer: str, score: float?""#,
        r#"{"inputs": [{"name": "question"}, {"name": "people", "type": "List[Person]"}], "outputs": [{"name": "answer"}, {"name": "score", "type": "Optional[float]"}]}"#,
        r##"{"input_schema": {"type": "object", "properties": {"question": {"type": "string"}, "people": {"type": "array", "items": {"$ref": "#/$defs/Person"}}}, "required": ["question", "people"]},
            "output_schema": {"type": "object", "properties": {"answer": {"type": "string"}, "score": {"type": "number"}}, "required": ["answer"]}}"##,
        expected,
    ] {
        assert_eq!(canonical(spelling), expected);
    }
    assert_eq!(
        canonical(r#""-> joke""#),
        r#"{"instructions":"Write `joke`.","inputs":[],"outputs":[{"name":"joke","type":"str"}]}"#
    );
}

#[test]
fn all_attributes_of_a_field_survive() {
    let full = r#"{"instructions":"Do.","inputs":[{"name":"q","type":"int","description":"d","alias":"Question","default":3,"constraints":[{"check":"this > 1","label":"big"}],"strict":true,"format":"yaml"}],"outputs":[{"name":"a","type":"str"}]}"#;
    assert_eq!(canonical(full), full);
    let schema = r#"{"instructions": "Do.", "input_schema": {"properties": {"q": {"type": "integer", "description": "d", "default": 3, "x-dsrs-alias": "Question", "x-dsrs-constraints": [{"check": "this > 1", "label": "big"}], "x-dsrs-strict": true, "x-dsrs-format": "yaml"}}},
        "output_schema": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}"#;
    assert_eq!(canonical(schema), full);
}

#[test]
fn errors_of_signatures_have_place_and_column() {
    for (spelling, expected) in [
        (
            r#""question -> ""#,
            "/signature: column 13: expected an output after `->`, found the end (invalid_signature)",
        ),
        (
            r#""question""#,
            "/signature: column 9: expected `,`, `:` or `->`, found the end (invalid_signature)",
        ),
        (
            r#""a b -> c""#,
            "/signature: column 3: expected `,`, `:` or `->`, found `b` (invalid_signature)",
        ),
        (
            r#""a -> b,""#,
            "/signature: column 8: expected a field name, found the end (invalid_signature)",
        ),
        (
            r#""a -> b: list[""#,
            "/signature: column 14: expected a type, found the end (invalid_type)",
        ),
        (
            r#""a: Preson -> b: Moood""#,
            "/signature: column 4: unknown type `Preson`; did you mean `Person`? (invalid_type); /signature: column 17: unknown type `Moood`; did you mean `Mood`? (invalid_type)",
        ),
        (
            r#""a: array -> b""#,
            "/signature: column 4: unknown type `array`; did you mean `list[T]`? (invalid_type)",
        ),
        (
            r#""größe -> b""#,
            "/signature: column 1: `größe` cannot name a field: a name is a letter or `_`, followed by up to 62 letters, digits or `_` (invalid_name)",
        ),
        (
            r#""a, b -> a""#,
            "/signature: column 9: the signature has two fields named `a` (duplicate_name)",
        ),
        (
            r#""a -> completed""#,
            "/signature: column 6: `completed` marks the end of an answer; choose another name (reserved_name)",
        ),
        ("3", "/signature: expected a signature string or object, found an integer (wrong_type)"),
        (
            r#"{"inputs": [], "outputs": []}"#,
            "/signature/outputs: a signature needs at least one output (invalid_signature)",
        ),
        (r#"{"inputs": []}"#, "/signature/outputs: `outputs` is missing (missing_field)"),
        (
            r#"{"inputs": [{"name": "a"}], "outputs": [{"name": "b", "alias": "a"}]}"#,
            "/signature/outputs/0/alias: the fields `a` and `b` would both appear to the LM as `a` (duplicate_name)",
        ),
        (
            r#"{"outputs": [{"name": "b-c"}, {"name": "a", "type": "lst[int]"}, {"nam": "x"}]}"#,
            "/signature/outputs/0/name: `b-c` cannot name a field: a name is a letter or `_`, followed by up to 62 letters, digits or `_` (invalid_name); /signature/outputs/1/type: column 1: expected `list`, `dict` or `tuple` before `[`, found `lst` (invalid_type); /signature/outputs/2/name: `name` is missing (missing_field); /signature/outputs/2/nam: unknown member `nam`; did you mean `name`? (unknown_field)",
        ),
        (
            r#"{"outputs": [{"name": "a", "format": "xml"}]}"#,
            "/signature/outputs/0/format: `format` must be `json`, `yaml` or `text` (invalid_value)",
        ),
        (
            r#"{"outputs": [{"name": "a", "type": "int", "default": "x"}]}"#,
            "/signature/outputs/0/default: expected int, found a string (wrong_type)",
        ),
        (
            r#"{"output_schema": {"type": "string"}}"#,
            "/signature/output_schema: expected an object schema with `properties`, one for each field (invalid_signature)",
        ),
    ] {
        assert_eq!(canonical(spelling), expected, "{spelling}");
    }
}

#[test]
fn a_field_of_a_graph_is_a_type_or_a_field_or_a_schema() {
    for (json, expected) in [
        (r#""int""#, r#""int""#),
        (r#"{"type": "int"}"#, r#""int""#),
        (r#"{}"#, r#""str""#),
        (r#"{"type": "string", "description": "d"}"#, r#"{"type":"str","description":"d"}"#),
        (
            r#"{"type": "array", "items": {"type": "string"}, "description": "d"}"#,
            r#"{"type":"list[str]","description":"d"}"#,
        ),
        (
            r#"{"type": {"type": "integer", "minimum": 1}, "default": 2}"#,
            r#"{"type":"int","default":2,"constraints":[{"assert":"this >= 1","label":"minimum"}]}"#,
        ),
        (r#"{"type": "float", "default": 1}"#, r#"{"type":"float","default":1.0}"#),
        (
            r#"{"type": "int", "defalt": 1}"#,
            "/x/defalt: unknown member `defalt`; did you mean `default`? (unknown_field)",
        ),
    ] {
        let (mut scope, mut problems) = scope(TYPES);
        let payload = Payload::from_json(json).unwrap();
        let field = read_field("x", &payload, &mut scope, &At::Root.key("x"), &mut problems);
        let found = match field {
            Some(field) if problems.is_empty() => field_to_payload(&field, false).to_json(),
            _ => problems.to_string(),
        };
        assert_eq!(found, expected, "{json}");
    }
}

#[test]
fn too_many_types_are_one_problem() {
    let entry = |number| format!(r#""T{number}": {{"class": {{}}}}"#);
    let types: Vec<String> = (0..1001).map(entry).collect();
    let (_, problems) = scope(&format!("{{{}}}", types.join(",")));
    assert_eq!(problems.to_string(), "/types/T1000: a graph has at most 1000 types (too_large)");
}

#[test]
fn types_are_read_and_written_canonically() {
    for (json, expected) in [
        (
            r#"{"B": {"class": {"a": "A?", "n": {"type": "A?", "default": {"x": 1}}}}, "A": {"class": {"x": "float"}, "description": "d"}}"#,
            r#"{"B":{"class":{"a":"A?","n":{"type":"A?","default":{"x":1.0}}}},"A":{"class":{"x":"float"},"description":"d"}}"#,
        ),
        (
            r#"{"M": {"enum": {"a": {"description": "d"}, "b": {"alias": "k"}, "c": {}}}}"#,
            r#"{"M":{"enum":{"a":"d","b":{"alias":"k"},"c":null}}}"#,
        ),
        (
            r##"{"M": {"type": "string", "enum": ["a", "b"]}, "Id": {"type": ["string", "integer"]}, "P": {"properties": {"m": {"$ref": "#/$defs/M"}}}}"##,
            r#"{"M":{"enum":{"a":null,"b":null}},"Id":{"anyOf":[{"type":"string"},{"type":"integer"}]},"P":{"class":{"m":"M?"}}}"#,
        ),
        (
            r##"{"Node": {"$ref": "#/$defs/Node", "$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}}}"##,
            r##"{"Node":{"class":{"next":"Node?"}}}"##,
        ),
        (
            r##"{"L": {"properties": {"next": {"$ref": "#"}}}}"##,
            r##"{"L":{"class":{"next":"L?"}}}"##,
        ),
        (
            r#"{"int": {"class": {}}}"#,
            "/types/int: `int` is a reserved word of the type language; choose another name (reserved_name)",
        ),
        (
            r#"{"a-b": {"class": {}}}"#,
            "/types/a-b: `a-b` cannot name a type: a name is a letter or `_`, followed by up to 62 letters, digits or `_` (invalid_name)",
        ),
        (
            r#"{"N": {"class": {"next": "N"}}}"#,
            "/types/N: `N` has no finite value; make one of the fields in the cycle optional or a list (invalid_type)",
        ),
        (
            r##"{"A": {"$ref": "#/$defs/A"}}"##,
            "/types/A: `A` is defined only by itself; put a list, dict or class in between (invalid_type)",
        ),
        (
            r#"{"A": {"class": {"x": {"type": "int", "default": "no"}, "y": "B"}}}"#,
            "/types/A/class/x/default: expected int, found a string (wrong_type); /types/A/class/y: column 1: unknown type `B`; define it in `types` (invalid_type)",
        ),
        (
            r#"{"A": {"class": {"x": {"type": "int", "alias": "y"}, "y": "int"}}}"#,
            "/types/A/class/y: `y` and `x` would both appear to the LM as `y`; change an alias (duplicate_name)",
        ),
        (
            r#"{"A": {"enum": {}}}"#,
            "/types/A/enum: an enum needs at least one member (invalid_type)",
        ),
        (
            r#"{"A": "int"}"#,
            "/types/A: expected `{\"class\": …}`, `{\"enum\": …}` or a JSON Schema object, found a string (wrong_type)",
        ),
        (r#"{"A": {"class": {}, "enm": 1}}"#, "/types/A/enm: unknown member `enm` (unknown_field)"),
    ] {
        let (scope, problems) = scope(json);
        let found = if problems.is_empty() {
            defs_to_payload(&scope.finish()).to_json()
        } else {
            problems.to_string()
        };
        assert_eq!(found, expected, "{json}");
    }
}
