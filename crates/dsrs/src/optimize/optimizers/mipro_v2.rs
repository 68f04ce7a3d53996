//! `mipro_v2`: a Bayesian search for the best combination of sets of demos and instructions that an
//! LM writes from descriptions of data and program. After DSPy's `MIPROv2` (Opsahl-Ong et al. 2024,
//! arXiv 2406.11695).

mod demos;
mod ground;
mod plan;
mod propose;
mod tpe;
mod trials;

use std::sync::Arc;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};

use self::demos::DemoSets;
use self::ground::Grounds;
pub use self::plan::MiproEffort;
use self::plan::MiproPlan;
use self::propose::{ProposalRequest, Proposer};
use self::trials::{PredictorChoices, TrialSearch};
use super::bootstrap_few_shot::BootstrapFewShot;
use super::describe::TunablePredictor;
use crate::document::default_settings;
use crate::graph::Program;
use crate::optimize::{
    CandidateSearch, EarlyStop, OptimizerRegistration, StateOptimizer, TrialId, Workbench,
    instruction_of, tunable,
};
use crate::problem::{At, Code, Problem, Problems};

/// The number of sets, and of demos per set, that proposals show if no demos are chosen.
const SHOWN: usize = 3;

/// An LM writes instructions from a summary of the trainset, a description of the program and demos. Bootstraps sets of
/// demos, and searches for the best combination for all predictors together, on minibatches of the valset. Optimizes
/// only instructions if both counts of demos are 0. Needs about a hundred examples and a thousand calls or more.
#[derive(Clone, Debug, Facet)]
pub struct MiproV2 {
    /// The effort: 6, 12 or 18 sets of demos and half as many instructions of each predictor, valsets
    /// of at most 100, 300 or 1000 examples. Not with `num_candidates` or `num_trials`.
    #[facet(dsrs::nullable("light"))]
    pub auto: Option<MiproEffort>,
    /// Instructions, and sets of demos, of each predictor, including its current ones.
    #[facet(dsrs::minimum(1), dsrs::maximum(200))]
    pub num_candidates: Option<usize>,
    /// Combinations to try; by default a number that depends on predictors and candidates.
    #[facet(dsrs::minimum(1), dsrs::maximum(10_000))]
    pub num_trials: Option<usize>,
    /// Whether combinations are tried on a part of the valset first; by default if the valset has more than 50 examples.
    pub minibatch: Option<bool>,
    /// Examples of a minibatch; a smaller valset is always used whole.
    #[facet(default = 35, dsrs::minimum(1), dsrs::maximum(10_000))]
    pub minibatch_size: usize,
    /// Minibatches between evaluations of the most promising combination on the whole valset.
    #[facet(default = 5, dsrs::minimum(1), dsrs::maximum(10_000))]
    pub minibatch_full_eval_steps: usize,
    /// The temperature of the LM that writes instructions.
    #[facet(default = 1.0, dsrs::minimum(0), dsrs::maximum(2))]
    pub init_temperature: f64,
    /// Examples of the trainset per request for the summary.
    #[facet(default = 10, dsrs::minimum(1), dsrs::maximum(1000))]
    pub view_data_batch_size: usize,
    /// Whether instructions are written from a summary of the trainset.
    #[facet(default = true)]
    pub data_aware_proposer: bool,
    /// Whether instructions are written from a description of the program and the role of the predictor.
    #[facet(default = true)]
    pub program_aware_proposer: bool,
    /// Whether instructions are written from demos of the predictor.
    #[facet(default = true)]
    pub fewshot_aware_proposer: bool,
    /// Whether each instruction is written with a different tip.
    #[facet(default = true)]
    pub tip_aware_proposer: bool,
    /// The most demos of each predictor from successful rollouts.
    #[facet(default = 4, dsrs::minimum(0), dsrs::maximum(64))]
    pub max_bootstrapped_demos: usize,
    /// Tries of each example; from the second on at temperature 1.
    #[facet(default = 1, dsrs::minimum(1), dsrs::maximum(10))]
    pub max_rounds: usize,
    /// The score from which a rollout counts as successful.
    #[facet(default = 1.0, dsrs::above(0), dsrs::maximum(1))]
    pub metric_threshold: f64,
    /// The model alias of the teacher; by default each predictor's own.
    pub teacher_model: Option<String>,
    // Other optimizers have more by default: these settings are no `BootstrapFewShot`.
    /// The most demos of each predictor in total; the rest are labeled examples.
    #[facet(default = 4, dsrs::minimum(0), dsrs::maximum(256))]
    pub max_labeled_demos: usize,
}

inventory::submit!(OptimizerRegistration::of::<MiproV2>());

