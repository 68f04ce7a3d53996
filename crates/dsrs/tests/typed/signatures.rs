//! Signatures as Rust types: the derived schema equals that of the same signature in a document.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::reflect::{from_payload, to_payload};
use dsrs::signature::{Augmented, SignatureSchema};
use dsrs::{Augmentation, Signature};

use crate::story::{json, signature};

/// Answer the question from the context.
///
/// Stay short.
#[derive(Signature)]
struct Qa {
    /// what is asked
    #[input]
    question: String,
    #[input]
    #[format("yaml")]
    #[alias = "passages"]
    context: Vec<String>,
    #[input]
    #[default = 3]
    sentences: u8,
    /// the answer
    #[output]
    #[check("this|length > 0", label = "not_empty")]
    #[assert("this|length < 200")]
    answer: String,
    #[output]
    #[strict]
    score: Option<f64>,
}

#[test]
fn a_derived_signature_equals_the_posted_one() {
    let posted = signature(
        "{}",
        r#"{"instructions": "Answer the question from the context.\n\nStay short.",
            "inputs": [{"name": "question", "description": "what is asked"},
                       {"name": "context", "type": "list[str]", "format": "yaml", "alias": "passages"},
                       {"name": "sentences", "type": "int", "default": 3}],
            "outputs": [{"name": "answer", "description": "the answer",
                         "constraints": [{"check": "this|length > 0", "label": "not_empty"},
                                         {"assert": "this|length < 200"}]},
                        {"name": "score", "type": "float?", "strict": true}]}"#,
    );
    assert_eq!(SignatureSchema::of::<Qa>(), posted);
}

#[test]
fn a_schema_is_built_once_per_type() {
    assert!(Arc::ptr_eq(&SignatureSchema::of::<Qa>(), &SignatureSchema::of::<Qa>()));
    let augmented = SignatureSchema::of::<Augmented<Qa, Reasoning>>();
    assert_ne!(augmented.outputs.len(), SignatureSchema::of::<Qa>().outputs.len());
}

/// The thinking.
#[derive(Augmentation)]
#[augment(output, prepend)]
struct Reasoning {
    /// step by step
    reasoning: String,
}

#[derive(Augmentation)]
#[augment(output, append)]
struct Confidence {
    confidence: f64,
}

#[test]
fn augmentations_add_fields_in_place_through_two_layers() {
    type Both = Augmented<Qa, (Reasoning, Confidence)>;
    let schema = SignatureSchema::of::<Both>();
    let outputs = schema.outputs.iter();
    let names: Vec<_> =
        outputs.map(|field| format!("{} at {}", field.name, field.path.0.join("."))).collect();
    assert_eq!(
        names,
        [
            "reasoning at reasoning",
            "answer at inner.inner.answer",
            "score at inner.inner.score",
            "confidence at inner.confidence",
        ]
    );
    type Output = <Both as dsrs::signature::Signature>::Output;
    let data = json(r#"{"reasoning": "so", "answer": "4", "score": null, "confidence": 0.5}"#);
    let output: Output = from_payload(&data).unwrap();
    assert_eq!((&*output.reasoning, &*output.answer), ("so", "4"));
    assert_eq!((output.confidence, output.score), (0.5, None));
    assert_eq!(to_payload(&output).unwrap(), data);
    assert_eq!(&*output.into_inner().into_inner().answer, "4");
}

#[derive(Clone, Debug, Facet, PartialEq)]
struct Person {
    name: String,
    #[facet(dsrs::alias = "years")]
    age: Option<u8>,
    friends: Vec<Person>,
}

#[derive(Clone, Debug, Facet, PartialEq)]
#[repr(u8)]
enum Mood {
    /// smiling
    Happy,
    Sad,
}

#[derive(Clone, Debug, Facet, PartialEq)]
#[repr(u8)]
enum Shape {
    Circle { radius: f64 },
    Named(String),
    Square { side: f64 },
}

#[derive(Clone, Debug, Facet, PartialEq)]
struct Common {
    language: String,
    #[facet(flatten)]
    deeper: Deeper,
}

#[derive(Clone, Debug, Facet, PartialEq)]
struct Deeper {
    tone: String,
}

#[derive(Signature)]
struct Rich<I: Clone + std::fmt::Debug> {
    #[input(flatten)]
    base: I,
    #[input]
    attempt: u32,
    #[output]
    people: BTreeMap<String, Person>,
    #[output]
    mood: Mood,
    #[output]
    shapes: Vec<Shape>,
    #[output]
    pair: (i64, Box<bool>),
}

#[test]
fn complex_types_equal_the_posted_ones() {
    let types = r#"{"Person": {"class": {"name": "str", "age": {"type": "int?", "alias": "years"},
                                         "friends": "list[Person]"}},
                    "Mood": {"enum": {"Happy": "smiling", "Sad": null}}}"#;
    let posted = signature(types, r#"{"outputs": [{"name": "people", "type": "list[Person]"}]}"#);
    let schema = SignatureSchema::of::<Rich<QaInput>>();
    let names: Vec<_> = schema.inputs.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["question", "context", "sentences", "attempt"]);
    assert_eq!(schema.inputs[0].path.0.join("."), "base.question");
    for name in ["Person", "Mood"] {
        assert_eq!(schema.defs.get(name), posted.defs.get(name), "{name}");
    }
    let types: Vec<_> = schema.outputs.iter().map(|field| field.ty.to_string()).collect();
    assert_eq!(types, ["dict[str, Person]", "Mood", "list[Shape]", "tuple[int, bool]"]);
    assert_eq!(
        &*schema.instructions,
        "Read `question`, `passages`, `sentences` and `attempt`, then write `people`, `mood`, `shapes` and `pair`."
    );
}

