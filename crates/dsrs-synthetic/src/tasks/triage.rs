//! `triage`: sort messages to a shop into queues. Demos help most, above all those of similar
//! messages; messages about money are easily sorted into the wrong one of two queues.

use super::{Phrase, SyntheticTask, TaskPart};
use crate::random::Dice;
use crate::template::{fill, read};

const QUEUES: [&str; 5] = ["billing", "refund", "delivery", "account", "technical"];

const MESSAGES: [(&str, &str); 20] = [
    ("billing", "{name} here: my card was charged twice for the {thing} I ordered on {day}."),
    (
        "billing",
        "The invoice of {day} lists {count} {thing}, yet I only got one. Please correct it. {name}",
    ),
    ("billing", "Could you put the address in {city} on my bill for the {thing}? Regards, {name}"),
    (
        "billing",
        "{name} from {city} asks why the price of the {thing} rose between cart and statement.",
    ),
    ("refund", "I sent back the {thing} on {day} and still wait for the money. {name}, {city}"),
    ("refund", "The {thing} arrived scratched; I would rather have my {many} euro again. {name}"),
    (
        "refund",
        "Charged for {count} {thing} that I cancelled on {day}; return the amount to my card. {name}",
    ),
    ("refund", "{name} here: the {thing} are not as shown, so take them and pay me out."),
    (
        "delivery",
        "Where is the parcel with my {thing}? The courier was due in {city} on {day}. {name}",
    ),
    (
        "delivery",
        "The driver left the {thing} with a neighbour in {city} whom nobody knows. {name}",
    ),
    ("delivery", "{name} asks: can the {thing} come on {day} instead, since nobody is at home?"),
    (
        "delivery",
        "Tracking says that {count} {thing} have been in {city} since {day}; please hurry. {name}",
    ),
    (
        "account",
        "I forgot my password and the mail to reset it never comes. {name}, customer since {day}",
    ),
    ("account", "Please change my user name to {name} and the home town to {city}."),
    ("account", "{name} moved to {city}: how do I close one of my two profiles?"),
    ("account", "Someone in {city} logged in as me on {day}. Lock everything! {name}"),
    (
        "technical",
        "The page with the {thing} shows error {many} whenever I press the button. {name}",
    ),
    ("technical", "Your app crashes on {day} mornings as soon as it loads {thing}. {name}"),
    ("technical", "{name} here: the picture of the {thing} stays blank in every browser."),
    (
        "technical",
        "The search finds no {thing} although the filter is set to {city}. A bug? {name}",
    ),
];

pub(crate) static TASK: SyntheticTask = SyntheticTask {
    name: "triage",
    document: r#"{"name": "triage", "nodes": {"sort": {"strategy": "predict", "signature": {
        "instructions": "Put the message into a queue.",
        "inputs": [{"name": "message"}],
        "outputs": [{"name": "queue",
            "type": "'billing' | 'refund' | 'delivery' | 'account' | 'technical'"}]}}}}"#,
    parts: &[TaskPart {
        inputs: &["message"],
        output: "queue",
        base: 0.42,
        most: 0.94,
        demos: 0.42,
        reasoning: 0.02,
        helps: &[
            Phrase {
                words: "what the sender wants done",
                sentence: "Decide by what the sender wants done.",
                topic: "decide by the wish of the sender",
                gain: 0.12,
            },
            Phrase {
                words: "money back means refund",
                sentence: "A wish for money back means refund, never billing.",
                topic: "tell the two queues about payments apart",
                gain: 0.10,
            },
        ],
        hinders: &[
            Phrase {
                words: "first word",
                sentence: "Judge by the first word of the text.",
                topic: "",
                gain: 0.15,
            },
            Phrase {
                words: "when in doubt",
                sentence: "When in doubt, take billing.",
                topic: "",
                gain: 0.08,
            },
        ],
        right,
        wrong,
    }],
    inputs,
};

fn inputs(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let (_, template) = dice.pick(&MESSAGES);
    vec![("message", fill(template, dice))]
}

fn right(inputs: &[&str]) -> Option<String> {
    let message = inputs.first()?;
    let (queue, _) = MESSAGES.iter().find(|(_, template)| read(template, message).is_some())?;
    Some((*queue).to_owned())
}

fn wrong(inputs: &[&str], number: u64) -> String {
    let right = right(inputs).unwrap_or_default();
    let other = match right.as_str() {
        "billing" if !number.is_multiple_of(4) => Some("refund"),
        "refund" if !number.is_multiple_of(4) => Some("billing"),
        _ => None,
    };
    let rest: Vec<&str> = QUEUES.into_iter().filter(|queue| *queue != right).collect();
    other.unwrap_or_else(|| Dice::of(number).pick(&rest)).to_owned()
}
