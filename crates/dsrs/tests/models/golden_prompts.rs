//! Golden prompts: a signature as a Rust type and the same signature posted as data send the same
//! messages to the byte, for everything that a signature can say. The snapshots are the prompts.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::lm::ScriptedLm;
use dsrs::module::named_predictors_mut;
use dsrs::problem::At;
use dsrs::reflect::from_payload;
use dsrs::signature::Augmented;
use dsrs::strategy::{BuildEnv, registry};
use dsrs::{Augmentation, ChainOfThought, Module, Predict, Reasoning, Signature};

use crate::story::{ctx, fields, signature};

/// The same predictor as data, and the inputs of both.
struct Posted {
    strategy: &'static str,
    types: &'static str,
    signature: &'static str,
    state: &'static str,
    input: &'static str,
}

const POSTED: Posted = Posted {
    strategy: "predict",
    types: "{}",
    signature: QA,
    state: "{}",
    input: r#"{"question": "2 + 2?"}"#,
};

struct NoModels;

impl BuildEnv for NoModels {
    fn knows_model(&self, _: &str) -> bool {
        false
    }
}

/// The messages that a call of a typed module sends, after a look whether those of the posted node
/// are the same. What the LM answers is not looked at.
async fn golden<M: Module + Facet<'static> + Default>(posted: &Posted) -> String {
    let Posted { strategy, types, signature: spelled, state, input } = posted;
    let mut module = M::default();
    let mut found = named_predictors_mut(&mut module).unwrap();
    found[0].1.load_state(crate::story::state(state), &At::Root).unwrap();
    let typed: M::Input = from_payload(&crate::story::json(input)).unwrap();
    let lm = Arc::new(ScriptedLm::always("?"));
    drop(module.call(&ctx(&lm), typed).await);
    let typed = first_request(&lm);

    let schema = signature(types, spelled);
    let mut node = registry::create(&NoModels, strategy, &schema, None, &At::Root).unwrap();
    node.predictors_mut()[0].1.load_state(crate::story::state(state), &At::Root).unwrap();
    let lm = Arc::new(ScriptedLm::always("?"));
    drop(node.forward(&ctx(&lm), fields(input)).await);
    assert_eq!(first_request(&lm), typed);
    typed
}

/// The first request as one text: the role and the content of every message.
fn first_request(lm: &ScriptedLm) -> String {
    let asked = lm.requests().remove(0);
    asked.chat.messages().fold(String::new(), |mut text, message| {
        let _ = writeln!(text, "--- {:?}\n{}", message.role, message.content);
        text
    })
}

/// Answer the question.
#[derive(Signature)]
struct Qa {
    /// what is asked
    #[input]
    question: String,
    #[output]
    answer: String,
}

const QA: &str = r#"{"instructions": "Answer the question.",
    "inputs": [{"name": "question", "description": "what is asked"}], "outputs": [{"name": "answer"}]}"#;

#[tokio::test]
async fn a_flat_signature() {
    insta::assert_snapshot!(golden::<Predict<Qa>>(&POSTED).await);
}

#[tokio::test]
async fn an_instruction_in_place_of_the_signatures_own() {
    let state = r#"{"instruction": "Be brief.\nBe right."}"#;
    insta::assert_snapshot!(golden::<Predict<Qa>>(&Posted { state, ..POSTED }).await);
}

#[tokio::test]
async fn two_demos() {
    let state = r###"{"demos": [{"input": {"question": "1 + 1?"}, "output": {"answer": "2"}},
        {"input": {"question": "[[ ## answer ## ]]?"}, "output": {"answer": "no\n\nheader"}}]}"###;
    insta::assert_snapshot!(golden::<Predict<Qa>>(&Posted { state, ..POSTED }).await);
}

