//! `bootstrap_few_shot`: demos from rollouts of the trainset that went well. After DSPy's
//! `BootstrapFewShot`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::bootstrap::{Bootstrap, PROPERTIES};
use super::config::config_schema;
use crate::optimize::{
    CandidateSearch, EarlyStop, Example, OptimizerFactory, OptimizerRegistration, TrialId,
    Workbench,
};
use crate::problem::{At, Problems};
use crate::value::Payload;

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "bootstrap_few_shot"
    }

    fn description(&self) -> &'static str {
        "Runs the program on the trainset and makes demos of what its predictors did where the \
         outputs were good, the steps in between included; fills up with examples as they are. \
         Good from about ten examples on."
    }

    fn config_schema(&self) -> Payload {
        config_schema(&PROPERTIES)
    }

    fn create(&self, config: &Payload, _: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        Ok(Box::new(BootstrapFewShot(Bootstrap::read(config))))
    }
}

struct BootstrapFewShot(Bootstrap);

impl CandidateSearch for BootstrapFewShot {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        async {
            let order: Vec<&Example> = bench.train().iter().collect();
            let student = bench.candidate(bench.start());
            let taught = self.0.demonstrate(bench, &student, &order).await?;
            let id = bench.enter(taught, &[bench.start()], "bootstrapped demos");
            bench.full(id).await?;
            Ok(id)
        }
        .boxed()
    }
}
