//! `gepa`: instructions that get better by reflection, and candidates that are merged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrs::lm::{Budget, LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::{Example, Metric, OptimizationReport, Task, Trial, Workbench};
use dsrs::problem::At;

use crate::learning::{resumes_after_an_interruption, with_feedback};
use crate::support::{Env, fields, json, keeps_the_rules_at, program, run, task};

/// Iterations of the tests that find an improvement.
const CONFIG: &str = r#"{"max_iterations": 20}"#;

#[tokio::test]
async fn reflection_makes_triage_better() {
    keeps_the_rules_at(with_feedback, "gepa", CONFIG, "triage", 650, 0.15).await;
}

#[tokio::test]
async fn reflection_makes_sums_better() {
    keeps_the_rules_at(with_feedback, "gepa", CONFIG, "sums", 650, 0.12).await;
}

#[tokio::test]
async fn reflection_improves_both_predictors_of_a_chain() {
    keeps_the_rules_at(with_feedback, "gepa", CONFIG, "orders", 1_000, 0.15).await;
}

#[tokio::test]
async fn an_interrupted_search_resumes_to_the_same_result() {
    let config = r#"{"max_iterations": 8}"#;
    resumes_after_an_interruption("gepa", config, "triage", &[50, 170, 260]).await;
}

#[tokio::test]
async fn all_predictors_may_be_changed_at_once() {
    let config = r#"{"max_iterations": 1, "component_selector": "all"}"#;
    let (task, _) = with_feedback("orders", 1, Budget::default());
    let trials = searched(config, task).await.0.trials;
    let changed: Vec<_> = trials[1].candidate.state.0.keys().cloned().collect();
    assert_eq!(changed, [Arc::from("find"), Arc::from("answer")]);
    assert!(trials[1].origin.contains("`find`, `answer`"), "{}", trials[1].origin);
}

/// The text of a request.
fn said(request: &LmRequest) -> String {
    request.chat.messages().map(|said| &*said.content).collect()
}

fn answer(name: &str, value: &str) -> ScriptedAnswer {
    format!("[[ ## {name} ## ]]\n{value}\n\n[[ ## completed ## ]]").into()
}

/// The answer of an LM that proposes this instruction.
fn instructs(instruction: &str) -> ScriptedAnswer {
    let text =
        format!("[[ ## diagnosis ## ]]\n…\n\n[[ ## improved_instruction ## ]]\n{instruction}");
    format!("{text}\n\n[[ ## completed ## ]]").into()
}

fn is_reflection(request: &LmRequest) -> bool {
    said(request).contains("improved_instruction")
}

/// A task of a graph of its own, whose examples are these.
fn task_of(document: &str, lm: &Arc<ScriptedLm>, rows: &[(&str, &str)]) -> Task {
    let graph = program(document);
    let mut task = task(document, lm.clone(), Budget::default());
    let metric = Metric::read(&json(r#""exact""#), &Env, &graph, &At::Root).unwrap();
    task.evaluator.metric = Arc::new(metric);
    let rows = rows.iter().map(|(inputs, expected)| Example::of(fields(inputs), fields(expected)));
    task.train = rows.collect();
    task.val = task.train.clone();
    task
}

async fn searched(config: &str, task: Task) -> (OptimizationReport, Workbench) {
    let (report, bench) = run("gepa", config, task, &[]).await;
    (report.unwrap(), bench)
}

const COUNT: &str = r#"{"name": "count", "nodes": {
    "count": {"strategy": "predict", "signature": "question -> answer: int"}}}"#;
