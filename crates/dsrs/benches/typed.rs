//! What typed programs cost beside their LM, for `cargo bench -p dsrs --bench typed`: calls against
//! an LM that answers at once, and the walk that finds predictors.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use dsrs::facet::Facet;
use dsrs::lm::{LmReply, Models, ScriptedAnswer, ScriptedLm, Usage};
use dsrs::module::named_predictors;
use dsrs::{Ctx, Module, Predict, Signature, TypedDemo};
use tokio::runtime::{Builder, Runtime};

/// Answer the question.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

const ANSWER: &str = "[[ ## answer ## ]]\nfour\n\n[[ ## completed ## ]]";

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// A run of its own for every call, as a server would have it: a trace that grows without end would
/// be measured otherwise.
fn ctx(models: &Arc<Models>) -> Ctx {
    Ctx::within(models.clone(), Duration::from_secs(60))
}

/// With usage given: counting the words of the prompt would be measured otherwise.
fn models() -> Arc<Models> {
    let usage = Usage { lm_calls: 1, input_tokens: 100, output_tokens: 10, ..Usage::default() };
    let reply = LmReply { usage, ..LmReply::of(ANSWER, "scripted") };
    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::from(reply)).forgetful());
    Models::only(lm).into()
}

fn input() -> QaInput {
    QaInput { question: "What is two plus two?".into() }
}

fn predict(demos: usize) -> Predict<Qa> {
    let demo = TypedDemo { input: input(), output: QaOutput { answer: "four".into() } };
    let builder = (0..demos).fold(Predict::<Qa>::builder(), |builder, _| builder.demo(&demo));
    builder.build().expect("demos that fit")
}

#[divan::bench(args = [0, 2, 64])]
fn call_with_demos(bencher: Bencher<'_, '_>, demos: usize) {
    let (runtime, models, predict) = (runtime(), models(), predict(demos));
    bencher
        .with_inputs(|| (ctx(&models), input()))
        .bench_values(|(ctx, input)| runtime.block_on(predict.call(&ctx, input)).is_ok());
}

#[divan::bench]
fn a_chain_of_ten(bencher: Bencher<'_, '_>) {
    let (runtime, models) = (runtime(), models());
    let stages: Vec<Predict<Qa>> = (0..10).map(|_| Predict::new()).collect();
    bencher.with_inputs(|| (ctx(&models), input())).bench_values(|(ctx, input)| {
        runtime.block_on(async {
            let mut question = input.question;
            for stage in &stages {
                let answered = stage.call(&ctx, QaInput { question }).await.expect("an answer");
                question = answered.into_output().answer;
            }
            question
        })
    });
}

#[derive(Facet, Default)]
struct Shelf {
    rows: Vec<Vec<Option<Box<Predict<Qa>>>>>,
}

#[divan::bench]
fn find_ten_thousand_predictors(bencher: Bencher<'_, '_>) {
    let row = || (0..100).map(|_| Some(Box::default())).collect();
    let shelf = Shelf { rows: (0..100).map(|_| row()).collect() };
    bencher.bench(|| named_predictors(divan::black_box(&shelf)).expect("a walk").len());
}