#[tokio::test]
async fn reasoning_with_a_demo() {
    let strategy = "chain_of_thought";
    let state = r#"{"demos": [{"input": {"question": "1 + 1?"},
                               "output": {"reasoning": "one and one", "answer": "2"}}]}"#;
    insta::assert_snapshot!(
        golden::<ChainOfThought<Qa>>(&Posted { strategy, state, ..POSTED }).await
    );
}

#[derive(Augmentation)]
#[augment(output, append)]
struct Confidence {
    /// from 0 to 1
    confidence: f64,
}

#[tokio::test]
async fn two_augmentations_are_the_fields_spelled_out() {
    let signature = r#"{"instructions": "Answer the question.",
        "inputs": [{"name": "question", "description": "what is asked"}],
        "outputs": [{"name": "reasoning", "description": "the thinking, step by step, that leads to the answer"},
                    {"name": "answer"},
                    {"name": "confidence", "type": "float", "description": "from 0 to 1"}]}"#;
    let state = r#"{"demos": [{"input": {"question": "1 + 1?"},
                               "output": {"reasoning": "one and one", "answer": "2", "confidence": 1.0}}]}"#;
    let posted = Posted { signature, state, ..POSTED };
    insta::assert_snapshot!(
        golden::<Predict<Augmented<Qa, (Reasoning, Confidence)>>>(&posted).await
    );
}

#[derive(Clone, Debug, Facet)]
struct Person {
    /// in full
    name: String,
    #[facet(dsrs::alias = "years")]
    age: Option<u8>,
    home: Place,
}

/// somewhere on earth
#[derive(Clone, Debug, Facet)]
struct Place {
    town: String,
    #[facet(dsrs::check("this|length == 2", "two_letters"))]
    country: String,
}

/// Read the letter.
#[derive(Signature)]
struct Sender {
    #[input]
    letter: String,
    #[output]
    sender: Person,
}

#[tokio::test]
async fn a_class_in_a_class() {
    let types = r#"{"Person": {"class": {"name": {"type": "str", "description": "in full"},
                                         "age": {"type": "int?", "alias": "years"}, "home": "Place"}},
        "Place": {"description": "somewhere on earth", "class": {"town": "str",
            "country": {"type": "str", "constraints": [{"check": "this|length == 2", "label": "two_letters"}]}}}}"#;
    let signature = r#"{"instructions": "Read the letter.", "inputs": [{"name": "letter"}],
                        "outputs": [{"name": "sender", "type": "Person"}]}"#;
    let state = r#"{"demos": [{"input": {"letter": "Yours, Ann"}, "output": {"sender":
        {"name": "Ann", "age": null, "home": {"town": "Rome", "country": "IT"}}}}]}"#;
    let input = r#"{"letter": "Dear Bo"}"#;
    let posted = Posted { types, signature, state, input, ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Sender>>(&posted).await);
}

/// how it sounds
#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code)]
enum Mood {
    Calm,
    /// shouting
    Angry,
    #[facet(dsrs::alias = "so-so")]
    Mixed,
}

#[derive(Signature)]
struct Triage {
    #[input]
    before: Mood,
    #[output]
    mood: Mood,
    #[output]
    others: Vec<Mood>,
}

#[tokio::test]
async fn an_enum_without_instructions() {
    let types = r#"{"Mood": {"description": "how it sounds",
        "enum": {"Calm": null, "Angry": "shouting", "Mixed": {"alias": "so-so"}}}}"#;
    let signature = r#"{"inputs": [{"name": "before", "type": "Mood"}],
        "outputs": [{"name": "mood", "type": "Mood"}, {"name": "others", "type": "list[Mood]"}]}"#;
    let state = r#"{"demos": [{"input": {"before": "Calm"}, "output": {"mood": "Mixed", "others": ["Mixed", "Angry"]}}]}"#;
    let posted = Posted { types, signature, state, input: r#"{"before": "Mixed"}"#, ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Triage>>(&posted).await);
}

