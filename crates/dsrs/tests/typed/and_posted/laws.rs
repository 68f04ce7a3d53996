//! Laws over generated modules, graphs and states: a module, its graph and the module again have the
//! same prompts; dump, load, dump is the identity; a state that one side takes, the other takes.

#[allow(dead_code, reason = "the generator of the laws of types has more than is needed here")]
#[path = "../../types/meaning/generate.rs"]
mod generate;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::graph::{Edge, GraphState, Program, ProgramGraph, Source, Target, load_module_state};
use dsrs::module::{named_predictors, named_predictors_mut};
use dsrs::optimize::Candidate;
use dsrs::predict::{Demo, DynPredictor, PredictError, PredictState, state_to_payload};
use dsrs::problem::At;
use dsrs::signature::{FieldSchema, SignatureSchema};
use dsrs::value::{Fields, Payload};
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::support::{Env, json, places, program, prompt, state, tuned};
use generate::value_of;

#[derive(Clone, Debug, Facet)]
struct Person {
    name: String,
    age: Option<i64>,
    friends: Vec<Person>,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code, reason = "made by reflection")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64, name: String },
    Nothing,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code, reason = "made by reflection")]
enum Mood {
    Calm,
    Angry,
}

/// Judge the shapes of a person.
#[derive(Signature)]
struct Judge {
    /// what is asked
    #[input]
    question: String,
    #[input]
    #[default = 2]
    count: i64,
    #[input]
    person: Option<Person>,
    #[output]
    mood: Mood,
    #[output]
    scores: Vec<f64>,
    /// the best of them
    #[output]
    best: Option<Person>,
    #[output]
    shape: Shape,
    #[output]
    tags: BTreeMap<String, (String, bool)>,
}

#[derive(Signature)]
struct Short {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// A module whose predictors differ from case to case.
#[derive(Facet)]
struct Generated {
    first: Predict<Judge>,
    many: Vec<ChainOfThought<Short>>,
    maybe: Option<Box<ChainOfThought<Judge>>>,
    by_name: BTreeMap<String, Predict<Short>>,
}

impl Module for Generated {
    type Input = JudgeInput;
    type Output = ShortOutput;

    async fn forward(
        &self,
        _: &Ctx,
        _: JudgeInput,
    ) -> Result<Prediction<ShortOutput>, PredictError> {
        unreachable!("only its structure is used")
    }
}

/// The structure of a module.
#[derive(Clone, Debug)]
struct Plan {
    many: usize,
    maybe: bool,
    names: Vec<&'static str>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let names = prop::sample::subsequence(vec!["a", "b c", "7", "input", "a_"], 0..4);
    (0..3usize, any::<bool>(), names).prop_map(|(many, maybe, names)| Plan { many, maybe, names })
}

impl Plan {
    fn module(&self) -> Generated {
        Generated {
            first: Predict::new(),
            many: (0..self.many).map(|_| ChainOfThought::new()).collect(),
            maybe: self.maybe.then(Box::default),
            by_name: self.names.iter().map(|name| ((*name).to_owned(), Predict::new())).collect(),
        }
    }
}

/// Random bytes that decide everything else.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 400)
}

