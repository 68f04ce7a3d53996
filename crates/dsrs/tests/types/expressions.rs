//! Type expressions: every accepted text, its canonical form, and the errors of invalid texts.

use dsrs::types::parse_type_expr;

fn canonical(text: &str) -> String {
    parse_type_expr(text).map_or_else(|error| error.to_string(), |ty| ty.to_string())
}

#[test]
fn every_accepted_spelling_has_one_canonical_form() {
    for (written, expected) in [
        ("str", "str"),
        (" string ", "str"),
        ("integer | number | boolean", "int | float | bool"),
        ("None", "null"),
        ("Any", "any"),
        ("bytes", "bytes"),
        ("error", "error"),
        ("List[int]", "list[int]"),
        ("list[\n  int\n]", "list[int]"),
        ("Dict[str, list[int]]", "dict[str, list[int]]"),
        ("dict[string,int]", "dict[str, int]"),
        ("Tuple[int, str]", "tuple[int, str]"),
        ("tuple[int]", "tuple[int]"),
        ("int?", "int?"),
        ("int??", "int?"),
        ("null?", "null"),
        ("any?", "any"),
        ("any | int", "any"),
        ("int | str?", "int | str | null"),
        ("(int | str)?", "int | str | null"),
        ("null | int", "int?"),
        ("null | int | str", "int | str | null"),
        ("str | int | str", "str | int"),
        ("(str)", "str"),
        ("list[int?]?", "list[int?]?"),
        ("list[(int | str)]", "list[int | str]"),
        ("Optional[str]", "str?"),
        ("Optional[int | str]", "int | str | null"),
        ("Union[int, str, None]", "int | str | null"),
        ("Union[int]", "int"),
        (
            r#"Literal["low", 'high', 3, -4, True, None]"#,
            r#""low" | "high" | 3 | -4 | true | null"#,
        ),
        (r#""low"?"#, r#""low"?"#),
        (r#"'it\'s' | "a\"b" | 'a"b'"#, r#""it's" | "a\"b""#),
        (r#""\u00e9\n\ud83d\ude00\u0000""#, "\"é\\n😀\\u0000\""),
        ("-9223372036854775808", "-9223372036854775808"),
        ("true | false", "true | false"),
        ("{name: str, age: int?}", "{name: str, age: int?}"),
        ("{ }", "{}"),
        ("{list: list[{str: str}]}", "{list: list[{str: str}]}"),
        ("list[Person] | Mood", "list[Person] | Mood"),
    ] {
        assert_eq!(canonical(written), expected, "{written}");
    }
}

#[test]
fn errors_name_the_column_the_expected_and_the_found_token() {
    for (written, expected) in [
        ("", "column 1: expected a type, found the end"),
        ("list", "column 1: `list` needs the type of its elements, as in `list[str]`"),
        ("list[", "column 6: expected a type, found the end"),
        ("list[int", "column 9: expected `,`, `|` or `]`, found the end"),
        (
            "list[int, str]",
            "column 1: `list` has one type argument; it needs the type of its elements, as in `list[str]`",
        ),
        ("list[]", "column 6: expected a type, found `]`"),
        ("\"é\" | list[€]", "column 12: expected a type, found `€`"),
        (
            "dict[int]",
            "column 1: `dict` needs the types of its keys and values, as in `dict[str, int]`",
        ),
        ("str | dict[ int, str]", "column 13: the keys of a dict are `str`, not `int`"),
        ("tuple", "column 1: `tuple` needs its members, as in `tuple[int, str]`"),
        ("tuple[int, ...]", "column 12: expected a type, found `.`"),
        (
            "Literal[str]",
            "column 1: `Literal` accepts strings, integers, true, false and null, not `str`",
        ),
        ("int str", "column 5: expected the end of the type, found `str`"),
        ("int |", "column 6: expected a type, found the end"),
        ("| int", "column 1: expected a type, found `|`"),
        ("\"low", "column 1: expected a type, found a string without a closing quote"),
        (
            "\"\\x\"",
            "column 1: expected a type, found a string with an escape sequence that JSON does not have",
        ),
        ("1.5", "column 1: expected a type, found `1.5`, which is not an integer"),
        (
            "9223372036854775808",
            "column 1: expected a type, found `9223372036854775808`, which does not fit into 64 bits",
        ),
        ("{name}", "column 6: expected `:` and the type of the field, found `}`"),
        ("{name: str, name: int}", "column 13: the field `name` appears twice"),
        ("{\"name\": str}", "column 2: expected a field name, found the string \"name\""),
        ("{a: str", "column 8: expected `,`, `|` or `}`, found the end"),
        ("Set[int]", "column 1: expected `list`, `dict` or `tuple` before `[`, found `Set`"),
        ("naïve", "column 1: `naïve` cannot be the name of a type"),
        ("(int", "column 5: expected `)` or `|`, found the end"),
        ("a -> b", "column 3: expected the end of the type, found `->`"),
    ] {
        assert_eq!(canonical(written), expected, "{written}");
    }
}

#[test]
fn deep_nesting_and_huge_unions_are_errors() {
    let deep = "list[".repeat(100_000);
    assert_eq!(canonical(&deep), "column 321: types nest at most 64 levels deep");
    let parens = "(".repeat(100_000);
    assert_eq!(canonical(&parens), "column 65: types nest at most 64 levels deep");
    let wide: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    assert_eq!(
        canonical(&wide.join("|")),
        "column 1: a union has at most 1000 members; use an enum"
    );
    assert_eq!(canonical(&format!("int{}", "?".repeat(100_000))), "int?");
}
