//! Bootstrapping: a teacher runs on the trainset, and the predictor calls of its successful runs become
//! demos, intermediate predictors included. After DSPy's `BootstrapFewShot` (Khattab et al. 2023,
//! arXiv 2310.03714). Knows nothing of how candidates are evaluated.

use std::sync::Arc;

use futures_util::future::join_all;
use indexmap::IndexMap;

use super::config::{count, member, number};
use crate::optimize::{
    Candidate, EarlyStop, Example, Rollout, Workbench, demo_of_call, labeled_demo, tunable,
};
use crate::predict::{Demo, Variation};
use crate::signature::SignatureSchema;
use crate::value::Payload;

/// The config properties of bootstrapping, with their schemas.
pub(super) const PROPERTIES: [(&str, &str); 5] = [
    (
        "max_bootstrapped_demos",
        r#"{"type": "integer", "minimum": 0, "maximum": 64, "default": 4,
            "description": "demos of each predictor from successful rollouts"}"#,
    ),
    (
        "max_labeled_demos",
        r#"{"type": "integer", "minimum": 0, "maximum": 256, "default": 16,
            "description": "demos of each predictor in total; the rest are labeled examples"}"#,
    ),
    (
        "max_rounds",
        r#"{"type": "integer", "minimum": 1, "maximum": 10, "default": 1,
            "description": "tries of each example; from the second on at temperature 1"}"#,
    ),
    (
        "metric_threshold",
        r#"{"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 1,
            "description": "the score from which a rollout counts as successful"}"#,
    ),
    (
        "teacher_model",
        r#"{"type": "string",
            "description": "the model alias of the teacher; by default each predictor's own"}"#,
    ),
];

/// The temperature of rounds after the first.
const TEMPERATURE: f64 = 1.0;

/// The settings of bootstrapping.
#[derive(Clone, Debug)]
pub(super) struct Bootstrap {
    pub(super) max_bootstrapped: usize,
    pub(super) max_labeled: usize,
    pub(super) max_rounds: usize,
    pub(super) threshold: f64,
    pub(super) teacher_model: Option<Arc<str>>,
}

/// Demos by predictor, and their examples.
#[derive(Default)]
struct BootstrappedDemos<'e> {
    demos: IndexMap<Arc<str>, Vec<Demo>>,
    used: Vec<&'e Example>,
}

impl Bootstrap {
    /// Reads the settings from a config.
    pub(super) fn read(config: &Payload) -> Self {
        Self {
            max_bootstrapped: count(config, "max_bootstrapped_demos", 4),
            max_labeled: count(config, "max_labeled_demos", 16),
            max_rounds: count(config, "max_rounds", 1),
            threshold: number(config, "metric_threshold", 1.0),
            teacher_model: member(config, "teacher_model").and_then(Payload::as_str).map(Arc::from),
        }
    }

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
            demos.extend(labeled.take(self.max_labeled.saturating_sub(found.used.len())));
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
        let shown: Vec<&Example> = order.iter().copied().take(self.max_labeled).collect();
        for round in 0..self.max_rounds {
            let mut left = order.iter().copied();
            while bootstrapped.used.len() < self.max_bootstrapped {
                // Only as many concurrent runs as demos are needed, so that no run is wasted.
                let needed = self.max_bootstrapped - bootstrapped.used.len();
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
                    let good = tried.find(|one| one.value() >= self.threshold);
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
                    state.lm.model = Some(model.clone());
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
