//! An LM that is none, for tests, examples and measurements of optimizers: it does three tasks of its
//! own, ever better the better its prompt is, and writes instructions where it is asked for them.
//! What it answers is a function of its seed and the request, whenever and however often it is asked.
//! Knows messages; the prompts' layout it knows from the scripted LM.

mod asked;
mod chance;
mod embedder;
mod notation;
mod propose;
mod skill;
mod tasks;
mod template;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};

use self::asked::Asked;
use self::chance::{Dice, hash};
use self::notation::Maker;
use super::scripted::{reply, sections::layout};
use super::{Lm, LmError, LmParams, LmReply, LmRequest};
use crate::value::Payload;

pub use embedder::SyntheticEmbedder;
pub use tasks::{SyntheticRow, SyntheticTask};

/// An LM whose answers get better with its prompt.
///
/// It knows the tasks of [`SyntheticTask::all`] by the fields that are asked for. How often it is
/// right there rises with words in the instruction (each predictor has two that help, and others
/// that harm), with right demos (each less than the one before, those like the inputs more), with an
/// output `reasoning` or `rationale`, and falls with wrong demos. Every input has a difficulty, and
/// is answered right by each prompt that is good enough for it: a better prompt loses nothing. A
/// wrong answer is one that may be taken for right.
///
/// Right answers of 200 (rows of seed 1, LM of seed 1; `crates/dsrs/tests/synthetic.rs`):
///
/// | | `triage` | `sums` | `orders` |
/// |---|---|---|---|
/// | as posted | 79 | 85 | 82 |
/// | four right demos, whichever | 112 | | |
/// | the words that help | 125 | 134 | 150 (of one of its nodes 114, of the other 105) |
/// | both, with demos of like inputs | 184 | 151 | 175 (six demos, whichever) |
/// | `chain_of_thought` | 86 | 143 | |
/// | `chain_of_thought` and the words | | 180 | |
/// | two wrong demos | 46 | 46 | |
/// | words that harm | | | 63 |
///
/// Where it is asked for an output whose name has `instruction`, `advice`, `hint` or `guidance` in
/// it, it proposes: sentences of which most change nothing, and some help or harm. A topic that a
/// row's feedback names is nearly always met. Any other output has a value of the type that the
/// prompt tells.
///
/// Tokens are counted as words. A request with a temperature above 0, or with a seed and no
/// temperature, has half of its answers drawn anew, as the temperature and the seed have it.
///
/// ```
/// use dsrs::lm::{Chat, Lm, LmParams, LmRequest, Message, Prefix, SyntheticLm};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let lm = SyntheticLm::seeded(7);
/// let asks = "[[ ## program ## ]]\n…\n\nanswer with [[ ## instruction ## ]]";
/// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user(asks)] };
/// let request = LmRequest::new(chat, LmParams::default());
///
/// let reply = lm.complete(&request).await.unwrap();
/// assert!(reply.text.starts_with("[[ ## instruction ## ]]\n"));
/// assert_eq!(lm.complete(&request).await.unwrap(), reply);
/// assert_eq!(lm.requests(), 2);
/// # });
/// ```
pub struct SyntheticLm {
    seed: String,
    model: Arc<str>,
    latency: Duration,
    requests: AtomicU64,
}

impl SyntheticLm {
    /// The LM of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let (seed, model) = (seed.to_string(), "synthetic".into());
        Self { seed, model, latency: Duration::ZERO, requests: AtomicU64::new(0) }
    }

    /// The same LM, which takes its time. Tokio time: a paused clock skips it.
    #[must_use]
    pub const fn after(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The same LM under another model name.
    #[must_use]
    pub fn named(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = model.into();
        self
    }

    /// How many requests have come so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn answer(&self, request: &LmRequest) -> String {
        let tasks = &SyntheticTask::all();
        let asked = Asked::read(request);
        let draw = draw(&request.params);
        let part = skill::part_of(tasks, &asked);
        let writer = Writer::of(self, request, &asked, draw.as_deref());
        let mut fields: Vec<(&str, String)> = Vec::with_capacity(asked.wanted.len());
        for name in &asked.wanted {
            let value = match part.filter(|part| part.output == *name) {
                Some(part) => skill::answer(&self.seed, draw.as_deref(), part, &asked),
                None => writer.value(&asked, name),
            };
            fields.push((name, value));
        }
        layout(fields.iter().map(|(name, value)| (*name, value.as_str())))
    }
}

impl Lm for SyntheticLm {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if !self.latency.is_zero() {
                tokio::time::sleep(self.latency).await;
            }
            Ok(reply(request, self.answer(request).into(), self.model.clone()))
        }
        .boxed()
    }
}

/// What stands for the settings by which answers differ; nothing where they do not.
fn draw(params: &LmParams) -> Option<String> {
    let drawn = params.temperature.map_or(params.seed.is_some(), |warmth| warmth > 0.0);
    drawn.then(|| format!("{:?} {:?}", params.temperature, params.seed))
}

/// Writes what is no answer of a task.
struct Writer {
    /// What stands in the inputs, in small letters.
    said: String,
    /// The number from which all that it writes follows.
    seed: u64,
}

impl Writer {
    fn of(lm: &SyntheticLm, request: &LmRequest, asked: &Asked<'_>, draw: Option<&str>) -> Self {
        let all = request.chat.messages().map(|said| &*said.content);
        let seed = hash([&*lm.seed, draw.unwrap_or_default()].into_iter().chain(all));
        let inputs: Vec<&str> = asked.inputs.iter().map(|(_, value)| value.as_str()).collect();
        Self { said: inputs.join("\n").to_lowercase(), seed }
    }

    fn value(&self, asked: &Asked<'_>, output: &str) -> String {
        let parts = program_parts(asked);
        let mut text = |name: &str, dice: &mut Dice| self.text(output, name, &parts, dice);
        let mut maker = Maker::of(asked.types(), &parts, &mut text);
        let mut dice = Dice::of(self.seed ^ hash([output]));
        match maker.value(asked.type_of(output), output, &mut dice) {
            Payload::Str(text) => text.to_string(),
            other => other.to_json(),
        }
    }

    /// A text for an output, or for a member of it.
    fn text(&self, output: &str, name: &str, parts: &[String], dice: &mut Dice) -> String {
        let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if propose::is_proposal(output) && !is(&["predictor", "module", "path"])
            || propose::is_proposal(name)
        {
            return propose::proposal(&SyntheticTask::all(), &self.said, dice);
        }
        if is(&["predictor", "module", "path"]) {
            return parts.first().cloned().unwrap_or_default();
        }
        if is(&["tool"]) {
            return "finish".to_owned();
        }
        if is(&["code"]) {
            return "print('done')".to_owned();
        }
        propose::remark(dice).to_owned()
    }
}

/// The parts of a program that the request tells of, as `name: takes …` or as a list of names;
/// `all` if it tells of none.
fn program_parts(asked: &Asked<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, told) in &asked.inputs {
        if name.contains("names") {
            let words = told.split(|c: char| c.is_whitespace() || "[],\"`".contains(c));
            found.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
        let lines = told.lines().filter_map(|line| line.split_once(": takes "));
        found.extend(lines.map(|(part, _)| part.trim().to_owned()));
    }
    if found.is_empty() { vec!["all".to_owned()] } else { found }
}
