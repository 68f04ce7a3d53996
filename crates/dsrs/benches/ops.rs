//! What ops cost, for `cargo bench -p dsrs --bench ops`: building and checking a large definition
//! of them, and the executor alone, over graphs that are wide and graphs that are deep.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use dsrs::graph::Program;
use dsrs::lm::{Models, ScriptedLm};
use dsrs::predict::RunScope;
use dsrs::strategy::StoredEnv;
use dsrs::value::{Fields, Payload};
use tokio::runtime::Builder;
use tokio::time::Instant;

const NODES: usize = 1_000;

fn main() {
    divan::main();
}

/// A definition of 1,000 `add`s: each takes the input, and either the one before it (a chain as
/// deep as there are nodes) or the input again (as wide). 2,000 edges in both.
fn document(deep: bool) -> Payload {
    let nodes: Vec<String> =
        (0..NODES).map(|n| format!(r#""n{n}": {{"strategy": "add"}}"#)).collect();
    let edges = (0..NODES).map(|n| {
        let left = match n {
            1.. if deep => format!("n{}.value", n - 1),
            _ => "input.x".to_owned(),
        };
        format!(
            r#"{{"from": "{left}", "to": "n{n}.left"}}, {{"from": "input.x", "to": "n{n}.right"}}"#
        )
    });
    let edges: Vec<String> = edges.collect();
    let text = format!(
        r#"{{"name": "g", "inputs": {{"x": "int"}}, "nodes": {{{}}}, "edges": [{}],
            "outputs": {{"value": "n{}.value"}}}}"#,
        nodes.join(", "),
        edges.join(", "),
        NODES - 1
    );
    Payload::from_json(&text).expect("JSON")
}

#[divan::bench(args = ["wide", "deep"])]
fn build_and_check(bencher: Bencher<'_, '_>, shape: &str) {
    let document = document(shape == "deep");
    bencher.counter(ItemsCount::new(NODES)).bench(|| {
        Program::from_document(divan::black_box(&document), &StoredEnv).expect("a graph")
    });
}

#[divan::bench(args = ["wide", "deep"])]
fn execute(bencher: Bencher<'_, '_>, shape: &str) {
    let program = Program::from_document(&document(shape == "deep"), &StoredEnv).expect("a graph");
    let models = Arc::new(Models::only(Arc::new(ScriptedLm::answering([""; 0]))));
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let inputs = Fields::from_iter([(Arc::from("x"), Payload::Int(1))]);
    bencher.counter(ItemsCount::new(NODES)).bench_local(|| {
        runtime.block_on(async {
            let deadline = Instant::now() + Duration::from_secs(60);
            let scope = Arc::new(RunScope::new(models.clone(), deadline));
            let outcome = program.execute(&scope, inputs.clone()).await;
            assert!(outcome.outputs.is_ok());
            outcome
        })
    });
}
