//! Proposing instructions: an LM writes them from what is known about data, program and predictor.
//! Knows nothing of scores.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use futures_util::future::try_join_all;

use super::ground::{Grounds, PROGRAM, asks};
use crate::optimize::optimizers::describe::{TunablePredictor, add_fields, part};
use crate::optimize::optimizers::proposal::{Draw, propose_text};
use crate::optimize::{EarlyStop, Workbench};
use crate::predict::Demo;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// The output field with the proposal.
const INSTRUCTION: &str = "new_instruction";

/// The maximum number of demos in the prompt of one proposal.
const SHOWN: usize = 3;

/// Writing tips: each proposal gets another one, so that proposals differ.
const TIPS: [&str; 8] = [
    "",
    "Be as brief as you can without leaving anything ambiguous.",
    "Break the task down into steps, in the order in which an expert takes them.",
    "Specify the exact form of the output: its wording, length and units.",
    "Name the likely mistakes and how to avoid each of them.",
    "Address the model as an expert in the right profession, and name that profession.",
    "Explain who relies on the result and what a wrong one would cost them.",
    "Give a rule for deciding ambiguous cases.",
];

static PROPOSE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "Write an instruction for one language model call in a program, better than its current one. \
         Use what is known here about the data, the program and the part. The model sees only its \
         instruction, its inputs and perhaps a few worked examples, so the instruction must include \
         everything else that it needs to know.",
        &[
            ("about_the_data", "a summary of the data"),
            ("program", PROGRAM),
            ("about_the_program", "what the program does"),
            ("part", "the part that you write an instruction for"),
            ("about_the_part", "the role of the part"),
            ("done_well", "inputs and outputs of the part in successful runs"),
            ("instruction_so_far", "the current instruction of the part"),
            ("tip", "how to write this instruction"),
        ],
        (INSTRUCTION, "the complete instruction and nothing else"),
    ))
});

/// Proposes instructions.
pub(super) struct Proposer<'p> {
    pub(super) bench: &'p Workbench,
    pub(super) grounds: &'p Grounds,
    pub(super) tips: bool,
    pub(super) temperature: f64,
}

/// A predictor to propose instructions for.
pub(super) struct ProposalRequest<'p> {
    /// Its index among all predictors.
    pub(super) at: usize,
    /// Its path and schema.
    pub(super) part: &'p TunablePredictor,
    /// Its current instruction.
    pub(super) now: Arc<str>,
    /// Sets of demos; each proposal shows another set, or none if there are none.
    pub(super) demo_sets: &'p [Vec<Demo>],
}

impl Proposer<'_> {
    /// Proposes up to `count` instructions; fewer if the LM fails or repeats itself.
    pub(super) async fn propose(
        &self,
        wanted: &ProposalRequest<'_>,
        count: usize,
    ) -> Result<Vec<Arc<str>>, EarlyStop> {
        let mut tips = TIPS;
        self.bench.rng(&format!("tips for {}", wanted.part.0)).shuffle(&mut tips);
        let tips = |at: usize| tips.get(at % tips.len()).copied().filter(|_| self.tips);
        let asked = (0..count).map(|at| self.ask(wanted, at, tips(at)));
        let mut found: Vec<Arc<str>> = Vec::with_capacity(count);
        for proposed in try_join_all(asked).await?.into_iter().flatten() {
            if proposed != wanted.now && !found.contains(&proposed) {
                found.push(proposed);
            }
        }
        Ok(found)
    }

    async fn ask(
        &self,
        wanted: &ProposalRequest<'_>,
        at: usize,
        tip: Option<&str>,
    ) -> Result<Option<Arc<str>>, EarlyStop> {
        let known = self.known(wanted, at, tip);
        let mut signature = SignatureSchema::clone(&PROPOSE);
        signature.inputs.retain(|field| known.contains_key(&field.name));
        let draw = Draw { number: at + 1, temperature: self.temperature };
        propose_text(self.bench, &Arc::new(signature), known, draw, INSTRUCTION).await
    }

    /// The inputs of one proposal; unknown ones are left out.
    fn known(&self, wanted: &ProposalRequest<'_>, at: usize, tip: Option<&str>) -> Fields {
        let grounds = self.grounds;
        let (text, about) = grounds.program.clone().unzip();
        let role = grounds.roles.get(wanted.at).cloned().flatten();
        let sets: Vec<&Vec<Demo>> =
            wanted.demo_sets.iter().filter(|demos| !demos.is_empty()).collect();
        let demos = sets.get(at % sets.len().max(1)).map(|demos| shown(demos).into());
        let known = [
            ("about_the_data", grounds.data.clone()),
            ("program", text),
            ("about_the_program", about.flatten()),
            ("part", Some(part(&wanted.part.0, &wanted.part.1).into())),
            ("about_the_part", role),
            ("done_well", demos),
            ("instruction_so_far", Some(wanted.now.clone())),
            ("tip", tip.filter(|tip| !tip.is_empty()).map(Arc::from)),
        ];
        let inputs = known.into_iter().filter_map(|(name, text)| Some((name.into(), text?)));
        inputs.map(|(name, text)| (name, Payload::Str(text))).collect()
    }
}

fn shown(demos: &[Demo]) -> String {
    let mut text = String::new();
    for (number, demo) in demos.iter().take(SHOWN).enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Example {}", number + 1);
        add_fields(&mut text, "inputs", &demo.input);
        add_fields(&mut text, "outputs", &demo.output);
    }
    text.trim_end().to_owned()
}
