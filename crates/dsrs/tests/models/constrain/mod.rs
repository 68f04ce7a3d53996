//! Constrained decoding: a grammar whose texts are all parsed without leniency, a JSON Schema of
//! the outputs, and servers that refuse them.

mod gbnf;
mod refusal;

use std::sync::Arc;

use dsrs::adapter::ChatPlan;
use dsrs::coerce::LeniencyKind;
use dsrs::lm::{ConstraintForm, DecodingConstraint};
use dsrs::signature::SignatureSchema;
use proptest::prelude::*;

use self::gbnf::Grammar;
use crate::story::{json, signature};

const TYPES: &str = r##"{
    "Mood": {"enum": {"calm": {"alias": "at ease"}, "angry": null}},
    "Tree": {"class": {"value": "int", "kids": "list[Tree]"}},
    "Chain": {"class": {"head": {"type": "str", "alias": "first word"}, "tail": "Chain?"}},
    "Json": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]}
}"##;

fn grammar(schema: &Arc<SignatureSchema>, max_tokens: Option<u32>) -> String {
    match ChatPlan::new(schema.clone()).constraint(ConstraintForm::Gbnf, max_tokens) {
        Some(DecodingConstraint::Gbnf(text)) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_grammar_has_the_layout_and_the_field_types() {
    let schema = signature("{}", r#""question -> reasoning, score: int""#);
    insta::assert_snapshot!(grammar(&schema, Some(60)));
}

#[test]
fn the_json_schema_is_one_object_with_the_lm_names() {
    let plan = ChatPlan::new(signature(TYPES, r#""q -> mood: Mood?, chain: Chain""#));
    let Some(DecodingConstraint::JsonSchema { schema, strict }) =
        plan.constraint(ConstraintForm::JsonSchema, None)
    else {
        panic!("no schema")
    };
    assert!(strict);
    assert_eq!(
        json(schema.get()),
        json(
            r##"{"type": "object", "properties": {
                "mood": {"anyOf": [{"$ref": "#/$defs/Mood"}, {"type": "null"}]},
                "chain": {"$ref": "#/$defs/Chain"}},
            "required": ["mood", "chain"], "additionalProperties": false,
            "$defs": {
                "Mood": {"type": "string", "enum": ["at ease", "angry"]},
                "Chain": {"type": "object", "properties": {
                    "first word": {"type": "string"},
                    "tail": {"anyOf": [{"$ref": "#/$defs/Chain"}, {"type": "null"}]}},
                "required": ["first word", "tail"], "additionalProperties": false}}}"##
        )
    );
}

#[test]
fn a_type_without_finite_values_has_no_grammar() {
    let plan = ChatPlan::new(signature("{}", r#""q -> a: error""#));
    assert!(plan.constraint(ConstraintForm::Gbnf, None).is_none());
}

#[test]
fn grammar_texts_fit_the_token_limit() {
    // One unit of text may be a heading of many characters; usual text is far from that.
    let schema = signature(TYPES, r#""q -> a, b: list[str], c: Tree""#);
    for tokens in [100, 200, 500] {
        let grammar = Grammar::read(&grammar(&schema, Some(tokens)));
        let longest = grammar.longest();
        assert!(longest < 10 * tokens as usize, "{longest} characters of {tokens} tokens");
    }
}

const OUTPUTS: [&str; 18] = [
    "str",
    "str?",
    "int",
    "float?",
    "bool",
    "bytes",
    "any",
    "Mood",
    "Mood?",
    "\"low\" | \"a # b\" | null",
    "1 | true | \"x\"",
    "int | list[str]",
    "list[str]",
    "list[list[int]]",
    "dict[str, float]",
    "tuple[int, str, Mood]",
    "list[{a: str, b: int?}]",
    "Tree",
];

fn outputs() -> impl Strategy<Value = Vec<&'static str>> {
    let more = ["Chain", "Json", "list[Chain]", "dict[str, Tree]"];
    let all = OUTPUTS.into_iter().chain(more).collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(all), 1..4)
}

proptest! {
    #[test]
    fn grammar_texts_are_read_without_leniency(
        types in outputs(), bytes in prop::collection::vec(any::<u8>(), 0..600), tokens in 20..2000u32
    ) {
        let fields = types.iter().enumerate().map(|(n, ty)| format!("f{n}: {ty}"));
        let text = format!("q -> {}", fields.collect::<Vec<_>>().join(", "));
        let schema = signature(TYPES, &serde_json::to_string(&text).unwrap());
        let plan = ChatPlan::new(schema.clone());
        let Some(DecodingConstraint::Gbnf(grammar)) = plan.constraint(ConstraintForm::Gbnf, Some(tokens))
        else { return Err(TestCaseError::fail("no grammar")) };
        let answer = Grammar::read(&grammar).write(&mut bytes.into_iter());
        let parsed = plan.parse(&answer);
        prop_assert!(parsed.is_ok(), "{answer}\n{parsed:?}");
        let parsed = parsed.unwrap();
        // A grammar cannot exclude repeated keys.
        let mut used = parsed.report.entries().iter().map(|entry| entry.kind);
        prop_assert!(used.all(|kind| kind == LeniencyKind::DuplicateKey), "{answer}\n{:?}", parsed.report);
        prop_assert_eq!(parsed.fields.len(), types.len());
    }
}
