//! `strategy_search`: graphs are changed, checked, tried, and replaced by better ones.

use std::sync::Arc;

use dsrs::graph::{GraphState, Program};
use dsrs::lm::{Budget, BudgetLimit};
use dsrs::optimize::{
    Candidate, EarlyStop, Example, OptimizationReport, Task, TrialId, Workbench, create_optimizer,
};
use dsrs::problem::{At, Problems};
use dsrs::signature::SignatureSchema;
use dsrs::types::TypeIR;
use dsrs::value::Payload;
use dsrs_synthetic::SyntheticLm;
use proptest::prelude::*;

use crate::support::{Env, board, fields, json, keeps_the_rules, means, run, synthetic, task};

/// The strategy of a node of the best that was found.
fn strategy(report: &OptimizationReport, node: &str) -> String {
    let document = &report.trials[report.best.0].candidate.document;
    let member = |within: &Payload, name: &str| within.as_map().unwrap()[name].clone();
    let strategy = member(&member(&member(document, "nodes"), node), "strategy");
    strategy.as_str().unwrap().to_owned()
}

/// The inputs and outputs of a graph.
fn contract(signature: &SignatureSchema) -> Vec<(Arc<str>, TypeIR)> {
    let all = signature.inputs.iter().chain(&signature.outputs);
    all.map(|field| (field.name.clone(), field.ty.clone())).collect()
}

/// Every candidate is a program from its own document, complete, and serves as the first one does.
fn assert_all_serve(report: &OptimizationReport) {
    let base = Program::from_document(&report.trials[0].candidate.document, &Env).unwrap();
    for trial in &report.trials {
        let Candidate { document, state } = &*trial.candidate;
        let built = Program::from_document(document, &Env).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(built.document(), &**document, "{}", trial.origin);
        assert_eq!(contract(&built.signature()), contract(&base.signature()), "{}", trial.origin);
        assert_eq!(built.graph().exposure(), base.graph().exposure(), "{}", trial.origin);
        let tuned = built.with_state(&Env, state, &At::Root);
        assert!(tuned.is_ok(), "{}: {:?}", trial.origin, tuned.err());
    }
}

