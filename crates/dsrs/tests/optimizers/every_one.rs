//! Every optimizer with its default config on all three tasks of the synthetic LM.

use std::sync::Arc;

use dsrs::lm::{Budget, EmbeddingModel, Model, Models};
use dsrs::optimize::{EarlyStop, Example, Task, optimizers};
use dsrs_synthetic::{SyntheticEmbedder, SyntheticLm};

use crate::support::{means, run, synthetic};

/// What may be spent on each task.
const TASKS: [(&str, u64); 3] = [("triage", 1_500), ("sums", 1_500), ("orders", 3_000)];

/// The minimum gain on held-out examples.
const GAIN: f64 = 0.04;

/// All but the one that needs decisions, which no task has.
fn names() -> impl Iterator<Item = &'static str> {
    optimizers().map(|found| found.name()).filter(|name| *name != "threshold_calibration")
}

fn task(name: &str, calls: u64) -> (Task, Vec<Example>) {
    let budget = Budget { lm_calls: Some(calls), ..Budget::default() };
    let (mut task, held_out) = synthetic(name, 1, budget);
    let chat = Model::of(Models::DEFAULT, Arc::new(SyntheticLm::seeded(1)));
    let vectors = EmbeddingModel::of("vectors", Arc::new(SyntheticEmbedder));
    task.evaluator.models = Arc::new(Models::new([chat], None).with_embedding([vectors]));
    (task, held_out)
}

#[tokio::test]
async fn finds_the_improvement_of_every_task_within_its_budget() {
    for (name, calls) in TASKS {
        for optimizer in names() {
            let (task, held_out) = task(name, calls);
            let (report, _) = run(optimizer, "{}", task, &held_out).await;
            let report = report.unwrap();
            let (before, after) = means(&report);
            let summary = format!("{optimizer}, {name}: {before} to {after}, {:?}", report.spent);
            assert!(report.spent.lm_calls <= calls, "{summary}");
            // The examples of `orders` do not have the inputs of its second node.
            let least =
                if (optimizer, name) == ("labeled_few_shot", "orders") { 0.0 } else { GAIN };
            assert!(after - before >= least, "{summary}");
        }
    }
}

#[tokio::test]
async fn stops_within_a_small_budget() {
    for (name, _) in TASKS {
        for optimizer in names() {
            let (task, held_out) = task(name, 120);
            let (report, _) = run(optimizer, "{}", task, &held_out).await;
            let report = report.unwrap();
            assert!(
                matches!(report.stopped, Some(EarlyStop::BudgetSpent(_))),
                "{optimizer}, {name}"
            );
            assert!(report.spent.lm_calls <= 120, "{optimizer}, {name}: {:?}", report.spent);
        }
    }
}
