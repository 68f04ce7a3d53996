//! `refine` inside other modules and around them: advice reaches the predictors of the next attempt,
//! whatever contains the strategy.

use std::sync::Arc;

use dsrs::graph::{GraphModule, GraphState, Program};
use dsrs::lm::{LmRequest, ScriptedLm};
use dsrs::predict::PredictError;
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, HostedModule, StoredGraphRef};
use dsrs::{BestOfN, Ctx, Module, Predict, Prediction, Refine, Signature};

use super::support::{answer, asked, ctx, fields, json, outputs, run_on};

const QUESTION: &str = r#"{"question": "2 + 2?"}"#;

/// What the LM advises.
const ADVICE: &str = "Digits only.";

/// An LM that answers well only if it is advised, and advises each part that it is shown.
fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(|request: &LmRequest| {
        let said = asked(request);
        if said.contains("[[ ## reward_definition ## ]]") {
            let parts = said.lines().filter_map(|line| line.split_once(": inputs `"));
            let advice = parts.map(|(part, _)| format!("{part:?}: {ADVICE:?}"));
            let advice = advice.collect::<Vec<_>>().join(", ");
            return answer(&[("diagnosis", "long"), ("advice", &format!("{{{advice}}}"))]);
        }
        let text = if said.contains(ADVICE) { "4" } else { "It is four" };
        answer(&[("reasoning", "so"), ("rationale", "so"), ("answer", text)])
    }))
}

const REFINE: &str = r#"{"strategy": "refine", "config": {"module": @, "n": 2, "threshold": 1,
    "reward": {"expression": "1 / outputs.answer|length"}}}"#;

fn refine(module: &str) -> String {
    REFINE.replace('@', module)
}

/// A strategy around `module` that makes one attempt and judges nothing.
fn once(strategy: &str, module: &str) -> String {
    let more = match strategy {
        "majority" => r#""n": 1, "field": "answer""#,
        _ => r#""n": 1, "reward": {"expression": "1"}"#,
    };
    format!(r#"{{"strategy": "{strategy}", "config": {{"module": {module}, {more}}}}}"#)
}

struct Graphs;

impl BuildEnv for Graphs {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        Ok(StoredGraphRef { version: Some(1), ..graph.clone() })
    }

    fn graph(&self, pin: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let node = match &*pin.graph {
            "plain" => r#"{"strategy": "predict"}"#.to_owned(),
            _ => refine(r#"{"strategy": "predict"}"#),
        };
        let document = json(&graph(&node));
        Ok(Box::new(GraphModule::new(&document, &GraphState::default(), self).unwrap()))
    }
}

/// A graph of one node.
fn graph(node: &str) -> String {
    let node = node.trim_end().strip_suffix('}').unwrap();
    format!(
        r#"{{"name": "g", "inputs": {{"question": "str"}},
            "nodes": {{"a": {node}, "signature": "question -> answer"}}}},
            "edges": [{{"from": "input.question", "to": "a.question"}}]}}"#
    )
}

#[tokio::test]
async fn advice_reaches_the_next_attempt_inside_and_around_any_strategy() {
    let predict = r#"{"strategy": "predict"}"#;
    let thought = r#"{"strategy": "chain_of_thought"}"#;
    let graph_of =
        |name: &str| format!(r#"{{"strategy": "graph", "config": {{"graph": "{name}"}}}}"#);
    for node in [
        refine(predict),
        refine(thought),
        refine(&once("best_of_n", thought)),
        once("best_of_n", &refine(thought)),
        once("best_of_n", &once("best_of_n", &refine(predict))),
        once("majority", &refine(predict)),
        refine(&once("majority", predict)),
        refine(r#"{"strategy": "multi_chain_comparison", "config": {"m": 2}}"#),
        refine(&graph_of("plain")),
        once("best_of_n", &graph_of("refined")),
        refine(&once("best_of_n", &graph_of("plain"))),
    ] {
        let document = graph(&node);
        let program = Program::from_document(&json(&document), &Graphs)
            .unwrap_or_else(|problems| panic!("{document}: {problems}"));
        let lm = lm();
        let outcome = program.execute(&run_on(&lm), fields(QUESTION)).await;
        assert!(outputs(&outcome).contains(r#""answer":"4""#), "{node}: {}", outputs(&outcome));
    }
}

/// Answer.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

fn by_length(_: &QaInput, output: &QaOutput) -> f64 {
    1.0 / output.answer.len() as f64
}

fn refined() -> Refine<Predict<Qa>> {
    Refine::new(Predict::new(), 2, 1.0, by_length).unwrap()
}

/// A program with a refined step and another one.
#[derive(Clone, Module)]
struct Outer {
    steps: Vec<Refine<Predict<Qa>>>,
    other: Predict<Qa>,
}

impl Module for Outer {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        self.steps[1].call(ctx, input).await
    }
}

fn outer() -> Outer {
    Outer { steps: vec![refined(), refined()], other: Predict::new() }
}

async fn ends_well<M: Module<Input = QaInput, Output = QaOutput>>(name: &str, module: &M) {
    let lm = lm();
    let found = module.call(&ctx(&lm), QaInput { question: "2 + 2?".into() }).await.unwrap();
    assert_eq!(found.answer, "4", "{name}");
}

#[tokio::test]
async fn advice_reaches_the_next_attempt_of_a_typed_module_within_another() {
    let once = |_: &QaInput, _: &QaOutput| 1.0;
    ends_well("in a list", &outer()).await;
    ends_well("cloned", &outer().clone()).await;
    ends_well("in best of n", &BestOfN::new(outer(), 1, 1.0, once)).await;
    ends_well("around a program", &Refine::new(outer(), 2, 1.0, by_length).unwrap()).await;
    let within = Refine::new(Refine::new(outer(), 1, 1.0, once).unwrap(), 1, 1.0, once).unwrap();
    ends_well("within refine", &within).await;
    let around = Refine::new(BestOfN::new(Predict::<Qa>::new(), 1, 1.0, once), 2, 1.0, by_length);
    ends_well("around best of n", &around.unwrap()).await;
}

#[tokio::test]
async fn advice_reaches_the_next_attempt_of_a_hosted_or_projected_module() {
    let mut module = outer();
    let hosted = HostedModule::new(module.clone(), "").unwrap();
    let found = hosted.forward(&ctx(&lm()), fields(QUESTION)).await.unwrap();
    assert_eq!(found["answer"].as_str(), Some("4"));
    ends_well("after hosting", hosted.module()).await;
    let projected = dsrs::graph::ProgramGraph::from_module_with("g", &mut module, [], []);
    projected.unwrap();
    ends_well("after projection", &module).await;
    // A part that leaves the module it was searched in is a module of its own.
    let part = module.steps.pop().unwrap();
    ends_well("taken out", &part).await;
    let moved = Outer { steps: vec![refined(), part], other: Predict::new() };
    ends_well("moved", &moved).await;
}
