//! `copro`: an LM writes instructions, the best is kept, and from how all did it writes better ones;
//! one predictor after the other. After DSPy's `COPRO`, a form of optimization by prompting (Yang et
//! al. 2023, arXiv 2309.03409). Unlike there, candidates are chosen by the valset.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};
use indexmap::IndexMap;

use super::config::{config_schema, count, number};
use super::describe::{TunablePredictor, field, part, parts, texts};
use super::proposal::{Draw, propose_text};
use crate::optimize::{
    EarlyStop, Optimizer, OptimizerFactory, OptimizerRegistration, TrialId, Workbench,
    instruction_of, tunable,
};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

/// The output that a new instruction stands in.
const INSTRUCTION: &str = "new_instruction";

/// How many instructions that were tried are shown to who writes the next, the best ones.
const SHOWN: usize = 12;

static DRAFT: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    asks(
        "One part of a program is a language model that follows an instruction. Write an \
         instruction with which it does its task better than with the one it has: say what the task \
         is, what makes a good output, and what to beware of. It sees the instruction and its \
         inputs, and nothing else.",
        [("instruction_so_far", "what the part is told now")],
    )
});

static CLIMB: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    asks(
        "One part of a program is a language model that follows an instruction. Instructions were \
         tried on examples, and each got a score. Find out what the better ones have that the worse \
         ones lack, and write one that does better than all of them; do not repeat one.",
        [("tried", "instructions with their scores, from 0 to 1; the best comes last")],
    )
});

fn asks(task: &str, own: [(&str, &str); 1]) -> Arc<SignatureSchema> {
    let known = [
        ("program", "all parts of the program, with what each takes and gives"),
        ("part", "the part whose instruction is wanted"),
    ];
    let inputs = known.into_iter().chain(own);
    Arc::new(SignatureSchema {
        instructions: task.into(),
        inputs: inputs.map(|(name, told)| field(name, TypeIR::Str, told)).collect(),
        outputs: vec![field(INSTRUCTION, TypeIR::Str, "the whole instruction, and nothing else")],
        defs: Arc::default(),
    })
}

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "copro"
    }

    fn description(&self) -> &'static str {
        "Has an LM write instructions for one predictor after the other, tries each on the whole \
         valset, and has it write better ones from how those did. Demos stay as they are. Good where \
         the instructions were never thought about, and the valset is small."
    }

    fn config_schema(&self) -> Payload {
        config_schema(&[
            (
                "breadth",
                r#"{"type": "integer", "minimum": 2, "maximum": 100, "default": 10,
                    "description": "instructions of one predictor that are tried in one round"}"#,
            ),
            (
                "depth",
                r#"{"type": "integer", "minimum": 1, "maximum": 20, "default": 3,
                    "description": "rounds"}"#,
            ),
            (
                "init_temperature",
                r#"{"type": "number", "minimum": 0, "maximum": 2, "default": 1.4,
                    "description": "the temperature at which instructions are written"}"#,
            ),
        ])
    }

    fn create(&self, config: &Payload, _: &At<'_>) -> Result<Box<dyn Optimizer>, Problems> {
        Ok(Box::new(Copro {
            breadth: count(config, "breadth", 10),
            depth: count(config, "depth", 3),
            temperature: number(config, "init_temperature", 1.4),
        }))
    }
}

struct Copro {
    breadth: usize,
    depth: usize,
    temperature: f64,
}

/// The instructions of one predictor that were tried, with the best objective of each.
type InstructionScores = IndexMap<Arc<str>, f64>;

impl Optimizer for Copro {
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

    /// Instructions that were not tried yet; fewer than are wanted where the LM repeats itself.
    async fn propose(
        &self,
        bench: &Workbench,
        all: &[TunablePredictor],
        one: &TunablePredictor,
        tried: &InstructionScores,
        round: usize,
    ) -> Result<Vec<Arc<str>>, EarlyStop> {
        let (signature, inputs) = question(all, one, tried, round);
        // In the first round the one that is there counts as one of them.
        let wanted = if round == 0 { self.breadth - 1 } else { self.breadth };
        let asked = (0..wanted).map(|at| {
            let (inputs, number) = (inputs.clone(), round * self.breadth + at + 1);
            let draw = Draw { number, temperature: self.temperature };
            propose_text(bench, signature, inputs, draw, INSTRUCTION)
        });
        let mut found: Vec<Arc<str>> = Vec::with_capacity(wanted);
        for proposed in try_join_all(asked).await?.into_iter().flatten() {
            if !tried.contains_key(&proposed) && !found.contains(&proposed) {
                found.push(proposed);
            }
        }
        Ok(found)
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

/// How a candidate does on the whole valset.
async fn objective(bench: &Workbench, id: TrialId) -> Result<f64, EarlyStop> {
    let evaluation = bench.full(id).await?;
    let scored = bench.trial(id).and_then(|trial| trial.full);
    Ok(scored.map_or_else(|| evaluation.mean(), |scored| scored.objective))
}
