//! `mipro_v2`: instructions and demos found together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrs::lm::{Budget, LmErrorKind, LmRequest, Models, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::{OptimizationReport, Task, Trial, TrialId, Workbench, create_optimizer};
use dsrs::problem::At;
use dsrs_synthetic::SyntheticLm;

use crate::support::{json, keeps_the_rules, means, questions, run, synthetic, task};

/// A chain of two that answers questions.
const CHAIN: &str = r#"{
    "name": "library",
    "nodes": {
        "find": {"strategy": "predict", "signature": {
            "instructions": "Find the page.",
            "inputs": [{"name": "question"}], "outputs": [{"name": "page"}]}},
        "read": {"strategy": "predict", "signature": {
            "instructions": "Read the answer from the page.",
            "inputs": [{"name": "page"}, {"name": "question"}], "outputs": [{"name": "answer"}]}}},
    "edges": [{"from": "find.page", "to": "read.page"}],
    "outputs": {"answer": "read.answer"}
}"#;

const TWELVE: &str = r#"{"num_candidates": 12, "num_trials": 30, "max_bootstrapped_demos": 6,
    "max_labeled_demos": 6}"#;

const FEW: &str = r#"{"num_candidates": 3, "num_trials": 4}"#;

#[tokio::test]
async fn better_instructions_and_demos_for_triage_are_found() {
    let config = r#"{"auto": "medium", "max_labeled_demos": 8}"#;
    keeps_the_rules("mipro_v2", config, "triage", 1_500, 0.15).await;
}

#[tokio::test]
async fn the_lightest_search_makes_sums_better() {
    keeps_the_rules("mipro_v2", "{}", "sums", 800, 0.08).await;
}

#[tokio::test]
async fn a_chain_of_two_gets_better() {
    keeps_the_rules("mipro_v2", TWELVE, "orders", 3_000, 0.15).await;
}

#[tokio::test]
async fn both_parts_of_a_chain_improve() {
    let (task, held_out) = synthetic("orders", 3, Budget::default());
    let (report, bench) = run("mipro_v2", TWELVE, task, &[]).await;
    let best = bench.candidate(report.unwrap().best);
    let base = bench.candidate(Workbench::BASE);
    let examples: Vec<_> = held_out.iter().collect();
    let before = bench.evaluate(&base, &examples, None).await.unwrap().mean();
    for part in ["find", "answer"] {
        let tuned = best.state.0.get(part).unwrap_or_else(|| panic!("{part} is as it was"));
        let alone = base.with(part, |state| *state = tuned.clone());
        let after = bench.evaluate(&alone, &examples, None).await.unwrap().mean();
        assert!(after > before, "{part}: {before} to {after}");
    }
}

#[tokio::test]
async fn without_demos_only_instructions_are_optimized() {
    let config = r#"{"max_bootstrapped_demos": 0, "max_labeled_demos": 0, "auto": "medium"}"#;
    let (task, held_out) = synthetic("triage", 1, Budget::default());
    let (report, _) = run("mipro_v2", config, task, &held_out).await;
    let report = report.unwrap();
    let (before, after) = means(&report);
    assert!(after >= before + 0.1, "{before} to {after}");
    let states = report.trials.iter().flat_map(|trial| trial.candidate.state.0.values());
    assert!(states.into_iter().all(|state| state.demos.is_empty()));
}

#[tokio::test]
async fn a_spent_budget_results_in_the_best_candidate_so_far() {
    for limit in [100, 101, 260, 330, 450] {
        let lm = Arc::new(SyntheticLm::seeded(1));
        let budget = Budget { lm_calls: Some(limit), ..Budget::default() };
        let (mut task, held_out) = synthetic("triage", 1, budget);
        task.evaluator.models = Arc::new(Models::only(lm.clone()));
        let (report, _) = run("mipro_v2", "{}", task, &held_out).await;
        let report = report.unwrap();
        assert!(report.stopped.is_some(), "{limit}");
        assert_eq!(report.spent.lm_calls, lm.requests(), "{limit}");
        assert!(lm.requests() <= limit, "{limit}: {}", lm.requests());
        let best = &report.trials[report.best.0];
        assert!(best.full.is_some() || report.best == TrialId(0), "{limit}");
        let none_better = |other: &Trial| {
            let mean = |trial: &Trial| trial.full.map_or(0.0, |scored| scored.mean);
            mean(other) <= mean(best)
        };
        assert!(report.trials.iter().all(none_better), "{limit}");
    }
}