fn run<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<bool, TestCaseError>) {
    let counted = Cell::new(0usize);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |value| {
        counted.set(counted.get() + usize::from(law(value)?));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(counted.get() > 30, "only {} cases tested the law", counted.get());
}

/// Some of the fields with values of their types.
fn some(
    schema: &SignatureSchema,
    fields: &[FieldSchema],
    least: usize,
    bytes: &mut impl Iterator<Item = u8>,
) -> Fields {
    let mut given = Fields::new();
    for (index, field) in fields.iter().enumerate() {
        let chosen = index < least || !bytes.next().unwrap_or(0).is_multiple_of(3);
        let value = value_of(&field.ty, &schema.defs, bytes, 0).filter(|_| chosen);
        given.extend(value.map(|value| (field.name.clone(), value)));
    }
    given
}

/// A state that fits a schema; its demos leave outputs and optional inputs out.
fn fitting(schema: &SignatureSchema, bytes: &mut impl Iterator<Item = u8>) -> PredictState {
    let instruction = bytes.next().is_some_and(|byte| byte % 2 == 0).then(|| "Do it.".into());
    let demos = (0..bytes.next().unwrap_or(0) % 3).map(|_| Demo {
        input: some(schema, &schema.inputs, 1, bytes),
        output: some(schema, &schema.outputs, 1, bytes),
    });
    PredictState { instruction, demos: demos.collect(), ..PredictState::default() }
}

/// A state in which something may be wrong.
fn damaged(schema: &SignatureSchema, bytes: &mut impl Iterator<Item = u8>) -> PredictState {
    let mut state = fitting(schema, bytes);
    for demo in &mut state.demos {
        for side in [&mut demo.input, &mut demo.output] {
            let (what, place) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
            let count = side.len().max(1);
            match what % 12 {
                0 => drop(side.shift_remove_index(usize::from(place) % count)),
                1 => drop(side.insert("stray".into(), Payload::Null)),
                2..5 => {
                    let other =
                        [Payload::Int(7), "x".into(), Payload::Null][usize::from(what % 3)].clone();
                    if let Some((_, value)) = side.get_index_mut(usize::from(place) % count) {
                        *value = other;
                    }
                }
                _ => {}
            }
        }
    }
    state
}

fn tune(module: &mut Generated, bytes: &mut impl Iterator<Item = u8>) {
    for (path, predictor) in named_predictors_mut(module).unwrap() {
        let state = fitting(predictor.schema(), bytes);
        let loaded = predictor.load_state(state, &At::Root);
        loaded.unwrap_or_else(|problems| panic!("{path}: {problems}"));
    }
}

fn question() -> Fields {
    let person = json(r#"{"name": "Ann", "age": null, "friends": []}"#);
    let given = [("question", "Why?".into()), ("count", Payload::Int(1)), ("person", person)];
    given.into_iter().map(|(name, value)| (Arc::from(name), value)).collect()
}

fn prompts<'p>(all: impl IntoIterator<Item = &'p dyn DynPredictor>) -> Vec<Vec<String>> {
    all.into_iter().map(|predictor| prompt(predictor, &question())).collect()
}

fn prompts_of(module: &Generated) -> Vec<Vec<String>> {
    prompts(named_predictors(module).unwrap().into_iter().map(|(_, predictor)| predictor))
}

/// The graph of a module in which every input of a node is that of the module.
fn projected(module: &mut Generated) -> dsrs::graph::Projection {
    let bare = ProgramGraph::from_module_with("g", module, [], []).unwrap();
    let edges = bare.graph.nodes().flat_map(|(name, node)| {
        let inputs = node.schema().inputs.clone().into_iter();
        inputs.map(|field| Edge {
            from: Source::field_of("input", field.name.clone()),
            to: Target { node: name.clone(), field: field.name },
        })
    });
    ProgramGraph::from_module_with("g", module, edges.collect::<Vec<_>>(), []).unwrap()
}

#[test]
fn a_module_its_graph_and_the_module_again_have_the_same_prompts() {
    run((plans(), bytes()), |(plan, bytes)| {
        let mut module = plan.module();
        tune(&mut module, &mut bytes.into_iter());
        let projection = projected(&mut module);
        let program = projection.graph.compile().unwrap_or_else(|problems| panic!("{problems}"));
        let again = program_again(&program);
        for program in [&program, &again] {
            let tuned = program.with_state(&Env, &projection.state, &At::Root);
            let tuned = tuned.unwrap_or_else(|problems| panic!("{problems}"));
            let nodes = tuned.predictors();
            let asked = prompts(nodes.into_iter().map(|(_, predictor)| predictor));
            prop_assert_eq!(&asked, &prompts_of(&module));

            let mut other = plan.module();
            let state = Candidate::of(&tuned).state;
            load_module_state(&state, &projection.nodes, &mut other).unwrap();
            prop_assert_eq!(prompts_of(&other), prompts_of(&module));
            prop_assert_eq!(dumped(&other), dumped(&module));
        }
        Ok(!projection.state.0.is_empty())
    });
}

fn dumped(module: &Generated) -> Vec<PredictState> {
    let found = named_predictors(module).unwrap();
    found.into_iter().map(|(_, predictor)| predictor.state().clone()).collect()
}

/// The program that is read from the text of another.
fn program_again(program: &Program) -> Program {
    super::support::program(program.canonical_text())
}

#[test]
fn dumping_loading_and_dumping_a_typed_state_is_the_identity() {
    run((plans(), bytes()), |(plan, bytes)| {
        let mut module = plan.module();
        tune(&mut module, &mut bytes.into_iter());
        let mut other = plan.module();
        let dumps = dumped(&module);
        for ((_, predictor), dump) in
            named_predictors_mut(&mut other).unwrap().into_iter().zip(&dumps)
        {
            let text = state_to_payload(dump).to_json();
            predictor.load_state(state(&text), &At::Root).unwrap();
            prop_assert_eq!(state_to_payload(predictor.state()).to_json(), text);
        }
        prop_assert_eq!(&dumped(&other), &dumps);
        Ok(dumps.iter().any(|dump| !dump.demos.is_empty()))
    });
}

const TYPES: [&str; 8] = [
    "str",
    "int",
    "float?",
    "list[str]",
    "Item",
    "'x' | 'y'",
    "dict[str, Item?]",
    "list['x' | int]",
];

/// A graph of nodes of random strategies and types, each fed by an earlier one of its type or by an
/// input.
fn document(bytes: &mut impl Iterator<Item = u8>) -> String {
    let mut next = |most: usize| usize::from(bytes.next().unwrap_or(0)) % most;
    let (mut nodes, mut edges, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    let mut made: Vec<(String, usize)> = Vec::new();
    for number in 0..=next(4) {
        let (strategy, wanted, ty) = (next(4), next(TYPES.len()), next(TYPES.len()));
        let name = format!("n{number}");
        match strategy {
            0 | 1 => {
                let strategy = ["predict", "chain_of_thought"][strategy];
                nodes.push(format!(
                    r#""{name}": {{"strategy": "{strategy}", "signature": {{"inputs":
                        [{{"name": "in{number}", "type": "{}"}}], "outputs":
                        [{{"name": "out{number}", "type": "{}", "description": "it"}}]}}}}"#,
                    TYPES[wanted], TYPES[ty]
                ));
                if let Some((from, _)) = made.iter().find(|(_, ty)| *ty == wanted) {
                    edges.push(format!(r#"{{"from": "{from}", "to": "{name}.in{number}"}}"#));
                } else {
                    let input = format!("input.in{number}");
                    edges.push(format!(r#"{{"from": "{input}", "to": "{name}.in{number}"}}"#));
                }
                outputs.push(format!(r#""out{number}": "{name}.out{number}""#));
                made.push((format!("{name}.out{number}"), ty));
            }
            hosted => {
                let (strategy, output) = [("reasoner", "answer"), ("finder", "item")][hosted - 2];
                nodes.push(format!(r#""{name}": {{"strategy": "{strategy}"}}"#));
                outputs.push(format!(r#""out{number}": "{name}.{output}""#));
            }
        }
    }
    format!(
        r#"{{"name": "g", "types": {{"Item": {{"class": {{"name": "str", "next": "Item?"}}}}}},
            "nodes": {{{}}}, "edges": [{}], "outputs": {{{}}}}}"#,
        nodes.join(", "),
        edges.join(", "),
        outputs.join(", ")
    )
}

#[test]
fn dumping_loading_and_dumping_a_graph_with_its_state_is_the_identity() {
    run(bytes(), |bytes| {
        let mut bytes = bytes.into_iter();
        let first = program(&document(&mut bytes));
        let again = program_again(&first);
        prop_assert_eq!(again.canonical_text(), first.canonical_text());
        prop_assert_eq!(again.content_hash(), first.content_hash());

        let states = first
            .predictors()
            .into_iter()
            .map(|(path, predictor)| (Arc::from(path), fitting(predictor.schema(), &mut bytes)));
        let state = GraphState(states.collect());
        let load = |program: &Program, state: &GraphState| {
            let tuned = program.with_state(&Env, state, &At::Root);
            tuned.unwrap_or_else(|problems| panic!("{problems}: {}", state.to_payload().to_json()))
        };
        let tuned = load(&first, &state);
        let dump = Candidate::of(&tuned).state;
        let text = dump.to_payload().to_json();
        let mut problems = dsrs::problem::Problems::new();
        let read = GraphState::read(&json(&text), &At::Root, &mut problems).unwrap();
        let loaded = load(&again, &read);
        prop_assert_eq!(Candidate::of(&loaded).state.to_payload().to_json(), text);
        let asked = |program: &Program| {
            prompts(program.predictors().into_iter().map(|(_, predictor)| predictor))
        };
        prop_assert_eq!(asked(&loaded), asked(&tuned));
        Ok(!dump.0.is_empty())
    });
}

#[test]
fn a_state_that_one_side_takes_the_other_takes() {
    let bare = projected(&mut Plan { many: 0, maybe: true, names: vec![] }.module());
    let posted = bare.graph.compile().unwrap_or_else(|problems| panic!("{problems}"));
    let (taken, refused) = (Cell::new(0usize), Cell::new(0usize));
    run(bytes(), |bytes| {
        let mut typed = ChainOfThought::<Judge>::new();
        let predictor = named_predictors_mut(&mut typed).unwrap().remove(0).1;
        let given = damaged(predictor.schema(), &mut bytes.into_iter());
        let node = "maybe_predict";
        let text = state_to_payload(&given).to_json();
        match (predictor.load_state(given.clone(), &At::Root), tuned(&posted, node, given)) {
            (Ok(()), Ok(posted)) => {
                taken.set(taken.get() + 1);
                let found = posted.predictors().into_iter().find(|(path, _)| path == node);
                let found = found.unwrap().1;
                prop_assert_eq!(prompt(predictor, &question()), prompt(found, &question()));
                prop_assert_eq!(predictor.state(), found.state());
            }
            (Err(typed), Err(posted)) => {
                refused.set(refused.get() + 1);
                prop_assert_eq!(places(&typed, ""), places(&posted, "/maybe_predict"));
            }
            (typed, posted) => {
                return Err(TestCaseError::fail(format!("{text}: {typed:?}, {:?}", posted.err())));
            }
        }
        Ok(true)
    });
    assert!(taken.get() > 20 && refused.get() > 20, "{} and {}", taken.get(), refused.get());
}