impl Default for MiproV2 {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for MiproV2 {
    const NAME: &'static str = "mipro_v2";

    fn check(&self, at: &At<'_>) -> Result<(), Problems> {
        if self.auto.is_none() || self.num_candidates.or(self.num_trials).is_none() {
            return Ok(());
        }
        let detail = "`auto` sets `num_candidates` and `num_trials`; omit either `auto` or those";
        let (pointer, code) = (at.key("auto").pointer(), Code::InvalidConfig);
        Err(Problem { pointer, code, detail: detail.to_owned() }.into())
    }
}

impl CandidateSearch for MiproV2 {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.find(bench).boxed()
    }
}

impl MiproV2 {
    const fn zero_shot(&self) -> bool {
        self.max_bootstrapped_demos == 0 && self.max_labeled_demos == 0
    }

    /// The settings of bootstrapping.
    fn bootstrap(&self) -> BootstrapFewShot {
        BootstrapFewShot {
            max_bootstrapped_demos: self.max_bootstrapped_demos,
            max_labeled_demos: self.max_labeled_demos,
            max_rounds: self.max_rounds,
            metric_threshold: self.metric_threshold,
            teacher_model: self.teacher_model.clone(),
        }
    }

    async fn find(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let program = bench.program(&bench.candidate(bench.start())).await?;
        let known = tunable(&program);
        let plan = MiproPlan::of(self, known.len(), bench.val().len());
        let bench = &bench.choosing_by(plan.val);
        let sets = self.demo_sets(bench, &known, &plan).await?;
        let proposed = self.instructions(bench, &program, &known, &sets, &plan).await?;
        let choices = known.iter().zip(proposed).zip(sets).map(|((one, instructions), sets)| {
            let demo_sets = if self.zero_shot() { vec![Vec::new()] } else { sets };
            PredictorChoices { path: one.0.clone(), instructions, demo_sets }
        });
        let choices: Vec<PredictorChoices> = choices.collect();
        bench.phase("searching for the best combination");
        TrialSearch::begin(bench, &choices, plan.startup).await?.run(&plan).await
    }

    /// Sets of demos for each predictor, to choose from or only for the proposals.
    async fn demo_sets(
        &self,
        bench: &Workbench,
        known: &[TunablePredictor],
        plan: &MiproPlan,
    ) -> Result<Vec<DemoSets>, EarlyStop> {
        if self.zero_shot() && !self.fewshot_aware_proposer {
            return Ok(known.iter().map(|_| DemoSets::new()).collect());
        }
        bench.phase("making sets of demos");
        if !self.zero_shot() {
            return demos::sets(bench, &self.bootstrap(), known, plan.demo_sets).await;
        }
        let shown = BootstrapFewShot { max_bootstrapped_demos: SHOWN, ..self.bootstrap() };
        demos::sets(bench, &shown, known, plan.demo_sets.min(SHOWN)).await
    }

    /// Instructions for each predictor; the first is the current one.
    async fn instructions(
        &self,
        bench: &Workbench,
        program: &Program,
        known: &[TunablePredictor],
        sets: &[DemoSets],
        plan: &MiproPlan,
    ) -> Result<Vec<Vec<Arc<str>>>, EarlyStop> {
        let now = |one: &TunablePredictor| instruction_of(program, &one.0).unwrap_or_default();
        if plan.instructions < 2 {
            return Ok(known.iter().map(|one| vec![now(one)]).collect());
        }
        let grounds = self.grounds(bench, program, known).await?;
        bench.phase("writing instructions");
        let (tips, temperature) = (self.tip_aware_proposer, self.init_temperature);
        let proposer = &Proposer { bench, grounds: &grounds, tips, temperature };
        let asked = known.iter().zip(sets).enumerate().map(|(at, (part, sets))| async move {
            let demo_sets = if self.fewshot_aware_proposer { sets.as_slice() } else { &[] };
            let wanted = ProposalRequest { at, part, now: now(part), demo_sets };
            let mut all = vec![wanted.now.clone()];
            all.extend(proposer.propose(&wanted, plan.instructions - 1).await?);
            Ok(all)
        });
        try_join_all(asked).await
    }

    async fn grounds(
        &self,
        bench: &Workbench,
        program: &Program,
        known: &[TunablePredictor],
    ) -> Result<Grounds, EarlyStop> {
        let mut grounds = Grounds::default();
        if self.program_aware_proposer {
            bench.phase("describing the program");
            grounds = ground::program(bench, program, known).await?;
        }
        if self.data_aware_proposer {
            bench.phase("looking at the data");
            grounds.data = ground::data(bench, self.view_data_batch_size).await?;
        }
        Ok(grounds)
    }
}
