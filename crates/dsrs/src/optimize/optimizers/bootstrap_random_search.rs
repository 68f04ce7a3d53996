//! `bootstrap_random_search`: the best of many sets of demos. After DSPy's
//! `BootstrapFewShotWithRandomSearch`.

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::bootstrap_few_shot::BootstrapFewShot;
use crate::document::default_settings;
use crate::optimize::{
    Candidate, CandidateSearch, EarlyStop, Example, OptimizerRegistration, StateOptimizer, TrialId,
    Workbench,
};

/// Makes many sets of demos like `bootstrap_few_shot`, from shuffled trainsets and of different sizes, evaluates each
/// on the whole valset and selects the best. Needs about fifty examples or more.
#[derive(Clone, Debug, Facet)]
pub struct BootstrapRandomSearch {
    /// Random sets of demos, in addition to the three that are always tried.
    #[facet(default = 16, dsrs::minimum(1), dsrs::maximum(1000))]
    pub num_candidate_programs: usize,
    /// A candidate that reaches this score ends the search.
    #[facet(dsrs::minimum(0), dsrs::maximum(1))]
    pub stop_at_score: Option<f64>,
    /// How sets of demos are made.
    #[facet(flatten)]
    pub demos: BootstrapFewShot,
}

inventory::submit!(OptimizerRegistration::of::<BootstrapRandomSearch>());

impl Default for BootstrapRandomSearch {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for BootstrapRandomSearch {
    const NAME: &'static str = "bootstrap_random_search";
}

/// One candidate that is to be made.
enum DemoRecipe {
    AsItWas,
    Labeled,
    Bootstrapped,
    Shuffled(usize),
}

impl CandidateSearch for BootstrapRandomSearch {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.search(bench).boxed()
    }
}

impl BootstrapRandomSearch {
    async fn search(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let plans =
            [DemoRecipe::AsItWas, DemoRecipe::Labeled, DemoRecipe::Bootstrapped].into_iter();
        // Sequential, so that a spent budget leaves fully evaluated candidates.
        for plan in plans.chain((1..=self.num_candidate_programs).map(DemoRecipe::Shuffled)) {
            let (candidate, origin) = self.make(bench, &plan).await?;
            let id = bench.enter(candidate, &[bench.start()], origin);
            let mean = bench.full(id).await?.mean();
            if self.stop_at_score.is_some_and(|enough| mean >= enough) {
                break;
            }
        }
        Ok(bench.best().map_or(bench.start(), |trial| trial.id))
    }

    async fn make(
        &self,
        bench: &Workbench,
        plan: &DemoRecipe,
    ) -> Result<(Candidate, String), EarlyStop> {
        let student = bench.candidate(bench.start());
        let mut order: Vec<&Example> = bench.train().iter().collect();
        let mut bootstrap = self.demos.clone();
        let origin = match plan {
            DemoRecipe::AsItWas => return Ok(((*student).clone(), String::new())),
            DemoRecipe::Labeled => {
                bootstrap.max_bootstrapped_demos = 0;
                "demos straight from examples".to_owned()
            }
            DemoRecipe::Bootstrapped => {
                "bootstrapped demos, in the order of the trainset".to_owned()
            }
            DemoRecipe::Shuffled(number) => {
                let mut rng = bench.rng(&format!("demos {number}"));
                rng.shuffle(&mut order);
                let most = rng.usize(1..=bootstrap.max_bootstrapped_demos.max(1));
                let most = most.min(bootstrap.max_bootstrapped_demos);
                bootstrap.max_bootstrapped_demos = most;
                format!("up to {most} bootstrapped demos, shuffle {number}")
            }
        };
        Ok((bootstrap.demonstrate(bench, &student, &order).await?, origin))
    }
}