#[tokio::test]
async fn sums_are_done_better_by_another_strategy() {
    keeps_the_rules("strategy_search", r#"{"rounds": 2}"#, "sums", 2000, 0.2).await;
}

#[tokio::test]
async fn with_a_cost_weight_the_cheapest_reasoning_graph_wins() {
    let (task, held_out) = synthetic("sums", 1, Budget::default());
    let config = r#"{"cost_weight": 0.5}"#;
    let (report, _) = run("strategy_search", config, task, &held_out).await;
    let report = report.unwrap();
    assert_eq!(strategy(&report, "solve"), "chain_of_thought");
    let (before, after) = means(&report);
    assert!(after - before >= 0.2, "{before} to {after}");
    let full = |id: TrialId| report.trials[id.0].full.unwrap();
    let best = full(report.best);
    assert!(best.objective < best.mean && best.objective > full(TrialId(0)).objective);
}

#[tokio::test]
async fn with_a_high_cost_weight_the_graph_is_unchanged() {
    let (task, held_out) = synthetic("sums", 1, Budget::default());
    let config = r#"{"cost_weight": 2}"#;
    let (report, _) = run("strategy_search", config, task, &held_out).await;
    let report = report.unwrap();
    assert_eq!((report.best, strategy(&report, "solve").as_str()), (TrialId(0), "predict"));
    // It was seen that they do better.
    let thinks = report.trials.iter().find(|trial| trial.origin.contains("chain_of_thought"));
    assert!(thinks.unwrap().partial[0].mean > report.trials[0].full.unwrap().mean);
}

#[tokio::test]
async fn changes_are_sampled_reproducibly() {
    let chain: Vec<Drawn> = (0..12).map(|at| (0, vec![at], vec![0], false)).collect();
    let mut boards = Vec::new();
    for most in [5, 5, 1000] {
        let config = format!(r#"{{"rounds": 1, "candidates": {most}, "max_nodes": 12}}"#);
        let report = search(&graph(&chain), &config).await;
        let count = |report: &OptimizationReport, what: &str| {
            report.trials.iter().filter(|trial| trial.origin.contains(what)).count()
        };
        // There is no room for more nodes.
        assert_eq!(count(&report, "revises") + count(&report, "plans"), 0);
        if most == 5 {
            assert_eq!(report.trials.len(), 1 + 5);
        } else {
            assert_eq!(count(&report, "predict becomes chain_of_thought"), 12);
        }
        boards.push(board(&report));
    }
    assert_eq!(boards[0], boards[1]);
    assert!(boards[0].iter().all(|tried| boards[2].iter().any(|all| all.0 == tried.0)));
}

#[tokio::test]
async fn a_budget_spent_in_a_later_round_results_in_the_best_candidate() {
    let budget = Budget { lm_calls: Some(1100), ..Budget::default() };
    let (task, held_out) = synthetic("sums", 1, budget);
    let (report, _) = run("strategy_search", "{}", task, &held_out).await;
    let report = report.unwrap();
    assert_eq!(report.stopped, Some(EarlyStop::BudgetSpent(BudgetLimit::LmCalls)));
    assert!(report.spent.lm_calls <= 1100);
    let (best, base) = (report.trials[report.best.0].full, report.trials[0].full);
    assert!(best.unwrap().mean > base.unwrap().mean + 0.2);
    // The reserve suffices for a graph as expensive as the first; this one is more expensive.
    assert!(report.held_out_scores().1.len() >= 30);
    let (before, after) = means(&report);
    assert!(after - before >= 0.2, "{before} to {after}");
}

#[tokio::test]
async fn every_candidate_is_a_program_with_the_inputs_and_outputs_of_the_graph() {
    let (task, _) = synthetic("orders", 1, Budget::default());
    let config = r#"{"rounds": 1}"#;
    let (report, _) = run("strategy_search", config, task, &[]).await;
    let report = report.unwrap();
    assert_all_serve(&report);
    let origins: Vec<&str> = report.trials.iter().map(|trial| &*trial.origin).collect();
    for wanted in [
        "`find`: predict becomes chain_of_thought",
        "`answer`: predict becomes majority of chain_of_thought",
        "`find_revised` revises the outputs of `find`",
        "`answer_plan` plans the task of `answer`",
        "`find_letter_rewritten` rewrites `letter` for `find`",
        "without `find`",
    ] {
        assert!(origins.contains(&wanted), "{wanted}: {origins:?}");
    }
    // Strategies with other output types, or with required config, are not candidates.
    for unwanted in ["parallel", "best_of_n", "react", "program_of_thought"] {
        assert!(!origins.iter().any(|origin| origin.contains(unwanted)), "{unwanted}");
    }
}

/// The task with something tuned in both of its nodes.
fn tuned() -> Task {
    let (task, _) = synthetic("orders", 1, Budget::default());
    let state = r#"{
        "find": {"instruction": "Look at the current order only.", "demos": [
            {"input": {"letter": "l", "question": "q"}, "output": {"facts": "f"}}]},
        "answer": {"instruction": "Always name the unit.", "demos": []}}"#;
    let mut problems = Problems::new();
    let state = GraphState::read(&json(state), &At::Root, &mut problems).unwrap();
    Task { base: Candidate { state, ..task.base.clone() }, ..task }
}

#[tokio::test]
async fn state_is_inherited_by_name_and_type() {
    let base = tuned().base.state;
    let (report, _) = run("strategy_search", r#"{"rounds": 1}"#, tuned(), &[]).await;
    let report = report.unwrap();
    let made = |what: &str| {
        let found = report.trials.iter().find(|trial| trial.origin.starts_with(what));
        found.unwrap_or_else(|| panic!("{what}")).candidate.state.clone()
    };
    let inherited =
        |state: &GraphState, path: &str, from: &str| state.0.get(path) == base.0.get(from);
    for (what, find, answer) in [
        ("`find`: predict becomes chain_of_thought", "find.predict", "answer"),
        ("`answer`: predict becomes majority", "find", "answer.module.predict"),
        ("`find_revised`", "find", "answer"),
        ("`find_plan`", "find", "answer"),
        ("`answer_facts_rewritten`", "find", "answer"),
    ] {
        let state = made(what);
        assert!(
            inherited(&state, find, "find") && inherited(&state, answer, "answer"),
            "{what}: {state:?}"
        );
        assert_eq!(state.0.len(), 2, "{what}");
    }
    let without = made("without `find`; the state of find is lost");
    assert!(without.0.len() == 1 && inherited(&without, "answer", "answer"));
    assert_all_serve(&report);
}

#[tokio::test]
async fn a_dropped_state_is_reported() {
    let document = r#"{"name": "sums", "nodes": {"solve": {"strategy": "chain_of_thought",
        "signature": {"inputs": [{"name": "problem"}],
            "outputs": [{"name": "result", "type": "int"}]}}},
        "outputs": {"result": "solve.result"}}"#;
    let (sums, _) = synthetic("sums", 1, Budget::default());
    let mut task = Task {
        val: sums.val,
        ..task(document, Arc::new(SyntheticLm::seeded(1)), Budget::default())
    };
    task.base =
        task.base.with("solve.predict", |state| state.instruction = Some("Think twice.".into()));
    let config = r#"{"rounds": 1, "moves": ["strategy"], "strategies": ["predict", "majority"]}"#;
    let (report, _) = run("strategy_search", config, task, &[]).await;
    let origins: Vec<String> =
        report.unwrap().trials.iter().map(|trial| trial.origin.to_string()).collect();
    let wanted = [
        "as it was",
        "`solve`: chain_of_thought becomes predict; the state of solve.predict is lost",
        "`solve`: chain_of_thought becomes majority of chain_of_thought",
    ];
    assert_eq!(origins, wanted);
}

