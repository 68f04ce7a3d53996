//! Demos that are bootstrapped: `bootstrap_few_shot` and `bootstrap_random_search`.

use dsrs::lm::Budget;
use dsrs::optimize::TrialId;

use crate::support::{keeps_the_rules, run, synthetic};

#[tokio::test]
async fn demos_from_rollouts_that_went_well_make_triage_better() {
    let config = r#"{"max_bootstrapped_demos": 4, "max_labeled_demos": 8}"#;
    keeps_the_rules("bootstrap_few_shot", config, "triage", 350, 0.1).await;
}

#[tokio::test]
async fn demos_of_intermediate_steps_improve_a_chain() {
    let config = r#"{"max_bootstrapped_demos": 6, "max_labeled_demos": 6}"#;
    keeps_the_rules("bootstrap_few_shot", config, "orders", 700, 0.05).await;
}

#[tokio::test]
async fn the_best_of_many_sets_of_demos_is_selected() {
    let config = r#"{"num_candidate_programs": 6, "max_labeled_demos": 8}"#;
    keeps_the_rules("bootstrap_random_search", config, "triage", 1_000, 0.15).await;
}

#[tokio::test]
async fn only_successful_runs_become_demos_of_each_predictor() {
    let (task, _) = synthetic("orders", 1, Budget::default());
    let train = task.train.clone();
    let config = r#"{"max_bootstrapped_demos": 3, "max_labeled_demos": 0}"#;
    let (report, bench) = run("bootstrap_few_shot", config, task, &[]).await;
    assert_eq!(report.unwrap().best, TrialId(1));
    let taught = bench.candidate(TrialId(1));
    let states: Vec<_> = taught.state.0.values().collect();
    assert_eq!(states.len(), 2);
    assert!(states.iter().all(|state| state.demos.len() == 3));
    // In each demo, the last predictor returns the expected output.
    for demo in &states[1].demos {
        assert!(train.iter().any(|example| {
            example.expected.iter().all(|(name, value)| demo.output.get(name) == Some(value))
        }));
    }
}

#[tokio::test]
async fn a_search_ends_when_the_score_is_reached() {
    let (task, _) = synthetic("triage", 1, Budget::default());
    let config = r#"{"num_candidate_programs": 20, "stop_at_score": 0.5}"#;
    let (report, _) = run("bootstrap_random_search", config, task, &[]).await;
    assert!(report.unwrap().trials.len() < 5);
}
