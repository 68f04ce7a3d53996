//! Instructions that an LM proposes, from all that is known of data, program and predictor. Knows
//! nothing of how they do.

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

/// The output that a proposal stands in.
const INSTRUCTION: &str = "new_instruction";

/// Demos that are shown with one proposal.
const SHOWN: usize = 3;

/// How to go about it: each proposal is told one of these, so that they differ.
const TIPS: [&str; 8] = [
    "",
    "As short as it can be without leaving anything open.",
    "Lay out the steps, in the order in which a careful person takes them.",
    "Be exact about the form of what comes out: its words, its length, its units.",
    "Name the mistakes that are likely here, and how each is avoided.",
    "Address the one who does such work for a living, and name that profession.",
    "Say who relies on the result, and what a wrong one would cost them.",
    "Give the rule by which doubtful cases are decided.",
];

static PROPOSE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "One part of a program is a language model that follows an instruction. Write an \
         instruction with which it does its task better than with the one it has. Take from what \
         is known here whatever the part cannot know by itself: it sees its instruction and its \
         inputs, and perhaps some cases done before.",
        &[
            ("about_the_data", "what the program is used on"),
            ("program", PROGRAM),
            ("about_the_program", "what it is for"),
            ("part", "the part whose instruction is wanted"),
            ("about_the_part", "what it is there for"),
            ("done_well", "what it took and gave in cases that went well"),
            ("instruction_so_far", "what it is told now"),
            ("tip", "how this instruction is to be written"),
        ],
        (INSTRUCTION, "the whole instruction, and nothing else"),
    ))
});

/// Proposes instructions.
pub(super) struct Proposer<'p> {
    pub(super) bench: &'p Workbench,
    pub(super) grounds: &'p Grounds,
    pub(super) tips: bool,
    pub(super) temperature: f64,
}

/// A predictor that instructions are wanted for.
pub(super) struct ProposalRequest<'p> {
    /// Its place among all.
    pub(super) at: usize,
    /// What it is.
    pub(super) part: &'p TunablePredictor,
    /// What it is told now.
    pub(super) now: Arc<str>,
    /// DemoSets of demos, of which each proposal is shown another; none are shown where there are none.
    pub(super) demo_sets: &'p [Vec<Demo>],
}

impl Proposer<'_> {
    /// So many instructions for a predictor, or fewer, where the LM fails or repeats itself.
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

    /// What is told for one proposal. What is not known is not mentioned.
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
        let told = known.into_iter().filter_map(|(name, text)| Some((name.into(), text?)));
        told.map(|(name, text)| (name, Payload::Str(text))).collect()
    }
}

fn shown(demos: &[Demo]) -> String {
    let mut text = String::new();
    for (number, demo) in demos.iter().take(SHOWN).enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Case {}", number + 1);
        add_fields(&mut text, "took", &demo.input);
        add_fields(&mut text, "gave", &demo.output);
    }
    text.trim_end().to_owned()
}
