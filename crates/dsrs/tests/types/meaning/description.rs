//! How types and values are described to an LM.

use std::sync::Arc;

use dsrs::problem::{At, Problems};
use dsrs::types::{
    Type, TypeScope, describe_definitions, describe_type, parse_type_expr, to_json_schema, to_lm,
};

use super::specimens::specimens;
use super::{json, ty};

fn definitions() -> Arc<dsrs::types::TypeDefs> {
    let types = json(
        r#"{
            "Person": {"class": {
                "name": {"type": "str", "description": "full\n name", "alias": "full_name"},
                "mood": "Mood?",
                "tags": {"type": "list[str]", "default": [],
                    "constraints": [{"assert": "this|length < 9"}, {"check": "this|length > 1"}]},
                "friends": "list[Person]"
            }, "description": "somebody"},
            "Mood": {"enum": {"calm": {"description": "at ease", "alias": "CALM"}, "angry": null}}
        }"#,
    );
    let mut problems = Problems::new();
    let scope = TypeScope::read(&types, &At::Root, &mut problems);
    assert_eq!(problems.to_string(), "");
    scope.finish()
}

fn of(text: &str) -> Type {
    Type::new(parse_type_expr(text).unwrap(), definitions())
}

#[test]
fn types_are_described_compactly() {
    for (of, expected) in [
        ("str", "string"),
        ("list[int]?", "int[] | null"),
        ("list[int | str]", "(int | string)[]"),
        ("dict[str, list[Person]]", "map<string, Person[]>"),
        ("tuple[int, \"a\" | true]", "[int, \"a\" | true]"),
        ("{a: int, b: {c: str?}}", "{a: int, b: {c: string | null}}"),
        ("bytes", "base64"),
    ] {
        assert_eq!(describe_type(&ty(of)), expected);
    }
}

#[test]
fn definitions_are_described_once_with_notes_and_aliases() {
    let described = describe_definitions(&[of("list[Person]"), of("Mood"), of("str")]);
    assert_eq!(
        described,
        "\
// somebody
Person = {
  full_name: string // full name
  mood: Mood | null
  tags: string[] // must hold: `this|length < 9`; default []
  friends: Person[]
}
Mood =
  | \"CALM\" // at ease
  | \"angry\""
    );
    assert_eq!(describe_definitions(&[of("str")]), "");
    assert_eq!(describe_definitions(&[ty("Mood")]), "Mood = \"calm\" | \"angry\"");
}

#[test]
fn lms_see_values_under_aliases() {
    let value = json(
        r#"{"name":"a","mood":"calm","tags":["calm"],"friends":[{"name":"b","mood":null,"tags":[],"friends":[]}]}"#,
    );
    assert_eq!(
        to_lm(&value, &of("Person")).to_json(),
        r#"{"full_name":"a","mood":"CALM","tags":["calm"],"friends":[{"full_name":"b","mood":null,"tags":[],"friends":[]}]}"#
    );
    assert!(of("dict[str, Mood]").has_aliases() && !of("list[str]").has_aliases());
    assert!(!ty("Person").has_aliases());
}

#[test]
fn a_description_is_shorter_than_the_json_schema() {
    let tokens = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| tokens.encode_ordinary(text).len();
    let (mut described, mut schemas) = (0, 0);
    for specimen in specimens() {
        let Ok((_, ty)) = specimen.read() else { continue };
        let definitions = describe_definitions(std::slice::from_ref(&ty));
        let notation = count(&format!("{definitions}\n{}", describe_type(&ty)));
        let schema = count(&to_json_schema(&ty).to_json());
        assert!(notation < schema, "{}: {notation} against {schema}", specimen.name);
        described += notation;
        schemas += schema;
    }
    println!("{described} tokens described, {schemas} as JSON Schema");
    assert!(described * 2 < schemas, "{described} against {schemas}");
}
