//! JSON Schemas as types: the types they become, the definitions they add, the problems and their
//! places, and round trips.

use std::sync::Arc;

use dsrs::problem::{At, Problems};
use dsrs::types::{
    Class, ClassField, Constraint, ConstraintKind, Enum, EnumMember, Literal, Type, TypeDef,
    TypeDefs, TypeIR, TypeScope, defs_to_payload, parse_type_expr, to_json_schema,
};
use dsrs::value::Payload;
use proptest::prelude::*;

/// The type and the definitions that it adds, or the problems.
fn read(json: &str) -> String {
    let payload = Payload::from_json(json).unwrap();
    let mut problems = Problems::new();
    let mut scope = TypeScope::new();
    let ty = scope.read_type(&payload, &At::Root.key("person"), &mut problems);
    match ty {
        Some(ty) if problems.is_empty() => {
            let defs = scope.finish();
            if defs.0.is_empty() {
                ty.to_string()
            } else {
                format!("{ty} {}", defs_to_payload(&defs).to_json())
            }
        }
        _ => problems.to_string(),
    }
}

#[test]
fn schemas_become_types() {
    for (schema, expected) in [
        (r#"{}"#, "any"),
        (r#"{"type": "string", "title": "T", "examples": ["x"]}"#, "str"),
        (r#"{"type": ["string", "null"]}"#, "str?"),
        (r#"{"type": "integer", "format": "int64"}"#, "int"),
        (r#"{"type": "number"}"#, "float"),
        (r#"{"type": "string", "format": "byte"}"#, "bytes"),
        (r#"{"type": "string", "contentEncoding": "base64"}"#, "bytes"),
        (r#"{"type": "array", "items": {"type": "boolean"}}"#, "list[bool]"),
        (r#"{"type": "array"}"#, "list[any]"),
        (
            r#"{"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2, "maxItems": 2}"#,
            "tuple[str, any]",
        ),
        (r#"{"type": "object"}"#, "dict[str, any]"),
        (r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#, "dict[str, int]"),
        (r#"{"type": "object", "additionalProperties": false}"#, "{}"),
        (r#"{"enum": ["low", "high"]}"#, r#""low" | "high""#),
        (r#"{"enum": ["low", 3, true, null]}"#, r#""low" | 3 | true | null"#),
        (r#"{"type": "string", "const": "low"}"#, r#""low""#),
        (
            r#"{"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}"#,
            "int | str | null",
        ),
        (r#"{"oneOf": [{"type": "integer"}, {"type": "null"}]}"#, "int?"),
        (r#"{"allOf": [{"type": "integer"}]}"#, "int"),
        (r#"{"type": "integer", "nullable": true}"#, "int?"),
        (r#"{"x-dsrs-type": "error"}"#, "error"),
        (
            r#"{"properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["b"]}"#,
            "{b: str, a: int?}",
        ),
        (
            r##"{"$ref": "#/$defs/P", "$defs": {"P": {"type": "object", "properties": {"next": {"$ref": "#/$defs/P"}}}}}"##,
            r#"P {"P":{"class":{"next":"P?"}}}"#,
        ),
        (
            r##"{"title": "Tree", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}"##,
            r#"Tree {"Tree":{"class":{"kids":"list[Tree]"}}}"#,
        ),
        (
            r##"{"$ref": "#/$defs/M", "$defs": {"M": {"type": "string", "enum": ["a", "b"], "title": "M"}}}"##,
            r#"M {"M":{"enum":{"a":null,"b":null}}}"#,
        ),
    ] {
        assert_eq!(read(schema), expected, "{schema}");
    }
}

#[test]
fn schemas_that_no_expression_can_represent_become_definitions() {
    assert_eq!(
        read(
            r#"{"type": "object", "properties": {
            "age": {"type": "integer", "minimum": 0, "description": "in years"},
            "mail": {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}], "default": null, "format": "email"},
            "home": {"type": "object", "properties": {"zip": {"type": "string", "x-dsrs-alias": "code"}}, "required": ["zip"]}},
            "required": ["age", "home"]}"#
        ),
        concat!(
            r#"Person {"Home":{"class":{"zip":{"type":"str","alias":"code"}}},"#,
            r#""Person":{"class":{"age":{"type":"int","description":"in years","constraints":[{"assert":"this >= 0","label":"minimum"}]},"#,
            r#""mail":{"type":"str?","description":"format: email","default":null,"constraints":[{"assert":"this is none or this|length <= 9","label":"maxLength"}]},"#,
            r#""home":"Home"}}}"#
        )
    );
    assert_eq!(
        read(
            r#"{"type": "array", "items": {"title": "mood word", "enum": ["a"], "description": "d"}}"#
        ),
        r#"list[MoodWord] {"MoodWord":{"enum":{"a":null},"description":"d"}}"#
    );
}

#[test]
fn every_unsupported_keyword_is_reported() {
    for (schema, expected) in [
        (
            r#"{"type": "text"}"#,
            "/person/type: expected one of string, integer, number, boolean, null, array and object, found `text` (invalid_type)",
        ),
        (
            r#"{"type": "string", "pattern": "^a"}"#,
            "/person/pattern: `pattern` is not supported here; only a field can have it (invalid_type)",
        ),
        (
            r#"{"properties": {"a": {"type": "string", "pattern": "("}}}"#,
            "/person/properties/a/pattern: not a regular expression: unclosed group (invalid_type)",
        ),
        (
            r#"{"type": "object", "patternProperties": {"^a": {}}}"#,
            "/person/patternProperties: `patternProperties` is not supported by any type; remove it, or express it as a constraint (invalid_type)",
        ),
        (
            r#"{"type": "string", "minimum": 1}"#,
            "/person/minimum: `minimum` does not apply to this `type`; remove it or change the type (invalid_type); /person/minimum: `minimum` is not supported here; only a field can have it (invalid_type)",
        ),
        (
            r#"{"type": "array", "items": {"type": "string", "description": "d"}}"#,
            "/person/items/description: `description` is not supported here; only a field can have it (invalid_type)",
        ),
        (
            r#"{"type": "integer", "default": 3}"#,
            "/person/default: `default` is not supported here; only a field can have it (invalid_type)",
        ),
        (
            r#"{"typ": "string"}"#,
            "/person/typ: unknown keyword `typ`; did you mean `type`? (unknown_field)",
        ),
        (
            r##"{"$ref": "#/$defs/Q"}"##,
            "/person/$ref: nothing is defined at `#/$defs/Q` (invalid_type)",
        ),
        (
            r#"{"$ref": "http://x/y"}"#,
            "/person/$ref: `http://x/y` is not supported; a reference is `#` or `#/$defs/NAME` (invalid_type)",
        ),
        (
            r#"{"allOf": [{}, {}]}"#,
            "/person/allOf: `allOf` of more than one schema is not supported (invalid_type)",
        ),
        (r#"{"enum": []}"#, "/person/enum: `enum` must be a non-empty array (invalid_type)"),
        (
            r#"{"enum": [1.5]}"#,
            "/person/enum/0: a number cannot be a literal; use a string, an integer, true, false or null (invalid_type)",
        ),
        (
            r#"{"properties": {"a-b": {}}}"#,
            "/person/properties/a-b: `a-b` cannot name a field: a name is a letter or `_`, followed by up to 62 letters, digits or `_` (invalid_name)",
        ),
        (
            r#"{"properties": {"a": {"type": "integer", "default": "x"}}}"#,
            "/person/properties/a/default: expected int, found a string (wrong_type)",
        ),
        (
            r#"{"properties": {}, "required": ["a"]}"#,
            "/person/required/0: `a` is required but not in `properties` (invalid_type)",
        ),
        (
            r##"{"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"n": {"$ref": "#/$defs/N"}}, "required": ["n"]}}}"##,
            "/person/$defs/N: `N` has no finite value; make one of the fields in the cycle optional or a list (invalid_type)",
        ),
        (
            r##"{"anyOf": [{"$ref": "#"}, {"type": "string"}]}"##,
            "/person: `Person` is defined only by itself; put a list, dict or class in between (invalid_type)",
        ),
    ] {
        assert_eq!(read(schema), expected, "{schema}");
    }
}

#[test]
fn definitions_with_one_name_are_shared_or_renamed() {
    let mut scope = TypeScope::new();
    let mut problems = Problems::new();
    let mut names = Vec::new();
    for kind in ["string", "integer", "string", "integer", "boolean"] {
        let schema = format!(
            r##"{{"$ref": "#/$defs/P", "$defs": {{"P": {{"properties": {{"x": {{"type": "{kind}"}}, "q": {{"$ref": "#/$defs/P"}}}}, "required": ["x"]}}}}}}"##
        );
        let schema = Payload::from_json(&schema).unwrap();
        names.push(scope.read_type(&schema, &At::Root, &mut problems).unwrap().to_string());
    }
    assert_eq!(problems.to_string(), "");
    assert_eq!(names, ["P", "P_2", "P", "P_2", "P_3"]);
    assert_eq!(
        defs_to_payload(&scope.finish()).to_json(),
        r#"{"P":{"class":{"x":"str","q":"P?"}},"P_2":{"class":{"x":"int","q":"P_2?"}},"P_3":{"class":{"x":"bool","q":"P_3?"}}}"#
    );
}

fn names() -> impl Strategy<Value = Arc<str>> {
    "[a-z][a-z0-9_]{0,5}x".prop_map(Arc::from)
}

const NAMES: [&str; 6] = ["Tree", "Mood", "Level", "Even", "Odd", "Json"];

/// Types over the definitions of these names.
fn types() -> impl Strategy<Value = TypeIR> {
    let leaf = prop_oneof![
        Just(TypeIR::Str),
        Just(TypeIR::Int),
        Just(TypeIR::Float),
        Just(TypeIR::Bool),
        Just(TypeIR::Null),
        Just(TypeIR::Any),
        Just(TypeIR::Bytes),
        Just(TypeIR::Error),
        any::<String>().prop_map(|text| TypeIR::Literal(Literal::Str(text.into()))),
        any::<i64>().prop_map(|number| TypeIR::Literal(Literal::Int(number))),
        any::<bool>().prop_map(|flag| TypeIR::Literal(Literal::Bool(flag))),
        prop::sample::select(&NAMES[..]).prop_map(|name| TypeIR::Named(name.into())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(TypeIR::list),
            inner.clone().prop_map(TypeIR::dict),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| TypeIR::Tuple(all.into())),
            prop::collection::vec(inner.clone(), 1..4).prop_map(TypeIR::union),
            prop::collection::vec((names(), inner), 0..4).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, ty)| (name, ClassField::of(ty)));
                TypeIR::Class(Arc::new(Class { description: None, fields: fields.collect() }))
            }),
        ]
    })
}

fn described() -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of(any::<String>().prop_map(Arc::from))
}

/// A class with one member and a default that fits its type.
fn holding(name: &str, ty: TypeIR) -> Class {
    let default = if let TypeIR::List(_) = ty { Payload::list(vec![]) } else { Payload::Null };
    let field = ClassField { default: Some(default), ..ClassField::of(ty) };
    Class { description: None, fields: [(Arc::from(name), field)].into_iter().collect() }
}

/// The definitions that generated types refer to; `tree` has a member of a generated type.
fn defs(ty: TypeIR, described: Option<Arc<str>>, strict: bool) -> Arc<TypeDefs> {
    let mut tree = Class { description: described.clone(), ..Class::default() };
    tree.fields.insert("kids".into(), ClassField::of(TypeIR::list(TypeIR::Named("Tree".into()))));
    let rule = Constraint {
        kind: ConstraintKind::Check,
        expression: "this".into(),
        label: described.clone(),
    };
    let any_field = ClassField {
        description: described.clone(),
        alias: Some("other".into()),
        constraints: vec![rule],
        strict,
        ..ClassField::of(ty.optional())
    };
    tree.fields.insert("value".into(), any_field);
    let float = ClassField { default: Some(Payload::Float(1.0)), ..ClassField::of(TypeIR::Float) };
    tree.fields.insert("weight".into(), float);
    let mut mood = Enum { description: described.clone(), ..Enum::default() };
    mood.members.insert("calm".into(), EnumMember { description: described.clone(), alias: None });
    mood.members.insert(
        "very angry".into(),
        EnumMember { description: described, alias: Some("k".into()) },
    );
    let level = parse_type_expr(r#""low" | "high""#).unwrap();
    let json = parse_type_expr("str | float | list[Json] | dict[str, Json] | null").unwrap();
    let all = [
        ("Tree", TypeDef::Class(tree)),
        ("Mood", TypeDef::Enum(mood)),
        ("Level", TypeDef::Alias(level)),
        ("Even", TypeDef::Class(holding("Odd", TypeIR::Named("Odd".into()).optional()))),
        ("Odd", TypeDef::Class(holding("Even", TypeIR::list(TypeIR::Named("Even".into()))))),
        ("Json", TypeDef::Alias(json)),
    ];
    Arc::new(TypeDefs(all.into_iter().map(|(name, def)| (Arc::from(name), def)).collect()))
}

/// The type and every definition.
fn with_all(ty: TypeIR) -> TypeIR {
    let named = NAMES.map(|name| TypeIR::Named(name.into()));
    TypeIR::Tuple([ty].into_iter().chain(named).collect())
}

proptest! {
    #[test]
    fn a_printed_type_parses_to_the_same_type(ty in types()) {
        prop_assert_eq!(parse_type_expr(&ty.to_string()).unwrap(), ty);
    }

    #[test]
    fn a_printed_type_with_definitions_reads_as_the_same_type(
        ty in types(), inner in types(), described in described(), strict in any::<bool>()
    ) {
        let defs = defs(inner, described, strict);
        let posted = Payload::from_json(&defs_to_payload(&defs).to_json()).unwrap();
        let mut problems = Problems::new();
        let mut scope = TypeScope::read(&posted, &At::Root, &mut problems);
        let read = scope.read_type(&ty.to_string().as_str().into(), &At::Root, &mut problems);
        prop_assert_eq!(problems.to_string(), "");
        prop_assert_eq!(read, Some(ty));
        prop_assert_eq!(scope.finish(), defs);
    }

    #[test]
    fn any_text_is_a_type_or_an_error_with_a_valid_column(text in any::<String>()) {
        if let Err(error) = parse_type_expr(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column));
        }
    }

    #[test]
    fn random_tokens_never_crash_the_parser(text in r#"([ \[\]{}(),:|?"'\\-]|list|dict|str|Literal|int|a|9){0,40}"#) {
        if let Ok(ty) = parse_type_expr(&text) {
            prop_assert_eq!(parse_type_expr(&ty.to_string()).unwrap(), ty);
        }
    }

    #[test]
    fn a_written_schema_reads_as_the_same_type(
        ty in types(), inner in types(), described in described(), strict in any::<bool>()
    ) {
        let whole = Type::new(with_all(ty), defs(inner, described, strict));
        let schema = Payload::from_json(&to_json_schema(&whole).to_json()).unwrap();
        let mut problems = Problems::new();
        let mut scope = TypeScope::new();
        let read = scope.read_type(&schema, &At::Root, &mut problems);
        prop_assert_eq!(problems.to_string(), "");
        prop_assert_eq!(read, Some(whole.ir));
        let found = scope.finish();
        for (name, def) in &whole.defs.0 {
            prop_assert_eq!(found.get(name), Some(def));
        }
    }

    #[test]
    fn the_canonical_types_member_reads_as_the_same_types(
        inner in types(), described in described(), strict in any::<bool>()
    ) {
        let defs = defs(inner, described, strict);
        let json = defs_to_payload(&defs).to_json();
        let mut problems = Problems::new();
        let scope = TypeScope::read(&Payload::from_json(&json).unwrap(), &At::Root, &mut problems);
        prop_assert_eq!(problems.to_string(), "");
        prop_assert_eq!(scope.finish(), defs);
    }
}