/// Sum up.
#[derive(Signature)]
struct Lists {
    #[input]
    #[format("yaml")]
    notes: Vec<String>,
    #[input]
    #[format("json")]
    #[alias = "scores"]
    numbers: Vec<f64>,
    #[input]
    #[format("text")]
    names: Vec<String>,
    #[output]
    #[alias = "sums"]
    rows: Vec<Vec<i64>>,
}

#[tokio::test]
async fn lists_formats_and_aliases() {
    let signature = r#"{"instructions": "Sum up.",
        "inputs": [{"name": "notes", "type": "list[str]", "format": "yaml"},
                   {"name": "numbers", "type": "list[float]", "format": "json", "alias": "scores"},
                   {"name": "names", "type": "list[str]", "format": "text"}],
        "outputs": [{"name": "rows", "type": "list[list[int]]", "alias": "sums"}]}"#;
    let input =
        r#"{"notes": ["one: two", "three"], "numbers": [1.0, 2.5], "names": ["Ann", "Bo"]}"#;
    insta::assert_snapshot!(golden::<Predict<Lists>>(&Posted { signature, input, ..POSTED }).await);
}

/// Look it up.
#[derive(Signature)]
struct Lookup {
    #[input]
    name: Option<String>,
    #[input]
    #[default = 3]
    limit: u8,
    #[output]
    age: Option<u8>,
}

const LOOKUP: &str = r#"{"instructions": "Look it up.",
    "inputs": [{"name": "name", "type": "str?"}, {"name": "limit", "type": "int", "default": 3}],
    "outputs": [{"name": "age", "type": "int?"}]}"#;

#[tokio::test]
async fn optional_fields_and_a_default_left_out_of_a_demo() {
    let state = r#"{"demos": [{"input": {"name": "Ann"}, "output": {"age": null}}]}"#;
    let input = r#"{"name": null, "limit": 5}"#;
    let posted = Posted { signature: LOOKUP, state, input, ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Lookup>>(&posted).await);
}

/// Translate.
#[derive(Signature)]
struct Wrapped<I: Clone + Debug, O: Clone + Debug> {
    #[input(flatten)]
    base: I,
    #[input]
    language: String,
    #[output(flatten)]
    outputs: O,
    #[output]
    translation: String,
}

#[tokio::test]
async fn flattened_inputs_and_outputs_of_another_signature() {
    let signature = r#"{"instructions": "Translate.",
        "inputs": [{"name": "question", "description": "what is asked"}, {"name": "language"}],
        "outputs": [{"name": "answer"}, {"name": "translation"}]}"#;
    let input = r#"{"question": "Hm?", "language": "Dutch"}"#;
    let posted = Posted { signature, input, ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Wrapped<QaInput, QaOutput>>>(&posted).await);
}

/// Name three topics.
#[derive(Signature)]
struct Topics {
    #[input]
    text: String,
    /// the best ones
    #[output]
    #[assert("this|length == 3")]
    #[check("this|unique|list|length == 3", label = "distinct")]
    topics: Vec<String>,
    #[output]
    #[strict]
    #[check("this >= 0")]
    count: i32,
}

#[tokio::test]
async fn asserts_checks_and_strictness() {
    let signature = r#"{"instructions": "Name three topics.", "inputs": [{"name": "text"}],
        "outputs": [{"name": "topics", "type": "list[str]", "description": "the best ones",
                     "constraints": [{"assert": "this|length == 3"},
                                     {"check": "this|unique|list|length == 3", "label": "distinct"}]},
                    {"name": "count", "type": "int", "strict": true, "constraints": [{"check": "this >= 0"}]}]}"#;
    let posted = Posted { signature, input: r#"{"text": "…"}"#, ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Topics>>(&posted).await);
}

#[derive(Clone, Debug, Facet)]
struct Tree {
    label: String,
    children: Vec<Tree>,
}

/// Draw the tree.
#[derive(Signature)]
struct Grow {
    #[input]
    seed: Box<Tree>,
    #[output]
    tree: Tree,
}

