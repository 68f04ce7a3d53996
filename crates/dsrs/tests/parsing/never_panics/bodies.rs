//! The checks on arbitrary texts, used by the seeded test in this directory and by the targets in
//! `fuzz/`.

use std::sync::{Arc, LazyLock};

use dsrs::adapter::ChatAdapter;
use dsrs::coerce::{Leniencies, ParseReport, coerce};
use dsrs::problem::{At, Problems};
use dsrs::signature::{SignatureSchema, read_signature};
use dsrs::types::{Type, TypeScope};
use dsrs::value::Payload;

/// Definitions for all checks: a recursive class, and an enum with aliases.
const TYPES: &str = r#"{
    "Mood": {"enum": {"calm": {"alias": "at ease"}, "angry": "shouts", "so_so": null}},
    "Person": {"class": {
        "name": "str",
        "age": {"type": "int?", "alias": "years"},
        "mood": {"type": "Mood", "default": "calm"},
        "friends": {"type": "list[Person]", "default": []}}}}"#;

/// The types of single values.
const WANTED: &[&str] = &[
    "any",
    "str?",
    "int",
    "float",
    "bool?",
    "Mood",
    "Person",
    "list[int]",
    "list[str]",
    "list[Person]",
    "list[any]",
    "dict[str, any]",
    "dict[str, float]",
    "tuple[int, str]",
    "int | list[float] | Person",
    r#""low" | "high" | 3 | null"#,
    "{a: int, b: {c: list[{d: str}]}?}",
];

const SIGNATURES: &[&str] = &[
    r#""question -> answer""#,
    r#""question -> reasoning, score: float, tags: list[str]""#,
    r#""question -> person: Person, mood: Mood?""#,
];

static VALUES: LazyLock<Vec<Type>> =
    LazyLock::new(|| WANTED.iter().map(|ty| type_of(ty)).collect());

static SCHEMAS: LazyLock<Vec<Arc<SignatureSchema>>> =
    LazyLock::new(|| SIGNATURES.iter().map(|text| schema_of(text)).collect());

/// A whole answer.
pub(crate) fn sections(text: &str) {
    for schema in SCHEMAS.iter() {
        let _ = ChatAdapter::parse_output(schema, text);
    }
}

/// A text with data anywhere in it.
pub(crate) fn lenient(text: &str) {
    for ty in VALUES.iter().take(2) {
        let _ = coerce(text, ty, Leniencies::ALL, &mut ParseReport::default());
    }
}

/// A text for a type that its first byte selects. The result is parsed again from its JSON without
/// leniency.
pub(crate) fn coerced(text: &str) {
    let chosen = text.bytes().next().map_or(0, usize::from) + text.len();
    let ty = &VALUES[chosen % VALUES.len()];
    let mut report = ParseReport::default();
    let Ok(value) = coerce(text, ty, Leniencies::ALL, &mut report) else { return };
    let holds_text = |payload: &Payload| matches!(payload, Payload::Str(_) | Payload::Null);
    if holds_text(&value) {
        return;
    }
    let again = coerce(&value.to_json(), ty, Leniencies::STRICT, &mut ParseReport::default());
    assert_eq!(again.as_ref(), Ok(&value), "{text:?} as {}", ty.ir);
}

fn type_of(ty: &str) -> Type {
    let mut problems = Problems::new();
    let mut scope = scope(&mut problems);
    let ir = scope.read_type(&Payload::str(ty), &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    Type::new(ir.expect("a type without problems"), scope.finish())
}

fn schema_of(signature: &str) -> Arc<SignatureSchema> {
    let mut problems = Problems::new();
    let mut scope = scope(&mut problems);
    let text = Payload::from_json(signature).expect("JSON");
    let draft = read_signature(&text, &mut scope, &At::Root, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    Arc::new(draft.expect("a signature without problems").finish(scope.finish()))
}

fn scope(problems: &mut Problems) -> TypeScope {
    TypeScope::read(&Payload::from_json(TYPES).expect("JSON"), &At::Root, problems)
}
