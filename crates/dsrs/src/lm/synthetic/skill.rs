//! How good a prompt makes the LM at a part of a task, and what it then answers. Whether an answer
//! is right depends on the inputs' own difficulty and on nothing that the prompt changes, so that a
//! better prompt never makes a right answer wrong.

use super::asked::{Asked, value};
use super::chance::{hash, unit};
use super::tasks::{Part, Phrase, SyntheticTask};

/// Of what is still to gain from demos, what a demo of another kind, and one like the inputs, takes.
const FAR: f64 = 0.10;
const NEAR: f64 = 0.30;
/// From which share of common words on a demo is like the inputs.
const ALIKE: f64 = 0.4;
/// What a wrong demo takes away, and how many of them count.
const MISLED: f64 = 0.10;
const MISLEADING: usize = 4;
/// What words that harm take away at most.
const HINDERED: f64 = 0.25;
/// Outputs in which an LM thinks before it answers.
const THOUGHTS: [&str; 2] = ["reasoning", "rationale"];

/// The part of a task that a request asks for: its output is wanted, and its inputs are there.
pub(super) fn part_of(
    tasks: &[&'static SyntheticTask],
    asked: &Asked<'_>,
) -> Option<&'static Part> {
    let is_asked = |part: &&Part| {
        asked.wanted.contains(&part.output)
            && part.inputs.iter().all(|name| asked.input(name).is_some())
    };
    tasks.iter().flat_map(|task| task.parts).find(is_asked)
}

/// The answer of a part, right or wrong. `draw` stands for the temperature and the seed of a
/// request that has them: then half of the answers are drawn anew.
pub(super) fn answer(seed: &str, draw: Option<&str>, part: &Part, asked: &Asked<'_>) -> String {
    let inputs: Vec<&str> = part.inputs.iter().filter_map(|name| asked.input(name)).collect();
    let of = |what: &str, draw: &str| {
        hash([what, seed, draw, part.output].into_iter().chain(inputs.iter().copied()))
    };
    let anew = draw.filter(|draw| unit(of("anew", draw)) < 0.5).unwrap_or_default();
    let difficulty = unit(of("difficulty", anew));
    let right = (part.right)(&inputs).filter(|_| difficulty < chance(part, asked));
    right.unwrap_or_else(|| (part.wrong)(&inputs, of("slip", anew)))
}

/// How likely the answer is right.
fn chance(part: &Part, asked: &Asked<'_>) -> f64 {
    let thinks = THOUGHTS.iter().any(|thoughts| asked.wanted.contains(thoughts));
    let reasoning = if thinks { part.reasoning } else { 0.0 };
    let helped = said(part.helps, &asked.guidance);
    let hindered = said(part.hinders, &asked.guidance).min(HINDERED);
    let all = part.base + reasoning + helped - hindered + shown(part, asked);
    all.clamp(0.05, part.most)
}

/// What the words of an instruction add up to.
fn said(phrases: &[Phrase], guidance: &str) -> f64 {
    phrases.iter().filter(|known| guidance.contains(known.words)).map(|known| known.gain).sum()
}

/// What demos add: right ones ever less, wrong ones take away.
fn shown(part: &Part, asked: &Asked<'_>) -> f64 {
    let here = words(part, |name| asked.input(name));
    let mut to_gain = 1.0;
    let mut wrong = 0;
    for (inputs, outputs) in &asked.demos {
        let given: Option<Vec<&str>> = part.inputs.iter().map(|name| value(inputs, name)).collect();
        let right = given.and_then(|given| (part.right)(&given));
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
    all > 0 && common as f64 / all as f64 >= ALIKE
}

/// The words of the inputs, each once, without numbers and the shortest.
fn words<'s>(part: &Part, input: impl Fn(&str) -> Option<&'s str>) -> Vec<String> {
    let texts = part.inputs.iter().filter_map(|name| input(name));
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    let mut words: Vec<String> =
        words.filter(|word| word.len() > 2).map(str::to_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    words
}
