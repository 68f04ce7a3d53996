//! Selections of parts of values.

use dsrs::value::Selection;

use super::{json, ty};

#[test]
fn selections_print_as_they_are_written() {
    for text in [
        "a",
        "a.b",
        "a[0].b[12]",
        "a['k'].b",
        "[0]",
        "['k']",
        r"a['it\'s']['\\']",
        r"a['\u{A}']",
        "a['']",
        "a['é ]']",
    ] {
        assert_eq!(Selection::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Selection::parse(r"a['\u{e9}']").unwrap().to_string(), "a['é']");
}

#[test]
fn invalid_selections_have_a_column() {
    for (text, expected) in [
        ("", "column 1: expected a name"),
        ("a.", "column 3: expected a name"),
        ("a..b", "column 3: expected a name"),
        (".a", "column 1: expected a name"),
        ("a[0]b", "column 5: expected `.`, `[` or the end, found `b`"),
        ("a[-1]", "column 3: expected an index of zero or more, or a key in single quotes"),
        ("a[01]", "column 3: an index has no leading zeros"),
        ("a[0", "column 4: expected `]`"),
        ("a[99999999999999999999]", "column 3: the index is too large"),
        ("a['b]", "column 3: the key has no closing quote"),
        (r"a['\n']", r"column 4: expected `\\`, `\'` or `\u{HEX}`"),
        (r"é['\u{D800}']", "column 1: `é` is not a name: use at most 63 letters, digits and `_`"),
        (r"a['\u{D800}']", r"column 4: expected `\u{HEX}` with the code of a character"),
    ] {
        assert_eq!(Selection::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn selections_have_types() {
    for (of, selection, expected) in [
        ("Person", "age", "int"),
        ("Person?", "age", "int?"),
        ("Person | Pet", "name", "str"),
        ("Person | {age: str} | null", "age", "int | str | null"),
        ("list[Person]", "[0]", "Person?"),
        ("list[Person]", "[0].name", "str?"),
        ("tuple[int, str]", "[1]", "str"),
        ("tuple[int, str]?", "[1]", "str?"),
        ("dict[str, int]", "['a b']", "int?"),
        ("dict[str, any]", "['a']", "any"),
        ("Tree", "children[0].children[1].value", "int?"),
        ("{a: Text}", "a", "Text"),
    ] {
        let found = Selection::parse(selection).unwrap().type_in(&ty(of));
        assert_eq!(found.unwrap().ir.to_string(), expected, "{selection} in {of}");
    }
}

#[test]
fn impossible_selections_say_why_and_suggest_a_fix() {
    for (of, selection, path, reason) in [
        ("Person", "ag", "ag", "Person has no field `ag`; did you mean `age`?"),
        ("Person", "name.first", "name.first", "str has no `first`: it has no parts"),
        (
            "Person",
            "['name']",
            "['name']",
            "Person has no `['name']`: a class has fields; write `.name`",
        ),
        ("dict[str, int]", "a", "a", "dict[str, int] has no `a`: a dict has keys; write `['a']`"),
        ("list[int]", "a", "a", "list[int] has no `a`: it has elements, as in `[0]`"),
        ("tuple[int]", "[1]", "[1]", "tuple[int] has no element [1]: it has 1"),
        (
            "any",
            "a",
            "a",
            "any has no `a`: its type is not known; give it a type with a coerce node",
        ),
        (
            "Person | Pet",
            "age",
            "age",
            "Pet has no field `age`; did you mean `name`? (a member of Person | Pet)",
        ),
        (
            "Person | error",
            "age",
            "age",
            "error has no `age`: handle the error first (a member of Person | error)",
        ),
        ("null", "a", "a", "null has no `a`: it is always null"),
    ] {
        let error = Selection::parse(selection).unwrap().type_in(&ty(of)).unwrap_err();
        assert_eq!((error.path.as_str(), error.reason.as_str()), (path, reason));
    }
}

#[test]
fn a_missing_part_is_null() {
    let value = json(r#"{"a":[{"b":1},null],"d":{"x y":2}}"#);
    for (selection, expected) in [
        ("a[0].b", "1"),
        ("a[1].b", "null"),
        ("a[7].b", "null"),
        ("d['x y']", "2"),
        ("d['z']", "null"),
        ("a[0]", r#"{"b":1}"#),
    ] {
        assert_eq!(Selection::parse(selection).unwrap().get(&value).to_json(), expected);
    }
    assert_eq!(Selection::default().get(&value), value);
}