#[test]
fn values_survive_a_round_trip_through_data() {
    let data = json(
        r#"{"people": {"a": {"name": "Ann", "age": 3, "friends": [{"name": "Bo", "age": null, "friends": []}]}},
            "mood": "Sad", "shapes": [{"side": 2.0}, "blob", {"radius": 1.5}], "pair": [-1, true]}"#,
    );
    let output: RichOutput = from_payload(&data).unwrap();
    assert_eq!(output.people["a"].friends[0].name, "Bo");
    assert_eq!(output.mood, Mood::Sad);
    assert_eq!(output.shapes[0], Shape::Square { side: 2.0 });
    assert_eq!(to_payload(&output).unwrap(), data);
}

#[test]
fn an_f32_keeps_its_shortest_decimal_form() {
    assert_eq!(
        to_payload(&[0.1_f32, 16_777_216.0, -1e-30]).unwrap().to_json(),
        "[0.1,16777216.0,-1e-30]"
    );
    assert_eq!(from_payload::<f32>(&json("0.1")).unwrap(), 0.1);
    let error = from_payload::<f32>(&json("1e300")).unwrap_err().to_string();
    assert_eq!(error, "1e+300 is not a value of `f32`");
}

#[test]
fn data_that_does_not_fit_a_rust_type_is_reported_with_its_place() {
    let refused = |text: &str| from_payload::<Person>(&json(text)).unwrap_err().to_string();
    let error = refused(r#"{"name": "Ann", "age": 300, "friends": []}"#);
    assert_eq!(error, "`age`: 300 is not a value of `u8`");
    let error = refused(r#"{"name": "Ann", "friends": [{"name": 1, "friends": []}]}"#);
    assert_eq!(error, "`friends[0].name`: 1 is not a value of `String`");
    assert_eq!(refused(r#"{"name": "Ann"}"#), "`friends`: is missing");
    assert_eq!(
        to_payload(&u64::MAX).unwrap_err().to_string(),
        "a value of `u64`: is outside the range of signed 64-bit integers"
    );
}

#[derive(Signature)]
struct Twice<I: Clone + std::fmt::Debug> {
    #[input(flatten)]
    base: I,
    #[input]
    language: String,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Keyed {
    #[output]
    by_number: HashMap<u32, String>,
}

#[test]
fn errors_of_shapes_are_reported_when_the_schema_is_built() {
    let error = SignatureSchema::try_of::<Twice<Common>>().unwrap_err();
    assert_eq!(error.to_string(), "the signature has two fields named `language`");
    let error = SignatureSchema::try_of::<Keyed>().unwrap_err();
    assert_eq!(error.to_string(), "`by_number`: the keys of a map are String, not `u32`");
}

#[test]
fn a_derived_struct_converts_to_inputs_and_outputs_and_back() {
    let input = QaInput { question: "?".into(), context: vec![], sentences: 1 };
    let output = QaOutput { answer: "!".into(), score: None };
    let (input, output) = Qa::from_parts(input, output).into_parts();
    assert_eq!((input.sentences, &*input.question, &*output.answer), (1, "?", "!"));
    assert_eq!(Qa::instructions(), "Answer the question from the context.\n\nStay short.");
}
