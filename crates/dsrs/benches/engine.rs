//! What the engine itself costs, for `cargo bench -p dsrs --bench engine`: building a graph,
//! rendering a prompt, reading an answer, and whole runs against an LM that answers at once.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use dsrs::adapter::{ChatAdapter, ChatPlan};
use dsrs::graph::Program;
use dsrs::lm::{Lm, Models, ScriptedAnswer, ScriptedLm};
use dsrs::predict::RunScope;
use dsrs::signature::SignatureSchema;
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

const ONE: &str = r#"{"name": "one", "nodes": {
    "a": {"strategy": "predict", "signature": "question -> answer"}}}"#;

const CHAIN: &str = r#"{"name": "chain", "nodes": {
    "a": {"strategy": "chain_of_thought", "signature": "question -> answer"},
    "b": {"strategy": "chain_of_thought", "signature": "question -> answer"},
    "c": {"strategy": "chain_of_thought", "signature": "question -> answer"}},
  "edges": [{"from": "a.answer", "to": "b.question"}, {"from": "b.answer", "to": "c.question"}]}"#;

const ANSWER: &str =
    "[[ ## reasoning ## ]]\nshort\n\n[[ ## answer ## ]]\nfour\n\n[[ ## completed ## ]]";

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

fn main() {
    divan::main();
}

fn program(text: &str) -> Program {
    let document = Payload::from_json(text).expect("JSON");
    Program::from_document(&document, &Env).expect("a graph")
}

fn question() -> Fields {
    Fields::from_iter([(Arc::from("question"), Payload::from("What is two plus two?"))])
}

fn models() -> Arc<Models> {
    let lm: Arc<dyn Lm> = Arc::new(ScriptedLm::always(ScriptedAnswer::from(ANSWER)).forgetful());
    Arc::new(Models::only(lm))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn schema() -> Arc<SignatureSchema> {
    program(CHAIN).graph().node("a").expect("node a").schema().clone()
}

#[divan::bench]
fn build_a_chain_of_three(bencher: Bencher<'_, '_>) {
    let document = Payload::from_json(CHAIN).expect("JSON");
    bencher.bench(|| Program::from_document(divan::black_box(&document), &Env).is_ok());
}

/// A chain of `nodes` with twice as many edges: each node also reads the graph's input.
#[divan::bench(args = [10, 100, 1000])]
fn build_a_wide_document(bencher: Bencher<'_, '_>, nodes: usize) {
    let mut text = String::from(r#"{"name": "wide", "inputs": {"question": "str"}, "nodes": {"#);
    let node = r#"{"strategy": "predict", "signature": "question, before: str? -> answer"}"#;
    let named: Vec<_> = (0..nodes).map(|i| format!(r#""n{i}": {node}"#)).collect();
    text.push_str(&named.join(","));
    let edges: Vec<_> = (1..nodes)
        .map(|i| format!(r#"{{"from": "n{}.answer", "to": "n{i}.before"}}"#, i - 1))
        .collect();
    text.push_str(&format!(r#"}}, "edges": [{}]}}"#, edges.join(",")));
    let document = Payload::from_json(&text).expect("JSON");
    bencher.bench(|| Program::from_document(divan::black_box(&document), &Env).is_ok());
}

#[divan::bench]
fn say_the_question(bencher: Bencher<'_, '_>) {
    let (schema, input) = (schema(), question());
    bencher.bench(|| ChatAdapter::format_input(divan::black_box(&schema), &input));
}

#[divan::bench]
fn read_the_answer(bencher: Bencher<'_, '_>) {
    let schema = schema();
    bencher.bench(|| ChatAdapter::parse_output(&schema, divan::black_box(ANSWER)).is_ok());
}

/// A text of so many bytes, in chunks of one: the time grows as the text does.
#[divan::bench(args = [64 << 10, 1 << 20])]
fn listen_byte_by_byte(bencher: Bencher<'_, '_>, bytes: usize) {
    let plan = ChatPlan::new(schema());
    let field = plan.schema().outputs[0].lm_name().clone();
    let text = format!("[[ ## {field} ## ]]\n{}", "It adds [1, 2], \n".repeat(bytes / 17));
    bencher.counter(divan::counter::BytesCount::of_str(&*text)).bench(|| {
        let mut answer = plan.stream();
        for at in 0..text.len() {
            divan::black_box(answer.push(&text[at..=at]));
        }
        answer.finish().is_ok()
    });
}

#[divan::bench(args = ["one predict", "chain of three"])]
fn run(bencher: Bencher<'_, '_>, which: &str) {
    let program = program(if which == "one predict" { ONE } else { CHAIN });
    let (models, runtime) = (models(), runtime());
    bencher.bench_local(|| {
        runtime.block_on(async {
            let deadline = Instant::now() + Duration::from_secs(60);
            let scope = Arc::new(RunScope::new(models.clone(), deadline));
            program.execute(&scope, question()).await.outputs.is_ok()
        })
    });
}
