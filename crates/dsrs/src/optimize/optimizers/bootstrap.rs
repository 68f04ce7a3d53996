//! Bootstrapping: a teacher runs on the trainset, and the predictor calls of its successful runs become
//! demos, intermediate predictors included. After DSPy's `BootstrapFewShot` (Khattab et al. 2023,
//! arXiv 2310.03714). Knows nothing of how candidates are evaluated.

use std::sync::Arc;

use futures_util::future::join_all;
use indexmap::IndexMap;

use super::bootstrap_few_shot::BootstrapFewShot;
use crate::optimize::{
    Candidate, EarlyStop, Example, Rollout, Workbench, demo_of_call, labeled_demo, tunable,
};
use crate::predict::{Demo, Variation};
use crate::signature::SignatureSchema;

/// The temperature of rounds after the first.
const TEMPERATURE: f64 = 1.0;

/// Demos by predictor, and their examples.
#[derive(Default)]
struct BootstrappedDemos<'e> {
    demos: IndexMap<Arc<str>, Vec<Demo>>,
    used: Vec<&'e Example>,
}

impl BootstrapFewShot {
    /// The candidate with demos from these examples, in this order.
    pub(super) async fn demonstrate(
        &self,
        bench: &Workbench,
        student: &Candidate,
        order: &[&Example],
    ) -> Result<Candidate, EarlyStop> {
        let predictors = tunable(&*bench.program(student).await?);
        let found = self.bootstrap(bench, student, order, &predictors).await?;
        let mut taught = student.clone();
        for (path, schema) in &predictors {
            let mut demos = found.demos.get(path).cloned().unwrap_or_default();
            let left = order.iter().filter(|example| !contains(&found.used, example));
            let labeled = left.filter_map(|example| labeled_demo(schema, example));
            demos.extend(labeled.take(self.max_labeled_demos.saturating_sub(found.used.len())));
            taught = taught.with(path, |state| state.demos = demos);
        }
        Ok(taught)
    }

    async fn bootstrap<'e>(
        &self,
        bench: &Workbench,
        student: &Candidate,
        order: &[&'e Example],
        predictors: &[(Arc<str>, Arc<SignatureSchema>)],
    ) -> Result<BootstrappedDemos<'e>, EarlyStop> {
        let mut bootstrapped = BootstrappedDemos::default();
        let shown: Vec<&Example> = order.iter().copied().take(self.max_labeled_demos).collect();
        for round in 0..self.max_rounds {
            let mut left = order.iter().copied();
            while bootstrapped.used.len() < self.max_bootstrapped_demos {
                // Only as many concurrent runs as demos are needed, so that no run is wasted.
                let needed = self.max_bootstrapped_demos - bootstrapped.used.len();
                let untried =
                    left.by_ref().filter(|example| !contains(&bootstrapped.used, example));
                let wave: Vec<&Example> = untried.take(needed).collect();
                if wave.is_empty() {
                    break;
                }
                let tries = wave.iter().map(|example| {
                    let teacher = self.teacher(student, &shown, example, predictors);
                    async move {
                        // Demos of examples fit, so a failure is a problem of the config.
                        bench.program(&teacher).await?;
                        bench.evaluate(&teacher, &[example], varied(round)).await
                    }
                });
                // If one stops, the others complete, because they are already paid for.
                for (example, tried) in wave.iter().zip(join_all(tries).await) {
                    let mut tried = tried?.rollouts.into_iter();
                    let good = tried.find(|one| one.value() >= self.metric_threshold);
                    good.into_iter().for_each(|rollout| bootstrapped.take(example, &rollout));
                }
            }
        }
        Ok(bootstrapped)
    }

    /// The teacher for an example: the student with the other examples as demos.
    fn teacher(
        &self,
        student: &Candidate,
        shown: &[&Example],
        example: &Example,
        predictors: &[(Arc<str>, Arc<SignatureSchema>)],
    ) -> Candidate {
        let mut teacher = student.clone();
        for (path, schema) in predictors {
            let others = shown.iter().filter(|other| other.id != example.id);
            let demos: Vec<Demo> = others.filter_map(|other| labeled_demo(schema, other)).collect();
            teacher = teacher.with(path, |state| {
                if !demos.is_empty() {
                    state.demos = demos;
                }
                if let Some(model) = &self.teacher_model {
                    state.lm.model = Some(model.as_str().into());
                }
            });
        }
        teacher
    }
}

impl<'e> BootstrappedDemos<'e> {
    /// Makes a demo per predictor from a rollout. Of several calls of a predictor, the last one counts.
    fn take(&mut self, example: &'e Example, rollout: &Rollout) {
        let steps: IndexMap<&Arc<str>, Demo> =
            rollout.calls.iter().map(|step| (&step.predictor, demo_of_call(step))).collect();
        for (predictor, demo) in steps {
            self.demos.entry(predictor.clone()).or_default().push(demo);
        }
        self.used.push(example);
    }
}

fn contains(examples: &[&Example], example: &Example) -> bool {
    examples.iter().any(|known| known.id == example.id)
}

fn varied(round: usize) -> Option<Variation> {
    (round > 0).then_some(Variation { number: round, temperature: TEMPERATURE })
}
