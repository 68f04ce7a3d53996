//! What an LM is told of types, and how it sees values.

use std::sync::Arc;

use dsrs::problem::{At, Problems};
use dsrs::types::{Type, TypeScope, parse_type_expr, tell, tell_defs, to_lm};

use crate::{json, ty};

fn described() -> Arc<dsrs::types::TypeDefs> {
    let types = json(
        r#"{
            "Person": {"class": {
                "name": {"type": "str", "description": "full\n name", "alias": "full_name"},
                "mood": "Mood?",
                "tags": {"type": "list[str]", "default": []},
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
    Type::new(parse_type_expr(text).unwrap(), described())
}

#[test]
fn types_are_told_compactly() {
    for (of, expected) in [
        ("str", "string"),
        ("list[int]?", "int[] | null"),
        ("list[int | str]", "(int | string)[]"),
        ("dict[str, list[Person]]", "map<string, Person[]>"),
        ("tuple[int, \"a\" | true]", "[int, \"a\" | true]"),
        ("{a: int, b: {c: str?}}", "{a: int, b: {c: string | null}}"),
        ("bytes", "base64"),
    ] {
        assert_eq!(tell(&ty(of)), expected);
    }
}

#[test]
fn definitions_are_told_once_with_descriptions_and_aliases() {
    let told = tell_defs(&[of("list[Person]"), of("Mood"), of("str")]);
    assert_eq!(
        told,
        "\
// somebody
Person = {
  full_name: string // full name
  mood: Mood | null
  tags: string[] // default []
  friends: Person[]
}
Mood =
  | \"CALM\" // at ease
  | \"angry\""
    );
    assert_eq!(tell_defs(&[of("str")]), "");
    assert_eq!(tell_defs(&[ty("Mood")]), "Mood = \"calm\" | \"angry\"");
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