#[tokio::test]
async fn promising_combinations_get_full_evaluations() {
    let config = r#"{"num_candidates": 6, "num_trials": 12, "minibatch_size": 20}"#;
    let (task, _) = synthetic("triage", 1, Budget::default());
    let (report, _) = run("mipro_v2", config, task, &[]).await;
    let report = report.unwrap();
    let tried = report.trials.iter().flat_map(|trial| &trial.partial);
    let sizes: Vec<_> = tried.map(|scored| scored.examples).collect();
    assert_eq!(sizes, [20; 12]);
    // The original program, then after the fifth, the tenth and the last trial.
    let whole: Vec<&Trial> = report.trials.iter().filter(|trial| trial.full.is_some()).collect();
    assert_eq!(whole.len(), 4);
    assert!(whole.iter().all(|trial| trial.full.unwrap().examples == 60));
    let of_five = &report.trials[1..=5];
    let partial = |trial: &&Trial| trial.partial[0].mean;
    let promising = of_five.iter().map(|trial| partial(&trial)).fold(0.0, f64::max);
    assert!(of_five.iter().any(|trial| trial.full.is_some() && partial(&trial) == promising));
}

#[tokio::test]
async fn a_small_valset_is_always_evaluated_whole() {
    let (mut task, _) = synthetic("triage", 1, Budget::default());
    task.val.truncate(40);
    let (report, _) = run("mipro_v2", FEW, task, &[]).await;
    let report = report.unwrap();
    assert_eq!(report.trials.len(), 5);
    assert!(report.trials.iter().all(|trial| trial.partial.is_empty()));
    assert!(report.trials.iter().all(|trial| trial.full.unwrap().examples == 40));
}

#[tokio::test]
async fn a_search_ends_with_the_last_combination() {
    let (mut task, _) = synthetic("triage", 1, Budget::default());
    task.val.truncate(20);
    let config = r#"{"num_candidates": 2, "num_trials": 50}"#;
    let (report, _) = run("mipro_v2", config, task, &[]).await;
    assert_eq!(report.unwrap().trials.len(), 4);
}

/// The last known output that a request asks for.
fn wanted(request: &LmRequest) -> &'static str {
    let system: &str = &request.chat.messages().next().unwrap().content;
    let outputs =
        system.rsplit_once("You write these outputs:").map_or(system, |(_, outputs)| outputs);
    let known = ["new_instruction", "notes", "summary", "description", "role", "page", "answer"];
    let asked = known.into_iter().find(|name| outputs.contains(&format!("`{name}` (")));
    asked.unwrap_or_else(|| panic!("{system}"))
}

fn answer(fields: &[(&str, &str)]) -> ScriptedAnswer {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    format!("{}[[ ## completed ## ]]", sections.collect::<String>()).into()
}

/// A librarian: finds page and answer of every question with an even number, or of all questions if
/// the instruction says to look twice. `writes` returns its proposals.
fn librarian(writes: impl Fn(usize) -> ScriptedAnswer + Send + Sync + 'static) -> Arc<ScriptedLm> {
    let written = AtomicUsize::new(0);
    Arc::new(ScriptedLm::by(move |request| {
        let said: Vec<_> = request.chat.messages().map(|said| said.content.to_string()).collect();
        let asked = said.last().unwrap().split('q').nth(2).unwrap_or_default();
        let number: String = asked.chars().take_while(char::is_ascii_digit).collect();
        let even = number.parse::<usize>().is_ok_and(|number| number % 2 == 0);
        match wanted(request) {
            "new_instruction" => writes(written.fetch_add(1, Ordering::Relaxed)),
            "notes" => answer(&[
                ("notes", "Questions are a letter and a number, and so are answers."),
                ("nothing_new", "false"),
            ]),
            "summary" => answer(&[("summary", "Short questions with short answers.")]),
            "description" => answer(&[("description", "It looks answers up in a library.")]),
            "role" => answer(&[("role", "It does half of the work.")]),
            "page" => answer(&[("page", &format!("page {number}"))]),
            _ if even || said[0].contains("Look twice.") => {
                answer(&[("answer", &format!("a{number}"))])
            }
            _ => answer(&[("answer", "no idea")]),
        }
    }))
}

fn library(lm: Arc<ScriptedLm>) -> Task {
    task(CHAIN, lm, Budget::default())
}

