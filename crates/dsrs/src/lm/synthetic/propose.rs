//! What the LM writes where it is asked for instructions or advice: sentences from a pool, most of
//! which change nothing. Words that help or harm come by chance; they come readily where feedback
//! names their topic, and stay readily once they are there.

use super::chance::Dice;
use super::tasks::{Part, SyntheticTask};

/// Sentences that change nothing.
const NEUTRAL: [&str; 8] = [
    "Read the inputs with care.",
    "Be accurate.",
    "Take all fields into account.",
    "Keep to the layout that is asked for.",
    "You are an experienced assistant.",
    "Stay with what is given.",
    "Pay attention to details.",
    "Make sure that the outputs fit the inputs.",
];

/// Parts of names of outputs that take instructions.
const PROPOSALS: [&str; 4] = ["instruction", "advice", "hint", "guidance"];

/// How likely words come that help: by chance, and where feedback asks for them or they are there.
const HELP: f64 = 0.2;
const ASKED: f64 = 0.9;
/// How likely words come that harm: by chance, and where they are there.
const HARM: f64 = 0.12;
const KEPT: f64 = 0.3;

/// Whether an output is one for instructions or advice.
pub(super) fn is_proposal(output: &str) -> bool {
    let output = output.to_lowercase();
    PROPOSALS.iter().any(|name| output.contains(name))
}

/// Instructions for whatever the request is about; `said` is what stands in its inputs, in small
/// letters.
pub(super) fn proposal(tasks: &[&'static SyntheticTask], said: &str, dice: &mut Dice) -> String {
    let mut sentences = vec![dice.pick(&NEUTRAL)];
    for part in meant(tasks, said) {
        for help in part.helps {
            let is_asked = !help.topic.is_empty() && said.contains(help.topic);
            let likely = if is_asked || said.contains(help.words) { ASKED } else { HELP };
            sentences.extend((dice.unit() < likely).then_some(help.sentence));
        }
        for hinder in part.hinders {
            let likely = if said.contains(hinder.words) { KEPT } else { HARM };
            sentences.extend((dice.unit() < likely).then_some(hinder.sentence));
        }
    }
    sentences.join(" ")
}

/// A sentence about nothing.
pub(super) fn remark(dice: &mut Dice) -> &'static str {
    dice.pick(&NEUTRAL)
}

/// The parts whose fields the request names; all parts if it names none.
fn meant(tasks: &[&'static SyntheticTask], said: &str) -> Vec<&'static Part> {
    let parts = || tasks.iter().flat_map(|task| task.parts);
    let is_named = |part: &&Part| {
        said.contains(part.output) && part.inputs.iter().all(|name| said.contains(name))
    };
    let named: Vec<&Part> = parts().filter(is_named).collect();
    if named.is_empty() { parts().collect() } else { named }
}
