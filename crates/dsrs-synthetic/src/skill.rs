//! The accuracy of the LM at a part of a task, and its answer. Each input has a difficulty that does
//! not depend on the prompt, so that a better prompt never makes a right answer wrong.

use crate::random::{hash, unit};
use crate::request::{PromptRequest, value};
use crate::tasks::{Phrase, SyntheticTask, TaskPart};

/// The share of the remaining gain from demos that a dissimilar and a similar demo add.
const FAR: f64 = 0.10;
const NEAR: f64 = 0.30;
/// The share of common words from which a demo is similar to the inputs.
const MIN_SIMILARITY: f64 = 0.4;
/// The loss from a wrong demo, and how many of them count.
const MISLED: f64 = 0.10;
const MISLEADING: usize = 4;
/// The greatest loss from harmful phrases.
const HINDERED: f64 = 0.25;
/// Outputs for reasoning before the answer.
const THOUGHTS: [&str; 2] = ["reasoning", "rationale"];

/// The part of a task that a request is for: it requests the output and has the inputs.
pub(crate) fn part_of(
    tasks: &[&'static SyntheticTask],
    prompt: &PromptRequest<'_>,
) -> Option<&'static TaskPart> {
    let is_requested = |part: &&TaskPart| {
        prompt.outputs.contains(&part.output)
            && part.inputs.iter().all(|name| prompt.input(name).is_some())
    };
    tasks.iter().flat_map(|task| task.parts).find(is_requested)
}

/// The answer of a part, right or wrong. `draw` is the temperature and seed of a request that has
/// them: then half of the answers are drawn again.
pub(crate) fn answer(
    seed: &str,
    draw: Option<&str>,
    part: &TaskPart,
    prompt: &PromptRequest<'_>,
) -> String {
    let inputs: Vec<&str> = part.inputs.iter().filter_map(|name| prompt.input(name)).collect();
    let of = |what: &str, draw: &str| {
        hash([what, seed, draw, part.output].into_iter().chain(inputs.iter().copied()))
    };
    let anew = draw.filter(|draw| unit(of("anew", draw)) < 0.5).unwrap_or_default();
    let difficulty = unit(of("difficulty", anew));
    let right = (part.right)(&inputs).filter(|_| difficulty < chance(part, prompt));
    right.unwrap_or_else(|| (part.wrong)(&inputs, of("slip", anew)))
}

/// The probability of a right answer.
fn chance(part: &TaskPart, prompt: &PromptRequest<'_>) -> f64 {
    let thinks = THOUGHTS.iter().any(|thoughts| prompt.outputs.contains(thoughts));
    let reasoning = if thinks { part.reasoning } else { 0.0 };
    let helped = gain_of_phrases(part.helps, &prompt.guidance);
    let hindered = gain_of_phrases(part.hinders, &prompt.guidance).min(HINDERED);
    let all = part.base + reasoning + helped - hindered + gain_of_demos(part, prompt);
    all.clamp(0.05, part.most)
}

/// The sum of the gains of the phrases in an instruction.
fn gain_of_phrases(phrases: &[Phrase], guidance: &str) -> f64 {
    phrases.iter().filter(|known| guidance.contains(known.words)).map(|known| known.gain).sum()
}

/// The gain from demos: each right one adds less, wrong ones subtract.
fn gain_of_demos(part: &TaskPart, prompt: &PromptRequest<'_>) -> f64 {
    let here = words(part, |name| prompt.input(name));
    let mut to_gain = 1.0;
    let mut wrong = 0;
    for (inputs, outputs) in &prompt.demos {
        let values: Option<Vec<&str>> =
            part.inputs.iter().map(|name| value(inputs, name)).collect();
        let right = values.and_then(|values| (part.right)(&values));
        let (Some(right), Some(output)) = (right, value(outputs, part.output)) else { continue };
        match output == right {
            true if alike(&here, &words(part, |name| value(inputs, name))) => to_gain *= 1.0 - NEAR,
            true => to_gain *= 1.0 - FAR,
            false => wrong += 1,
        }
    }
    part.demos * (1.0 - to_gain) - MISLED * wrong.min(MISLEADING) as f64
}

fn alike(one: &[String], other: &[String]) -> bool {
    let common = one.iter().filter(|word| other.contains(word)).count();
    let all = one.len() + other.len() - common;
    all > 0 && common as f64 / all as f64 >= MIN_SIMILARITY
}

/// The distinct words of the inputs, without numbers and short words.
fn words<'s>(part: &TaskPart, input: impl Fn(&str) -> Option<&'s str>) -> Vec<String> {
    let texts = part.inputs.iter().filter_map(|name| input(name));
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    let mut words: Vec<String> =
        words.filter(|word| word.len() > 2).map(str::to_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    words
}