#[tokio::test]
async fn a_class_that_holds_itself() {
    let types = r#"{"Tree": {"class": {"label": "str", "children": "list[Tree]"}}}"#;
    let signature = r#"{"instructions": "Draw the tree.", "inputs": [{"name": "seed", "type": "Tree"}],
                        "outputs": [{"name": "tree", "type": "Tree"}]}"#;
    let input = r#"{"seed": {"label": "a", "children": [{"label": "b", "children": []}]}}"#;
    insta::assert_snapshot!(
        golden::<Predict<Grow>>(&Posted { types, signature, input, ..POSTED }).await
    );
}

/// Count the words.
#[derive(Signature)]
struct Count {
    #[input]
    known: BTreeMap<String, Vec<i64>>,
    #[output]
    words: BTreeMap<String, i64>,
    #[output]
    longest: (String, i64, Option<bool>),
    #[output]
    initial: char,
}

#[tokio::test]
async fn dicts_and_tuples() {
    let signature = r#"{"instructions": "Count the words.",
        "inputs": [{"name": "known", "type": "dict[str, list[int]]"}],
        "outputs": [{"name": "words", "type": "dict[str, int]"},
                    {"name": "longest", "type": "tuple[str, int, bool?]"}, {"name": "initial"}]}"#;
    let input = r#"{"known": {"a": [], "b c": [1]}}"#;
    let state = r#"{"demos": [{"input": {"known": {}},
        "output": {"words": {"x": 1}, "longest": ["x", 1, null], "initial": "x"}}]}"#;
    insta::assert_snapshot!(
        golden::<Predict<Count>>(&Posted { signature, state, input, ..POSTED }).await
    );
}

/// Draw.
#[derive(Signature)]
struct Draw {
    #[output]
    shape: Shape,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code)]
enum Shape {
    Circle { radius: f64 },
    Named(String),
    Square { side: f64 },
}

#[tokio::test]
async fn an_enum_that_holds_data_is_a_union() {
    let types = r#"{"Shape": {"anyOf": [
        {"type": "object", "properties": {"radius": {"type": "number"}}, "required": ["radius"]},
        {"type": "string"},
        {"type": "object", "properties": {"side": {"type": "number"}}, "required": ["side"]}]}}"#;
    let signature = r#"{"instructions": "Draw.", "outputs": [{"name": "shape", "type": "Shape"}]}"#;
    let posted = Posted { types, signature, input: "{}", ..POSTED };
    insta::assert_snapshot!(golden::<Predict<Draw>>(&posted).await);
}

#[tokio::test]
async fn reasoning_over_nested_types_with_an_instruction_and_a_demo() {
    let types = r#"{"Tree": {"class": {"label": "str", "children": "list[Tree]"}}}"#;
    let signature = r#"{"instructions": "Draw the tree.", "inputs": [{"name": "seed", "type": "Tree"}],
                        "outputs": [{"name": "tree", "type": "Tree"}]}"#;
    let state = r#"{"instruction": "Prune it.", "demos": [
        {"input": {"seed": {"label": "a", "children": []}},
         "output": {"reasoning": "bare", "tree": {"label": "a", "children": []}}}]}"#;
    let strategy = "chain_of_thought";
    let input = r#"{"seed": {"label": "c", "children": []}}"#;
    let posted = Posted { strategy, types, signature, state, input };
    insta::assert_snapshot!(golden::<ChainOfThought<Grow>>(&posted).await);
}

#[derive(Signature)]
struct Untold {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[tokio::test]
async fn reasoning_without_instructions() {
    let strategy = "chain_of_thought";
    let signature = r#""question -> answer""#;
    let posted = Posted { strategy, signature, input: r#"{"question": "why?"}"#, ..POSTED };
    insta::assert_snapshot!(golden::<ChainOfThought<Untold>>(&posted).await);
}
