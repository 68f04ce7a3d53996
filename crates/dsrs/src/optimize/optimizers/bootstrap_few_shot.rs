//! `bootstrap_few_shot`: demos from rollouts of the trainset that went well. After DSPy's
//! `BootstrapFewShot`.

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::document::default_settings;
use crate::optimize::{
    CandidateSearch, EarlyStop, Example, OptimizerRegistration, StateOptimizer, TrialId, Workbench,
};

/// Runs the program on the trainset and makes demos of what its predictors did where the outputs were good, the steps
/// in between included; fills up with examples as they are. Good from about ten examples on.
#[derive(Clone, Debug, Facet)]
pub struct BootstrapFewShot {
    /// The most demos of each predictor from successful rollouts.
    #[facet(default = 4, dsrs::minimum(0), dsrs::maximum(64))]
    pub max_bootstrapped_demos: usize,
    /// The most demos of each predictor in total; the rest are labeled examples.
    #[facet(default = 16, dsrs::minimum(0), dsrs::maximum(256))]
    pub max_labeled_demos: usize,
    /// Tries of each example; from the second on at temperature 1.
    #[facet(default = 1, dsrs::minimum(1), dsrs::maximum(10))]
    pub max_rounds: usize,
    /// The score from which a rollout counts as successful.
    #[facet(default = 1.0, dsrs::above(0), dsrs::maximum(1))]
    pub metric_threshold: f64,
    /// The model alias of the teacher; by default each predictor's own.
    pub teacher_model: Option<String>,
}

inventory::submit!(OptimizerRegistration::of::<BootstrapFewShot>());

impl Default for BootstrapFewShot {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for BootstrapFewShot {
    const NAME: &'static str = "bootstrap_few_shot";
}

impl CandidateSearch for BootstrapFewShot {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        async {
            let order: Vec<&Example> = bench.train().iter().collect();
            let student = bench.candidate(bench.start());
            let taught = self.demonstrate(bench, &student, &order).await?;
            let id = bench.enter(taught, &[bench.start()], "bootstrapped demos");
            bench.full(id).await?;
            Ok(id)
        }
        .boxed()
    }
}
