//! `copro`: for one predictor after the other, an LM writes instructions, sees their scores, and
//! writes better ones. After DSPy's `COPRO`, a form of optimization by prompting (Yang et al. 2023,
//! arXiv 2309.03409). Unlike DSPy's, it selects candidates by the valset.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};
use indexmap::IndexMap;

use super::describe::{TunablePredictor, field, part, parts, texts};
use super::proposal::{Draw, propose_text};
use crate::document::default_settings;
use crate::optimize::{
    CandidateSearch, EarlyStop, OptimizerRegistration, StateOptimizer, TrialId, Workbench,
    instruction_of, tunable,
};
use crate::signature::SignatureSchema;
use crate::types::TypeIR;
use crate::value::Fields;

/// The output field with the new instruction.
const INSTRUCTION: &str = "new_instruction";

/// The maximum number of tried instructions in a prompt, the best ones.
const SHOWN: usize = 12;

static DRAFT: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    asks(
        "Write a new instruction for one language model call in a program, better than its current \
         one. State the task, say what makes an output good, and warn of the likely mistakes. The \
         model sees only this instruction and its inputs.",
        [("instruction_so_far", "the current instruction of the part")],
    )
});

static CLIMB: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    asks(
        "Several instructions for one language model call in a program were tried on examples, and \
         each received a score. Work out what the high-scoring instructions do that the low-scoring \
         ones do not, and write a new instruction that scores higher than all of them. Do not \
         repeat one that was tried.",
        [("tried", "the instructions tried so far with their scores from 0 to 1, best last")],
    )
});

fn asks(task: &str, own: [(&str, &str); 1]) -> Arc<SignatureSchema> {
    let known = [
        ("program", "all parts of the program with their inputs and outputs"),
        ("part", "the part that you write an instruction for"),
    ];
    let inputs = known.into_iter().chain(own);
    Arc::new(SignatureSchema {
        instructions: task.into(),
        inputs: inputs.map(|(name, description)| field(name, TypeIR::Str, description)).collect(),
        outputs: vec![field(INSTRUCTION, TypeIR::Str, "the complete instruction and nothing else")],
        defs: Arc::default(),
    })
}

/// An LM writes instructions for one predictor after the other; each is evaluated on the whole valset, and the LM
/// writes better ones from the scores. Demos do not change. Suited to programs with unrefined instructions and a small
/// valset.
#[derive(Clone, Debug, Facet)]
pub struct Copro {
    /// Instructions per predictor and round.
    #[facet(default = 10, dsrs::minimum(2), dsrs::maximum(100))]
    pub breadth: usize,
    /// The number of rounds.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(20))]
    pub depth: usize,
    /// The temperature of the proposing LM.
    #[facet(default = 1.4, dsrs::minimum(0), dsrs::maximum(2))]
    pub init_temperature: f64,
}

inventory::submit!(OptimizerRegistration::of::<Copro>());

impl Default for Copro {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for Copro {
    const NAME: &'static str = "copro";
}

/// The tried instructions of one predictor, each with its best objective.
type InstructionScores = IndexMap<Arc<str>, f64>;

impl CandidateSearch for Copro {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.climb(bench).boxed()
    }
}

impl Copro {
    async fn climb(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let mut best = bench.start();
        let mut score = objective(bench, best).await?;
        let program = bench.program(&bench.candidate(best)).await?;
        let known = tunable(&program);
        let mut tried: Vec<InstructionScores> = known
            .iter()
            .map(|(path, _)| {
                instruction_of(&program, path).map(|now| (now, score)).into_iter().collect()
            })
            .collect();
        for round in 0..self.depth {
            for (one, tried) in known.iter().zip(&mut tried) {
                bench.phase(&format!("instructions of `{}`, round {}", one.0, round + 1));
                for instruction in self.propose(bench, &known, one, tried, round).await? {
                    let candidate = bench.candidate(best).with(&one.0, |state| {
                        state.instruction = Some(instruction.clone());
                    });
                    let origin = format!("another instruction of `{}`, round {}", one.0, round + 1);
                    let id = bench.enter(candidate, &[best], origin);
                    let reached = objective(bench, id).await?;
                    let known = tried.entry(instruction).or_insert(reached);
                    *known = known.max(reached);
                    if reached > score {
                        (best, score) = (id, reached);
                    }
                }
            }
        }
        Ok(best)
    }

    /// Proposes instructions that were not tried yet; fewer if the LM repeats itself.
    async fn propose(
        &self,
        bench: &Workbench,
        all: &[TunablePredictor],
        one: &TunablePredictor,
        tried: &InstructionScores,
        round: usize,
    ) -> Result<Vec<Arc<str>>, EarlyStop> {
        let (signature, inputs) = question(all, one, tried, round);
        // In the first round, the current instruction counts as one of them.
        let wanted = if round == 0 { self.breadth - 1 } else { self.breadth };
        let asked = (0..wanted).map(|at| {
            let (inputs, number) = (inputs.clone(), round * self.breadth + at + 1);
            let draw = Draw { number, temperature: self.init_temperature };
            propose_text(bench, signature, inputs, draw, INSTRUCTION)
        });
        let mut proposals: Vec<Arc<str>> = Vec::with_capacity(wanted);
        for proposed in try_join_all(asked).await?.into_iter().flatten() {
            if !tried.contains_key(&proposed) && !proposals.contains(&proposed) {
                proposals.push(proposed);
            }
        }
        Ok(proposals)
    }
}

fn question<'s>(
    all: &[TunablePredictor],
    one: &TunablePredictor,
    tried: &InstructionScores,
    round: usize,
) -> (&'s Arc<SignatureSchema>, Fields) {
    let (program, own) = (parts(all), part(&one.0, &one.1));
    if round == 0 {
        let now = tried.first().map_or_else(String::new, |(now, _)| now.to_string());
        let inputs = texts([("program", program), ("part", own), ("instruction_so_far", now)]);
        return (&DRAFT, inputs);
    }
    let mut ranked: Vec<_> = tried.iter().collect();
    ranked.sort_by(|one, other| one.1.total_cmp(other.1));
    let mut shown = String::new();
    for (instruction, score) in ranked.iter().skip(ranked.len().saturating_sub(SHOWN)) {
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "Score {score:.3}:\n{instruction}\n");
    }
    (&CLIMB, texts([("program", program), ("part", own), ("tried", shown)]))
}

/// The objective of a candidate on the whole valset.
async fn objective(bench: &Workbench, id: TrialId) -> Result<f64, EarlyStop> {
    let evaluation = bench.full(id).await?;
    let scored = bench.trial(id).and_then(|trial| trial.full);
    Ok(scored.map_or_else(|| evaluation.mean(), |scored| scored.objective))
}
