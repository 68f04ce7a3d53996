//! `sums`: word problems with a number as the answer. Reasoning before the answer helps most.

use super::{Phrase, SyntheticTask, TaskPart};
use crate::random::Dice;
use crate::template::{Filled, fill, read};

type SumRule = fn(&Filled<'_>) -> i64;

fn problems() -> [(&'static str, SumRule); 10] {
    [
        (
            "{name} has {a} boxes with {b} {thing} in each and finds {c} more. How many {thing} are there now, {old_name} asks.",
            |f| f.number("a") * f.number("b") + f.number("c"),
        ),
        (
            "A shop had {many} {thing} and sold {a} on {day} and {b} on {old_day}. How many are left?",
            |f| f.number("many") - f.number("a") - f.number("b"),
        ),
        (
            "{name} pays {a} euro for each of {b} {thing} and gets {c} euro off. What is paid in all?",
            |f| f.number("a") * f.number("b") - f.number("c"),
        ),
        (
            "The train to {city} has {a} coaches for {many} people each; {b} seats are broken. How many can sit?",
            |f| f.number("a") * f.number("many") - f.number("b"),
        ),
        (
            "{name} walked {a} km on {day}, twice as much on {old_day}, then {b} km to {city}. How far was it?",
            |f| f.number("a") * 3 + f.number("b"),
        ),
        (
            "In {city}, {a} friends share the rent of {b} rooms at {many} euro a room. How much is due in total?",
            |f| f.number("b") * f.number("many"),
        ),
        (
            "{name} is {many} years old, {old_name} is {a} years younger. How old are they together?",
            |f| f.number("many") * 2 - f.number("a"),
        ),
        (
            "A baker in {city} fills {a} trays of {b} rolls every hour. How many rolls are ready after {c} hours?",
            |f| f.number("a") * f.number("b") * f.number("c"),
        ),
        (
            "{name} read {a} pages a day for {b} days of a book with 400 pages. How many pages remain?",
            |f| 400 - f.number("a") * f.number("b"),
        ),
        (
            "From {many} {thing} {name} gives {a} to {old_name} and as many to a school in {city}. How many stay?",
            |f| f.number("many") - f.number("a") * 2,
        ),
    ]
}

pub(crate) static TASK: SyntheticTask = SyntheticTask {
    name: "sums",
    document: r#"{"name": "sums", "nodes": {"solve": {"strategy": "predict", "signature": {
        "instructions": "Solve the problem.",
        "inputs": [{"name": "problem"}],
        "outputs": [{"name": "result", "type": "int"}]}}}}"#,
    parts: &[TaskPart {
        inputs: &["problem"],
        output: "result",
        base: 0.40,
        most: 0.93,
        demos: 0.14,
        reasoning: 0.28,
        helps: &[
            Phrase {
                words: "one calculation at a time",
                sentence: "Do one calculation at a time.",
                topic: "calculate in small steps",
                gain: 0.12,
            },
            Phrase {
                words: "write down every number",
                sentence: "Write down every number of the text before you calculate.",
                topic: "miss none of the numbers",
                gain: 0.09,
            },
        ],
        hinders: &[
            Phrase {
                words: "as fast as you can",
                sentence: "Answer as fast as you can.",
                topic: "",
                gain: 0.15,
            },
            Phrase {
                words: "round number",
                sentence: "Prefer a round number.",
                topic: "",
                gain: 0.10,
            },
        ],
        right,
        wrong,
    }],
    inputs,
};

fn inputs(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let template = dice.pick(&problems().map(|(template, _)| template));
    vec![("problem", fill(template, dice))]
}

fn right(inputs: &[&str]) -> Option<String> {
    let problem = inputs.first()?;
    let found =
        problems().into_iter().find_map(|(template, rule)| Some(rule(&read(template, problem)?)));
    found.map(|number| number.to_string())
}

/// A number close to the right one.
fn wrong(inputs: &[&str], number: u64) -> String {
    let right = right(inputs).and_then(|right| right.parse::<i64>().ok()).unwrap_or_default();
    let errors = [-10, -2, -1, 1, 2, 5, 10, 12];
    (right + Dice::of(number).pick(&errors)).to_string()
}