#[tokio::test]
async fn a_proposal_is_grounded_in_data_program_demos_and_a_tip() {
    let lm = librarian(|_| answer(&[("new_instruction", "Look twice.")]));
    let (report, bench) = run("mipro_v2", FEW, library(lm.clone()), &questions(40..50)).await;
    let report = report.unwrap();
    let tuned = &bench.candidate(report.best).state.0;
    assert_eq!(tuned["read"].instruction.as_deref(), Some("Look twice."));
    assert_eq!(means(&report), (0.5, 1.0));
    let mut asked: Vec<String> = requests_for(&lm, "new_instruction", "read: inputs `page`");
    asked.sort();
    assert_eq!(asked.len(), 2);
    insta::assert_snapshot!(asked[0]);
}

/// The requests for an output that describe this part.
fn requests_for(lm: &ScriptedLm, output: &str, saying: &str) -> Vec<String> {
    let requests = lm.requests();
    let asked = requests.iter().filter(|request| wanted(request) == output);
    let asked = asked.map(|request| {
        let said: Vec<_> = request.chat.messages().map(|said| said.content.to_string()).collect();
        said.join("\n\n----\n\n")
    });
    asked.filter(|said| said.contains(&format!("[[ ## part ## ]]\n{saying}"))).collect()
}

#[tokio::test]
async fn disabled_grounding_is_neither_requested_nor_shown() {
    let lm = librarian(|_| answer(&[("new_instruction", "Look twice.")]));
    let config = r#"{"num_candidates": 3, "num_trials": 4, "data_aware_proposer": false,
        "program_aware_proposer": false, "fewshot_aware_proposer": false,
        "tip_aware_proposer": false}"#;
    run("mipro_v2", config, library(lm.clone()), &[]).await.0.unwrap();
    let requests = lm.requests();
    let asked = |output: &str| requests.iter().filter(|one| wanted(one) == output).count();
    assert_eq!(["notes", "summary", "description", "role"].map(asked), [0; 4]);
    let proposals = requests_for(&lm, "new_instruction", "read: inputs");
    assert_eq!(proposals.len(), 2);
    for name in ["about_the_data", "program", "about_the_part", "done_well", "tip"] {
        assert!(!proposals[0].contains(&format!("`{name}`")), "{name}: {}", proposals[0]);
    }
}

fn instructions_tried(report: &OptimizationReport) -> usize {
    let states = report.trials.iter().flat_map(|trial| trial.candidate.state.0.values());
    states.filter(|state| state.instruction.is_some()).count()
}

#[tokio::test]
async fn failed_and_repeated_proposals_are_skipped() {
    let lm = librarian(|number| match number % 4 {
        0 => ScriptedAnswer::fail(LmErrorKind::Refused, "not today"),
        1 => answer(&[("new_instruction", " ")]),
        2 => answer(&[("new_instruction", "Read the answer from the page.")]),
        _ => answer(&[("new_instruction", "Look twice.")]),
    });
    let config = r#"{"num_candidates": 9, "num_trials": 12}"#;
    let (report, _) = run("mipro_v2", config, library(lm), &questions(40..50)).await;
    let report = report.unwrap();
    assert_eq!((report.stopped.clone(), means(&report)), (None, (0.5, 1.0)));
    let states = report.trials.iter().flat_map(|trial| trial.candidate.state.0.iter());
    let read = states.filter(|(path, _)| path.as_ref() == "read");
    let mut tried: Vec<_> = read.filter_map(|(_, state)| state.instruction.clone()).collect();
    tried.sort();
    tried.dedup();
    assert_eq!(tried, ["Look twice.".into()]);
}

#[tokio::test]
async fn without_proposals_only_demos_are_searched() {
    let lm = librarian(|_| ScriptedAnswer::fail(LmErrorKind::Refused, "not today"));
    let (report, _) = run("mipro_v2", FEW, library(lm), &[]).await;
    let report = report.unwrap();
    assert_eq!((report.stopped.clone(), instructions_tried(&report)), (None, 0));
    assert!(report.trials.len() > 1);
}

#[test]
fn a_preset_with_counts_is_refused() {
    let counts = json(r#"{"auto": null, "num_trials": 5}"#);
    assert!(create_optimizer("mipro_v2", Some(&counts), &At::Root).is_ok());
    let config = json(r#"{"auto": "light", "num_trials": 5}"#);
    let refused = create_optimizer("mipro_v2", Some(&config), &At::Root).err().unwrap();
    assert_eq!(refused.iter().next().unwrap().pointer, "/config/auto");
}
