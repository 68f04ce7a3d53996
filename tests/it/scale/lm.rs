//! The model: it fails, stalls and talks nonsense now and then, and counts its requests by the work and the node that
//! they are for, and by the server that sends them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::graphs::{NODES, NUMBERS};
use super::runs::ENDLESS;
use dsrs_test::{Asked, Dice, Does, FakeLm, Gate, found, sections};

/// Of 64 requests: how many are answered by an error, a break, nothing at all until the next fault has been, and nonsense.
/// What is in the servers' way is never that an answer is late: how late it is depends on the machine.
const ERRORS: usize = 3;
const BREAKS: usize = 4;
const SILENCE: usize = 5;
const NONSENSE: usize = 6;

/// An answer takes up to this many milliseconds, one of the optimization up to so many.
const SLOWEST: usize = 80;
const SLOWEST_ROLLOUT: usize = 1000;

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub at: Instant,
    /// The server that sent it.
    pub server: usize,
    /// The work that it is for, as the prompt names it.
    pub mark: String,
    pub node: &'static str,
    /// Distinguishes prompts.
    pub prompt: u64,
    /// Whether it gets a good answer.
    pub answered: bool,
}

pub struct Lm {
    fake: Arc<FakeLm>,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    dice: Dice,
    requests: Vec<Request>,
    /// The last request for each mark.
    last: HashMap<String, usize>,
    /// Opened when the requests that are not answered are given up.
    silence: Gate,
}

impl Lm {
    pub async fn start(seed: u64) -> Self {
        let seen = Seen {
            dice: Dice(seed),
            requests: Vec::new(),
            last: HashMap::new(),
            silence: Gate::new(),
        };
        let seen = Arc::new(Mutex::new(seen));
        let noticing = seen.clone();
        let fake = FakeLm::by(move |_, asked| noticing.lock().unwrap().notice(asked)).await;
        Self { fake, seen }
    }

    /// What a server's `base_url` is set to.
    pub fn url(&self, server: usize) -> String {
        format!("{}/{server}", self.fake.url)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// How many requests there were so far.
    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().requests.len()
    }

    /// The last request for a mark, once there is one.
    pub async fn last(&self, mark: &str) -> Request {
        let last = async || {
            let seen = self.seen.lock().unwrap();
            seen.last.get(mark).map(|number| seen.requests[*number].clone())
        };
        found(&format!("a request for {mark}"), last).await
    }

    /// Breaks the connections of all requests that are not answered.
    pub fn end_silence(&self) {
        mem::replace(&mut self.seen.lock().unwrap().silence, Gate::new()).open();
    }

    /// The same, also of those that follow.
    pub fn end_all_silence(&self) {
        self.seen.lock().unwrap().silence.open();
    }
}

impl Seen {
    fn notice(&mut self, asked: &Asked) -> Does {
        let text = asked.text();
        let mark = mark_of(&text);
        let node = NODES.iter().find(|node| text.contains(&format!("Node {node}.")));
        let mut prompt = DefaultHasher::new();
        text.hash(&mut prompt);
        let server = asked.path.split('/').nth(2).unwrap().parse().unwrap();
        let does = self.decide(&mark, node.unwrap(), asked);
        let answered = matches!(does, Does::SayLate(..));
        self.last.insert(mark.clone(), self.requests.len());
        let node = node.unwrap();
        let prompt = prompt.finish();
        self.requests.push(Request { at: asked.at, server, mark, node, prompt, answered });
        does
    }

    fn decide(&mut self, mark: &str, node: &str, asked: &Asked) -> Does {
        if mark.starts_with(ENDLESS) {
            return Does::Stall;
        }
        let slowest = if node == "optimized" { SLOWEST_ROLLOUT } else { SLOWEST };
        let (event, time) = (self.dice.roll(64), self.dice.roll(slowest));
        match event {
            0..ERRORS => Does::Answer(500, Vec::new(), "{}".to_owned()),
            ERRORS..BREAKS => Does::BreakOff,
            BREAKS..SILENCE => Does::StallUntil(self.silence.clone()),
            // A text would be an answer to those that ask for a text.
            SILENCE..NONSENSE if NUMBERS.contains(&node) => Does::Say("nothing of use".to_owned()),
            _ => Does::SayLate(Duration::from_millis(time as u64), said(mark, node, asked)),
        }
    }
}

/// The mark of the work that a prompt is for, which is behind those of worked examples.
fn mark_of(text: &str) -> String {
    let (_, rest) = text.rsplit_once("mark-").unwrap_or_else(|| panic!("no mark in {text}"));
    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// The number at the end of a mark.
pub fn number_of(mark: &str) -> usize {
    mark.rsplit('-').next().unwrap().parse().unwrap()
}

/// Every field that a node of the graphs may ask for.
fn said(mark: &str, node: &str, asked: &Asked) -> String {
    let answer = match node {
        // Two examples of three are right.
        "first" | "second" if number_of(mark).is_multiple_of(3) => "no".to_owned(),
        "optimized" => learned(number_of(mark), asked),
        _ => "yes".to_owned(),
    };
    let fields =
        [("seed", "1"), ("l", "2"), ("r", "3"), ("done", "4"), ("draft", "dear"), ("sent", "ok")];
    sections(fields.into_iter().chain([("answer", answer.as_str())]))
}

/// Knows the answer once it is shown any worked example; without one it knows every fifth.
fn learned(number: usize, asked: &Asked) -> String {
    let is_example = |said: &Value| {
        said["role"] == "assistant"
            && said["content"].as_str().unwrap().contains("[[ ## answer ## ]]")
    };
    let is_shown = asked.messages().iter().any(is_example);
    match is_shown || number.is_multiple_of(5) {
        true => format!("a{number}"),
        false => "no idea".to_owned(),
    }
}
