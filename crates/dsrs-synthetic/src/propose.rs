//! Writes instructions and advice: sentences from a pool, most of which change nothing. Helpful and
//! harmful phrases are random; they are more likely if the feedback names their topic or if the
//! instruction already has them.

use crate::random::Dice;
use crate::tasks::{SyntheticTask, TaskPart};

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

/// Parts of the names of outputs that are instructions.
const PROPOSALS: [&str; 4] = ["instruction", "advice", "hint", "guidance"];

/// The probability of a helpful phrase: by chance, and if the inputs name it or its topic.
const HELP: f64 = 0.2;
const NAMED_HELP: f64 = 0.9;
/// The probability of a harmful phrase: by chance, and if the inputs contain it.
const HARM: f64 = 0.12;
const NAMED_HARM: f64 = 0.3;

/// Whether an output is an instruction or advice.
pub(crate) fn is_proposal(output: &str) -> bool {
    let output = output.to_lowercase();
    PROPOSALS.iter().any(|name| output.contains(name))
}

/// Instructions for the subject of the inputs, which are in lower case.
pub(crate) fn proposal(tasks: &[&'static SyntheticTask], inputs: &str, dice: &mut Dice) -> String {
    let mut sentences = vec![dice.pick(&NEUTRAL)];
    for part in meant(tasks, inputs) {
        for help in part.helps {
            let is_topic = !help.topic.is_empty() && inputs.contains(help.topic);
            let likely = if is_topic || inputs.contains(help.words) { NAMED_HELP } else { HELP };
            sentences.extend((dice.unit() < likely).then_some(help.sentence));
        }
        for hinder in part.hinders {
            let likely = if inputs.contains(hinder.words) { NAMED_HARM } else { HARM };
            sentences.extend((dice.unit() < likely).then_some(hinder.sentence));
        }
    }
    sentences.join(" ")
}

/// A neutral sentence.
pub(crate) fn remark(dice: &mut Dice) -> &'static str {
    dice.pick(&NEUTRAL)
}

/// The parts whose fields the inputs name; all parts if they name none.
fn meant(tasks: &[&'static SyntheticTask], text: &str) -> Vec<&'static TaskPart> {
    let parts = || tasks.iter().flat_map(|task| task.parts);
    let is_named = |part: &&TaskPart| {
        text.contains(part.output) && part.inputs.iter().all(|name| text.contains(name))
    };
    let named: Vec<&TaskPart> = parts().filter(is_named).collect();
    if named.is_empty() { parts().collect() } else { named }
}