#[tokio::test]
async fn alternating_structure_and_prompts_beats_either_alone() {
    let prompts = r#"{"optimizer": "labeled_few_shot", "config": {"k": 12}}"#;
    let strategies = r#"["predict", "chain_of_thought"]"#;
    let alone = format!(r#"{{"strategies": {strategies}}}"#);
    let turns = format!(r#"{{"strategies": {strategies}, "prompt_optimizer": {prompts}}}"#);
    let mut found = Vec::new();
    for (optimizer, config) in [
        ("labeled_few_shot", r#"{"k": 12}"#),
        ("strategy_search", alone.as_str()),
        ("strategy_search", turns.as_str()),
    ] {
        let (task, held_out) = synthetic("sums", 1, Budget::default());
        let (report, _) = run(optimizer, config, task, &held_out).await;
        found.push(report.unwrap());
    }
    let after: Vec<f64> = found.iter().map(|report| means(report).1).collect();
    assert!(after[2] > after[0] && after[2] > after[1], "{after:?}");
    let both = &found[2];
    assert_eq!(strategy(both, "solve"), "chain_of_thought");
    let best = &both.trials[both.best.0];
    assert!(best.candidate.state.0.values().any(|state| !state.demos.is_empty()));
    assert_all_serve(both);
}

#[tokio::test]
async fn a_search_continues_from_another_optimizer() {
    let bench = Workbench::new(tuned());
    let start = bench.candidate(Workbench::BASE).with("find", |state| state.demos.clear());
    let start = bench.enter(start, &[Workbench::BASE], "by hand");
    let config =
        json(r#"{"rounds": 1, "moves": ["strategy"], "strategies": ["chain_of_thought"]}"#);
    let (_, optimizer) = create_optimizer("strategy_search", Some(&config), &At::Root).unwrap();
    optimizer.run(&bench.starting_from(start)).await.unwrap();
    let trials = bench.trials();
    let made: Vec<_> = trials.iter().skip(2).map(|trial| trial.parents.clone()).collect();
    assert_eq!(made, [[start], [start]]);
    assert!(trials[0].full.is_none() && trials[1].full.is_some());
}

#[test]
fn problems_of_a_config_are_reported_at_their_places() {
    for (config, pointer, says) in [
        (r#"{"strategies": ["predikt"]}"#, "/config/strategies/0/strategy", "`predict`"),
        (r#"{"strategies": ["predict", "best_of_n"]}"#, "/config/strategies/1", "`config`"),
        (r#"{"strategies": ["concat"]}"#, "/config/strategies/0", "calls an LM"),
        (
            r#"{"strategies": [{"strategy": "majority", "config": {"m": 3}}]}"#,
            "/config/strategies/0/config",
            "`majority`",
        ),
        (
            r#"{"prompt_optimizer": {"optimizer": "strategy_search"}}"#,
            "/config/prompt_optimizer/optimizer",
            "changes the graph",
        ),
        (
            r#"{"prompt_optimizer": {"optimizer": "labeled_few_shot", "config": {"k": 0}}}"#,
            "/config/prompt_optimizer/config/k",
            "minimum",
        ),
        (r#"{"moves": ["shuffle"]}"#, "/config/moves/0", "shuffle"),
        (r#"{"beams": 2}"#, "/config", "beams"),
    ] {
        let problems =
            create_optimizer("strategy_search", Some(&json(config)), &At::Root).err().unwrap();
        let problem = problems.iter().next().unwrap();
        assert_eq!(problem.pointer, pointer, "{config}");
        assert!(problem.detail.contains(says), "{config}: {}", problem.detail);
    }
}

const TYPES: [&str; 6] = ["str", "int", "float", "bool", "list[str]", "'yes' | 'no'"];
const STRATEGIES: [&str; 4] = [
    r#""strategy": "predict""#,
    r#""strategy": "chain_of_thought""#,
    r#""strategy": "majority", "config": {"module": {"strategy": "predict"}, "n": 2}"#,
    r#""strategy": "multi_chain_comparison", "config": {"m": 2}"#,
];

/// A random node: its strategy, the sources of its inputs (by number, among all before it), the
/// types of its outputs, and whether an op follows it.
type Drawn = (usize, Vec<usize>, Vec<usize>, bool);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let inputs = prop::collection::vec(0..20_usize, 1..3);
    let outputs = prop::collection::vec(0..TYPES.len(), 1..3);
    prop::collection::vec((0..STRATEGIES.len(), inputs, outputs, any::<bool>()), 1..4)
}

/// A graph over two inputs, whose nodes take what any before them give.
fn graph(drawn: &[Drawn]) -> String {
    let mut known: Vec<(String, &str)> =
        vec![("input.text".to_owned(), "str"), ("input.number".to_owned(), "int")];
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for (at, (strategy, inputs, outputs, op)) in drawn.iter().enumerate() {
        let taken: Vec<_> = inputs.iter().map(|input| known[input % known.len()].clone()).collect();
        let fields = |kind: &str, types: Vec<&str>| {
            let field =
                |(n, ty): (usize, &str)| format!(r#"{{"name": "{kind}{at}_{n}", "type": "{ty}"}}"#);
            types.into_iter().enumerate().map(field).collect::<Vec<_>>().join(", ")
        };
        let takes = fields("i", taken.iter().map(|(_, ty)| *ty).collect());
        let gives = fields("o", outputs.iter().map(|ty| TYPES[*ty]).collect());
        nodes.push(format!(
            r#""n{at}": {{{}, "signature": {{"inputs": [{takes}], "outputs": [{gives}]}}}}"#,
            STRATEGIES[*strategy]
        ));
        edges.extend(
            taken
                .iter()
                .enumerate()
                .map(|(n, (from, _))| format!(r#"{{"from": "{from}", "to": "n{at}.i{at}_{n}"}}"#)),
        );
        known.extend(
            outputs.iter().enumerate().map(|(n, ty)| (format!("n{at}.o{at}_{n}"), TYPES[*ty])),
        );
        if *op {
            nodes.push(format!(r#""op{at}": {{"strategy": "concat"}}"#));
            edges.push(format!(r#"{{"from": "input.text", "to": "op{at}.a"}}"#));
            edges.push(format!(r#"{{"from": "input.text", "to": "op{at}.b"}}"#));
        }
    }
    let last = known.iter().rev().take(2).enumerate();
    let outputs: Vec<_> = last.map(|(n, (from, _))| format!(r#""out{n}": "{from}""#)).collect();
    format!(
        r#"{{"name": "drawn", "expose": {{"openai": {{"input": "text", "output": "out0"}}, "mcp": true}},
            "inputs": {{"text": "str", "number": "int"}},
            "nodes": {{{}}}, "edges": [{}], "outputs": {{{}}}}}"#,
        nodes.join(", "),
        edges.join(", "),
        outputs.join(", ")
    )
}

/// Searches from a graph that was drawn, with one example.
async fn search(document: &str, config: &str) -> OptimizationReport {
    let inputs = fields(r#"{"text": "a", "number": 1}"#);
    let val = vec![Example::of(inputs, fields(r#"{"out0": "a"}"#))];
    let lm = Arc::new(SyntheticLm::seeded(1));
    let task = Task { val, ..task(document, lm, Budget::default()) };
    run("strategy_search", config, task, &[]).await.0.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn changes_of_any_graph_check_and_have_its_signature(drawn in drawn()) {
        let document = graph(&drawn);
        let config = r#"{"rounds": 2, "beam": 3, "finalists": 4, "candidates": 1000}"#;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let report = runtime.block_on(search(&document, config));
        assert_all_serve(&report);
        let made = |what: &str| report.trials.iter().any(|trial| trial.origin.contains(what));
        prop_assert!(made("revises") && made("plans") && made("becomes"), "{}", document);
    }
}
