//! `bootstrap_random_search`: the best of many sets of demos. After DSPy's
//! `BootstrapFewShotWithRandomSearch`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::bootstrap::{Bootstrap, PROPERTIES};
use super::config::{config_schema, count, member, number};
use crate::optimize::{
    Candidate, CandidateSearch, EarlyStop, Example, OptimizerFactory, OptimizerRegistration,
    TrialId, Workbench,
};
use crate::problem::{At, Problems};
use crate::value::Payload;

/// The config members in addition to those of bootstrapping.
const OWN: [(&str, &str); 2] = [
    (
        "num_candidate_programs",
        r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 16,
            "description": "random sets of demos, in addition to the three that are always tried"}"#,
    ),
    (
        "stop_at_score",
        r#"{"type": "number", "minimum": 0, "maximum": 1,
            "description": "a candidate that reaches this score ends the search"}"#,
    ),
];

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "bootstrap_random_search"
    }

    fn description(&self) -> &'static str {
        "Makes many sets of demos like bootstrap_few_shot, from shuffled trainsets and of different \
         sizes, evaluates each on the whole valset and selects the best. Needs about fifty examples \
         or more."
    }

    fn config_schema(&self) -> Payload {
        let members: Vec<_> = OWN.into_iter().chain(PROPERTIES).collect();
        config_schema(&members)
    }

    fn create(&self, config: &Payload, _: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        Ok(Box::new(RandomSearch {
            bootstrap: Bootstrap::read(config),
            candidates: count(config, "num_candidate_programs", 16),
            enough: member(config, "stop_at_score").map(|_| number(config, "stop_at_score", 1.0)),
        }))
    }
}

struct RandomSearch {
    bootstrap: Bootstrap,
    candidates: usize,
    enough: Option<f64>,
}

/// One candidate that is to be made.
enum DemoRecipe {
    AsItWas,
    Labeled,
    Bootstrapped,
    Shuffled(usize),
}

impl CandidateSearch for RandomSearch {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.search(bench).boxed()
    }
}

impl RandomSearch {
    async fn search(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let plans =
            [DemoRecipe::AsItWas, DemoRecipe::Labeled, DemoRecipe::Bootstrapped].into_iter();
        // Sequential, so that a spent budget leaves fully evaluated candidates.
        for plan in plans.chain((1..=self.candidates).map(DemoRecipe::Shuffled)) {
            let (candidate, origin) = self.make(bench, &plan).await?;
            let id = bench.enter(candidate, &[bench.start()], origin);
            let mean = bench.full(id).await?.mean();
            if self.enough.is_some_and(|enough| mean >= enough) {
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
        let mut bootstrap = self.bootstrap.clone();
        let origin = match plan {
            DemoRecipe::AsItWas => return Ok(((*student).clone(), String::new())),
            DemoRecipe::Labeled => {
                bootstrap.max_bootstrapped = 0;
                "demos straight from examples".to_owned()
            }
            DemoRecipe::Bootstrapped => {
                "bootstrapped demos, in the order of the trainset".to_owned()
            }
            DemoRecipe::Shuffled(number) => {
                let mut rng = bench.rng(&format!("demos {number}"));
                rng.shuffle(&mut order);
                let most = rng.usize(1..=bootstrap.max_bootstrapped.max(1));
                let most = most.min(bootstrap.max_bootstrapped);
                bootstrap.max_bootstrapped = most;
                format!("up to {most} bootstrapped demos, shuffle {number}")
            }
        };
        Ok((bootstrap.demonstrate(bench, &student, &order).await?, origin))
    }
}
