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

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};

use self::demos::DemoSets;
use self::ground::Grounds;
use self::plan::{Extent, MiproPlan};
use self::propose::{ProposalRequest, Proposer};
use self::trials::{PredictorChoices, TrialSearch};
use super::bootstrap::{Bootstrap, PROPERTIES};
use super::config::{config_schema, count, flag, number};
use super::describe::TunablePredictor;
use crate::graph::Program;
use crate::optimize::{
    CandidateSearch, EarlyStop, OptimizerFactory, OptimizerRegistration, TrialId, Workbench,
    instruction_of, tunable,
};
use crate::problem::{At, Code, Problem, Problems};
use crate::value::Payload;

/// The config members in addition to those of bootstrapping.
const OWN: [(&str, &str); 12] = [
    (
        "auto",
        r#"{"enum": ["light", "medium", "heavy", null], "default": "light",
            "description": "the effort: 6, 12 or 18 sets of demos and half as many instructions of each predictor, valsets of at most 100, 300 or 1000 examples. Not with `num_candidates` or `num_trials`"}"#,
    ),
    (
        "num_candidates",
        r#"{"type": "integer", "minimum": 1, "maximum": 200,
            "description": "instructions, and sets of demos, of each predictor, including its current ones"}"#,
    ),
    (
        "num_trials",
        r#"{"type": "integer", "minimum": 1, "maximum": 10000,
            "description": "combinations to try; by default a number that depends on predictors and candidates"}"#,
    ),
    (
        "minibatch",
        r#"{"type": "boolean",
            "description": "whether combinations are tried on a part of the valset first; by default if the valset has more than 50 examples"}"#,
    ),
    (
        "minibatch_size",
        r#"{"type": "integer", "minimum": 1, "maximum": 10000, "default": 35,
            "description": "examples of a minibatch; a smaller valset is always used whole"}"#,
    ),
    (
        "minibatch_full_eval_steps",
        r#"{"type": "integer", "minimum": 1, "maximum": 10000, "default": 5,
            "description": "minibatches between evaluations of the most promising combination on the whole valset"}"#,
    ),
    (
        "init_temperature",
        r#"{"type": "number", "minimum": 0, "maximum": 2, "default": 1,
            "description": "the temperature of the LM that writes instructions"}"#,
    ),
    (
        "view_data_batch_size",
        r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 10,
            "description": "examples of the trainset per request for the summary"}"#,
    ),
    (
        "data_aware_proposer",
        r#"{"type": "boolean", "default": true,
            "description": "whether instructions are written from a summary of the trainset"}"#,
    ),
    (
        "program_aware_proposer",
        r#"{"type": "boolean", "default": true,
            "description": "whether instructions are written from a description of the program and the role of the predictor"}"#,
    ),
    (
        "fewshot_aware_proposer",
        r#"{"type": "boolean", "default": true,
            "description": "whether instructions are written from demos of the predictor"}"#,
    ),
    (
        "tip_aware_proposer",
        r#"{"type": "boolean", "default": true,
            "description": "whether each instruction is written with a different tip"}"#,
    ),
];

/// The default number of demos per predictor; other optimizers default to more.
const LABELED: usize = 4;

/// The number of sets, and of demos per set, that proposals show if no demos are chosen.
const SHOWN: usize = 3;

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "mipro_v2"
    }

    fn description(&self) -> &'static str {
        "An LM writes instructions from a summary of the trainset, a description of the program and \
         demos. Bootstraps sets of demos, and searches for the best combination for all predictors \
         together, on minibatches of the valset. Optimizes only instructions if both counts of \
         demos are 0. Needs about a hundred examples and a thousand calls or more."
    }

    fn config_schema(&self) -> Payload {
        let labeled = (
            "max_labeled_demos",
            r#"{"type": "integer", "minimum": 0, "maximum": 256, "default": 4,
                "description": "demos of each predictor in total; the rest are labeled examples"}"#,
        );
        let shared = PROPERTIES.into_iter().filter(|(name, _)| *name != labeled.0);
        let members: Vec<_> = OWN.into_iter().chain(shared).chain([labeled]).collect();
        config_schema(&members)
    }

    fn create(&self, config: &Payload, at: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        let extent = Extent::read(config).map_err(|detail| Problem {
            pointer: at.key("auto").pointer(),
            code: Code::InvalidConfig,
            detail: detail.to_owned(),
        })?;
        let max_labeled = count(config, "max_labeled_demos", LABELED);
        Ok(Box::new(Mipro {
            extent,
            bootstrap: Bootstrap { max_labeled, ..Bootstrap::read(config) },
            temperature: number(config, "init_temperature", 1.0),
            batch: count(config, "view_data_batch_size", 10),
            by_data: flag(config, "data_aware_proposer", true),
            by_program: flag(config, "program_aware_proposer", true),
            by_demos: flag(config, "fewshot_aware_proposer", true),
            by_tips: flag(config, "tip_aware_proposer", true),
        }))
    }
}

struct Mipro {
    extent: Extent,
    bootstrap: Bootstrap,
    temperature: f64,
    batch: usize,
    by_data: bool,
    by_program: bool,
    by_demos: bool,
    by_tips: bool,
}

impl CandidateSearch for Mipro {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.find(bench).boxed()
    }
}

impl Mipro {
    const fn zero_shot(&self) -> bool {
        self.bootstrap.max_bootstrapped == 0 && self.bootstrap.max_labeled == 0
    }

    async fn find(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let program = bench.program(&bench.candidate(bench.start())).await?;
        let known = tunable(&program);
        let plan = self.extent.plan(known.len(), self.zero_shot(), bench.val().len());
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
        if self.zero_shot() && !self.by_demos {
            return Ok(known.iter().map(|_| DemoSets::new()).collect());
        }
        bench.phase("making sets of demos");
        if !self.zero_shot() {
            return demos::sets(bench, &self.bootstrap, known, plan.demo_sets).await;
        }
        let shown = Bootstrap { max_bootstrapped: SHOWN, ..self.bootstrap.clone() };
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
        let (tips, temperature) = (self.by_tips, self.temperature);
        let proposer = &Proposer { bench, grounds: &grounds, tips, temperature };
        let asked = known.iter().zip(sets).enumerate().map(|(at, (part, sets))| async move {
            let demo_sets = if self.by_demos { sets.as_slice() } else { &[] };
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
        if self.by_program {
            bench.phase("describing the program");
            grounds = ground::program(bench, program, known).await?;
        }
        if self.by_data {
            bench.phase("looking at the data");
            grounds.data = ground::data(bench, self.batch).await?;
        }
        Ok(grounds)
    }
}