const COUNTS: [(&str, &str); 4] = [
    (r#"{"question": "a"}"#, r#"{"answer": 7}"#),
    (r#"{"question": "b"}"#, r#"{"answer": 7}"#),
    (r#"{"question": "c"}"#, r#"{"answer": 7}"#),
    (r#"{"question": "d"}"#, r#"{"answer": 7}"#),
];

#[tokio::test]
async fn reflection_includes_answers_that_cannot_be_parsed() {
    let lm = Arc::new(ScriptedLm::by(|request| match said(request) {
        _ if is_reflection(request) => instructs("Write digits."),
        said if said.contains("Write digits.") => answer("answer", "7"),
        _ => answer("answer", "as many as there are"),
    }));
    let (report, bench) = searched("{}", task_of(COUNT, &lm, &COUNTS)).await;
    let best = bench.candidate(report.best);
    assert_eq!(best.state.0["count"].instruction.as_deref(), Some("Write digits."));
    assert_eq!((report.trials.len(), report.trials[1].full.unwrap().mean), (2, 1.0));
    let requests = lm.requests();
    let reflection = said(requests.iter().find(|request| is_reflection(request)).unwrap());
    for expected in [
        "the program failed at `count` (parse_error)",
        "as many as there are",
        "inputs of the program:\n  question: ",
        "score (0 to 1): 0",
    ] {
        assert_eq!(reflection.matches(expected).count(), 3, "{expected}: {reflection}");
    }
}

#[tokio::test]
async fn perfect_examples_are_skipped() {
    let lm = Arc::new(ScriptedLm::always(answer("answer", "7")));
    let (report, _) = searched("{}", task_of(COUNT, &lm, &COUNTS)).await;
    assert_eq!((report.best, report.trials.len()), (Workbench::BASE, 1));
    assert_eq!(lm.requests().len(), 4);
}

#[tokio::test]
async fn a_failed_reflection_is_skipped() {
    let reflections = AtomicUsize::new(0);
    let lm = Arc::new(ScriptedLm::by(move |request| match is_reflection(request) {
        true if reflections.fetch_add(1, Ordering::Relaxed) < 2 => {
            ScriptedAnswer::fail(LmErrorKind::Refused, "not today")
        }
        true => instructs("COUNT"),
        false => answer("answer", "8"),
    }));
    let (report, _) = searched(r#"{"max_iterations": 3}"#, task_of(COUNT, &lm, &COUNTS)).await;
    assert_eq!((report.stopped.clone(), report.trials.len()), (None, 2));
    assert_eq!(lm.requests().iter().filter(|request| is_reflection(request)).count(), 3);
}

/// Some questions need a good draft and some a good end; the others need both or neither.
const TWO: &str = r#"{"name": "two", "nodes": {
    "draft": {"strategy": "predict", "signature": "question -> draft"},
    "end": {"strategy": "predict", "signature": "draft -> answer"}},
  "edges": [{"from": "draft.draft", "to": "end.draft"}],
  "outputs": {"answer": "end.answer"}}"#;

fn writes_two() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(|request| {
        let said = said(request);
        if is_reflection(request) {
            let is_draft = said.contains("[[ ## part ## ]]\ndraft:");
            return instructs(if is_draft { "GOOD DRAFT" } else { "GOOD END" });
        }
        let asked = request.chat.messages().last().unwrap().content.to_string();
        if asked.contains("[[ ## question ## ]]") {
            let kind = ["deep", "neat", "even"].into_iter().find(|kind| asked.contains(kind));
            let good = if said.contains("GOOD DRAFT") { "well done" } else { "plain" };
            return answer("draft", &format!("{} {good}", kind.unwrap_or_default()));
        }
        let (draft, end) = (asked.contains("well done"), said.contains("GOOD END"));
        let is_right = (asked.contains("deep") && draft)
            || (asked.contains("neat") && end)
            || (asked.contains("even") && draft == end);
        answer("answer", if is_right { "yes" } else { "no" })
    }))
}

async fn two(config: &str, seed: u64) -> Vec<Trial> {
    let rows: Vec<(String, &str)> = ["deep", "neat", "even"]
        .into_iter()
        .flat_map(|kind| {
            (0..4)
                .map(move |n| (format!(r#"{{"question": "{kind} {n}"}}"#), r#"{"answer": "yes"}"#))
        })
        .collect();
    let rows: Vec<(&str, &str)> =
        rows.iter().map(|(inputs, expected)| (&**inputs, *expected)).collect();
    let mut task = task_of(TWO, &writes_two(), &rows);
    task.seed = seed;
    searched(config, task).await.0.trials
}

#[tokio::test]
async fn candidates_that_improved_different_predictors_are_merged() {
    let is_merger = |trial: &&Trial| trial.parents.len() == 2;
    let mut mergers = 0;
    for seed in 0..12 {
        for merger in two("{}", seed).await.iter().filter(is_merger) {
            let states = &merger.candidate.state.0;
            let instructions =
                ["draft", "end"].map(|path| states[path].instruction.as_deref().unwrap());
            assert_eq!(instructions, ["GOOD DRAFT", "GOOD END"]);
            assert!(merger.origin.ends_with(", which descend from 0"), "{}", merger.origin);
            assert_eq!((merger.partial[0].examples, merger.full.unwrap().mean), (5, 1.0));
            mergers += 1;
        }
        for off in [r#"{"use_merge": false}"#, r#"{"max_merge_invocations": 0}"#] {
            assert_eq!(two(off, seed).await.iter().filter(is_merger).count(), 0);
        }
    }
    assert!(mergers >= 3, "{mergers}");
}
