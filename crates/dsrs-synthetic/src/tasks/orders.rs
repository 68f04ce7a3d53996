//! `orders`: a question about a letter, in two steps. `find` extracts the facts from the letter,
//! `answer` answers from these facts alone. Each step fails independently, so that an instruction or
//! demos for one of them bring half of the possible gain.

use super::{Phrase, SyntheticTask, TaskPart};
use crate::random::Dice;
use crate::template::{Filled, fill, fill_by, read};

const LETTERS: [&str; 3] = [
    "Order {order} of {day}: {count} {thing} at {price} euro each to {city}, delivery {fee} euro. The one before, {old_order} of {old_day}, was {old_count} {old_thing} at {old_price} euro each to {old_city}, delivery {old_fee} euro.",
    "Unlike order {old_order} ({old_day}, {old_city}, {old_count} {old_thing}, {old_price} euro each and {old_fee} for delivery), {order} is for {city}: {count} {thing}, placed on {day}, {price} euro each and {fee} for delivery.",
    "On {day} {name} placed order {order} from {city}. It is about {count} {thing}. Each costs {price} euro, delivery {fee}. There was {old_order} on {old_day} from {old_city} about {old_count} {old_thing}; each cost {old_price} euro, delivery {old_fee}.",
];

/// A kind of question: the question, the facts that it needs, and the full answer.
struct QuestionKind {
    question: &'static str,
    facts: &'static str,
    answer: fn(&Filled<'_>) -> String,
    /// An answer that is too long or too short.
    wrong_answer: fn(&Filled<'_>) -> String,
}

const KINDS: [QuestionKind; 4] = [
    QuestionKind {
        question: "What does the order cost, with delivery?",
        facts: "{order}: {count} {thing} at {price} euro, delivery {fee} euro",
        answer: |f| format!("{} euro", cost(f) + f.number("fee")),
        wrong_answer: |f| cost(f).to_string(),
    },
    QuestionKind {
        question: "How many pieces are ordered?",
        facts: "{order}: {count} {thing}",
        answer: |f| format!("{} {}", f.get("count"), f.get("thing")),
        wrong_answer: |f| f.get("count").to_owned(),
    },
    QuestionKind {
        question: "Which town is it for?",
        facts: "{order}: town {city}",
        answer: |f| f.get("city").to_owned(),
        wrong_answer: |f| format!("The town is {}.", f.get("city")),
    },
    QuestionKind {
        question: "When was it placed?",
        facts: "{order}: placed {day}",
        answer: |f| f.get("day").to_owned(),
        wrong_answer: |f| format!("It was placed on {}.", f.get("day")),
    },
];

pub(crate) static TASK: SyntheticTask = SyntheticTask {
    name: "orders",
    document: r#"{"name": "orders", "nodes": {
        "find": {"strategy": "predict", "signature": {
            "instructions": "Find what the question is about.",
            "inputs": [{"name": "letter"}, {"name": "question"}], "outputs": [{"name": "facts"}]}},
        "answer": {"strategy": "predict", "signature": {
            "instructions": "Answer the question.",
            "inputs": [{"name": "facts"}, {"name": "question"}], "outputs": [{"name": "answer"}]}}},
      "edges": [{"from": "find.facts", "to": "answer.facts"}],
      "outputs": {"answer": "answer.answer"}}"#,
    parts: &[
        TaskPart {
            inputs: &["letter", "question"],
            output: "facts",
            base: 0.64,
            most: 0.96,
            demos: 0.18,
            reasoning: 0.04,
            helps: &[
                Phrase {
                    words: "current order only",
                    sentence: "Look at the current order only.",
                    topic: "leave the earlier order aside",
                    gain: 0.14,
                },
                Phrase {
                    words: "order's number first",
                    sentence: "Put the order's number first.",
                    topic: "begin with the number of the order",
                    gain: 0.10,
                },
            ],
            hinders: &[Phrase {
                words: "whole letter",
                sentence: "Sum up the whole letter.",
                topic: "",
                gain: 0.15,
            }],
            right: |inputs| find(inputs, false),
            wrong: |inputs, _| find(inputs, true).unwrap_or_else(|| "nothing found".to_owned()),
        },
        TaskPart {
            inputs: &["facts", "question"],
            output: "answer",
            base: 0.64,
            most: 0.96,
            demos: 0.18,
            reasoning: 0.06,
            helps: &[
                Phrase {
                    words: "as few words as possible",
                    sentence: "Use as few words as possible.",
                    topic: "answer in the shortest form",
                    gain: 0.12,
                },
                Phrase {
                    words: "name the unit",
                    sentence: "Always name the unit.",
                    topic: "say what a number counts",
                    gain: 0.12,
                },
            ],
            hinders: &[Phrase {
                words: "full sentence",
                sentence: "Answer in a full sentence.",
                topic: "",
                gain: 0.15,
            }],
            right: |inputs| reply(inputs, |kind| kind.answer),
            wrong: |inputs, _| {
                reply(inputs, |kind| kind.wrong_answer).unwrap_or_else(|| "unknown".to_owned())
            },
        },
    ],
    inputs,
};

fn inputs(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let letter = fill(dice.pick(&LETTERS), dice);
    let question = dice.pick(&KINDS.map(|kind| kind.question));
    vec![("letter", letter), ("question", question.to_owned())]
}

/// The facts for the question, of the current order or of the previous one.
fn find(inputs: &[&str], is_previous: bool) -> Option<String> {
    let [letter, question] = inputs else { return None };
    let kind = kind_of(question)?;
    let found = LETTERS.into_iter().find_map(|template| read(template, letter))?;
    Some(fill_by(kind.facts, |slot| match is_previous {
        true => found.get(&format!("old_{slot}")).to_owned(),
        false => found.get(slot).to_owned(),
    }))
}

fn reply(inputs: &[&str], form: fn(&QuestionKind) -> fn(&Filled<'_>) -> String) -> Option<String> {
    let [facts, question] = inputs else { return None };
    let kind = kind_of(question)?;
    Some(form(kind)(&read(kind.facts, facts)?))
}

fn kind_of(question: &str) -> Option<&'static QuestionKind> {
    KINDS.iter().find(|kind| kind.question == question.trim())
}

fn cost(found: &Filled<'_>) -> i64 {
    found.number("count") * found.number("price")
}
