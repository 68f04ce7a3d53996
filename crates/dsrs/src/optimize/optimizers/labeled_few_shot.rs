//! `labeled_few_shot`: demos straight from the examples, the simplest there is. After DSPy's
//! `LabeledFewShot`, which this differs from in one thing: a predictor that an example has no fields
//! for gets no demo of it, instead of one with gaps.

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::document::default_settings;
use crate::optimize::{
    CandidateSearch, EarlyStop, OptimizerRegistration, StateOptimizer, TrialId, Workbench,
    labeled_demo, tunable,
};

/// Gives every predictor random examples of the trainset as demos. Calls no LM to select them; the candidate is then
/// evaluated once.
#[derive(Clone, Debug, Facet)]
pub struct LabeledFewShot {
    /// The most demos of each predictor.
    #[facet(default = 16, dsrs::minimum(1), dsrs::maximum(256))]
    pub k: usize,
}

inventory::submit!(OptimizerRegistration::of::<LabeledFewShot>());

impl Default for LabeledFewShot {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for LabeledFewShot {
    const NAME: &'static str = "labeled_few_shot";
}

impl CandidateSearch for LabeledFewShot {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.demonstrate(bench).boxed()
    }
}

impl LabeledFewShot {
    async fn demonstrate(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let base = bench.candidate(bench.start());
        let program = bench.program(&base).await?;
        let mut candidate = (*base).clone();
        for (path, schema) in tunable(&program) {
            let mut order: Vec<_> = bench.train().iter().collect();
            bench.rng(&path).shuffle(&mut order);
            let demos = order.into_iter().filter_map(|example| labeled_demo(&schema, example));
            let demos: Vec<_> = demos.take(self.k).collect();
            candidate = candidate.with(&path, |state| state.demos = demos);
        }
        let origin = format!("up to {} demos from the trainset", self.k);
        let id = bench.enter(candidate, &[bench.start()], origin);
        bench.full(id).await?;
        Ok(id)
    }
}
