//! `labeled_few_shot`: demos straight from the examples, the simplest there is. After DSPy's
//! `LabeledFewShot`, which this differs from in one thing: a predictor that an example has no fields
//! for gets no demo of it, instead of one with gaps.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::config::{config_schema, count};
use crate::optimize::{
    CandidateSearch, EarlyStop, OptimizerFactory, OptimizerRegistration, TrialId, Workbench,
    labeled_demo, tunable,
};
use crate::problem::{At, Problems};
use crate::value::Payload;

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "labeled_few_shot"
    }

    fn description(&self) -> &'static str {
        "Gives every predictor random examples of the trainset as demos. Calls no LM to select them; \
         the candidate is then evaluated once."
    }

    fn config_schema(&self) -> Payload {
        config_schema(&[(
            "k",
            r#"{"type": "integer", "minimum": 1, "maximum": 256, "default": 16,
                "description": "demos of each predictor, at most"}"#,
        )])
    }

    fn create(&self, config: &Payload, _: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        Ok(Box::new(LabeledFewShot { k: count(config, "k", 16) }))
    }
}

struct LabeledFewShot {
    k: usize,
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
