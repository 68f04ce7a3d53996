//! The synthetic LM: routes each requested output to a task or to generated text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dsrs::lm::sections::layout;
use dsrs::lm::{DeltaSink, Lm, LmError, LmParams, LmReply, LmRequest};
use dsrs::value::Payload;
use futures_util::future::{BoxFuture, FutureExt};

use crate::notation::ValueMaker;
use crate::random::{Dice, hash};
use crate::request::PromptRequest;
use crate::tasks::SyntheticTask;
use crate::{propose, skill};

/// An LM whose answers improve with its prompt.
///
/// It recognizes the tasks of [`SyntheticTask::all`] by the requested fields. Its accuracy rises with
/// certain phrases in the instruction (each predictor has two that help, and others that harm), with
/// correct demos (each one adds less; demos similar to the inputs add more) and with an output
/// `reasoning` or `rationale`; wrong demos lower it. Every input has a difficulty, and every prompt
/// that is good enough for it gets the right answer: a better prompt never loses one. Wrong answers
/// are plausible.
///
/// Right answers of 200 (rows of seed 1, LM of seed 1; `crates/dsrs/tests/optimizers/synthetic.rs`):
///
/// | | `triage` | `sums` | `orders` |
/// |---|---|---|---|
/// | unchanged | 79 | 85 | 82 |
/// | any four right demos | 112 | | |
/// | the helpful phrases | 125 | 134 | 150 (of one node 114, of the other 105) |
/// | both, with demos of similar inputs | 184 | 151 | 175 (any six demos) |
/// | `chain_of_thought` | 86 | 143 | |
/// | `chain_of_thought` and the phrases | | 180 | |
/// | two wrong demos | 46 | 46 | |
/// | harmful phrases | | | 63 |
///
/// An output whose name contains `instruction`, `advice`, `hint` or `guidance` gets a proposal:
/// sentences of which most change nothing, and some help or harm. A topic that the feedback of a row
/// names is nearly always met. Any other output gets a value of the type that the prompt describes.
///
/// Each word counts as a token. With a temperature above 0, or with a seed and no temperature, half of
/// the answers are drawn again, depending on temperature and seed.
///
/// ```
/// use dsrs::lm::{Chat, DeltaSink, Lm, LmParams, LmRequest, Message, Prefix};
/// use dsrs_synthetic::SyntheticLm;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let lm = SyntheticLm::seeded(7);
/// let asks = "[[ ## program ## ]]\n…\n\nanswer with [[ ## instruction ## ]]";
/// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user(asks)] };
/// let request = LmRequest::new(chat, LmParams::default());
///
/// let reply = lm.complete(&request, DeltaSink::closed()).await.unwrap();
/// assert!(reply.text.starts_with("[[ ## instruction ## ]]\n"));
/// assert_eq!(lm.complete(&request, DeltaSink::closed()).await.unwrap(), reply);
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

    /// The same LM with a latency in tokio time, which a paused clock skips.
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

    /// The number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn answer(&self, request: &LmRequest) -> String {
        let tasks = &SyntheticTask::all();
        let prompt = PromptRequest::read(request);
        let draw = draw(&request.params);
        let part = skill::part_of(tasks, &prompt);
        let writer = TextWriter::of(self, request, &prompt, draw.as_deref());
        let mut fields: Vec<(&str, String)> = Vec::with_capacity(prompt.outputs.len());
        for name in &prompt.outputs {
            let value = match part.filter(|part| part.output == *name) {
                Some(part) => skill::answer(&self.seed, draw.as_deref(), part, &prompt),
                None => writer.value(&prompt, name),
            };
            fields.push((name, value));
        }
        layout(fields.iter().map(|(name, value)| (*name, value.as_str())))
    }
}

impl Lm for SyntheticLm {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        mut deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if !self.latency.is_zero() {
                tokio::time::sleep(self.latency).await;
            }
            let text = self.answer(request);
            deltas.send(&text);
            Ok(LmReply::counting_words(request, text.into(), self.model.clone()))
        }
        .boxed()
    }
}

/// The settings that change answers, as text; `None` if the request has none.
fn draw(params: &LmParams) -> Option<String> {
    let drawn = params.temperature.map_or(params.seed.is_some(), |warmth| warmth > 0.0);
    drawn.then(|| format!("{:?} {:?}", params.temperature, params.seed))
}

/// Writes outputs that belong to no task.
struct TextWriter {
    /// The inputs in lower case.
    inputs: String,
    /// The seed of everything it writes.
    seed: u64,
}

impl TextWriter {
    fn of(
        lm: &SyntheticLm,
        request: &LmRequest,
        prompt: &PromptRequest<'_>,
        draw: Option<&str>,
    ) -> Self {
        let all = request.chat.messages().map(|message| &*message.content);
        let seed = hash([&*lm.seed, draw.unwrap_or_default()].into_iter().chain(all));
        let inputs: Vec<&str> = prompt.inputs.iter().map(|(_, value)| value.as_str()).collect();
        Self { inputs: inputs.join("\n").to_lowercase(), seed }
    }

    fn value(&self, prompt: &PromptRequest<'_>, output: &str) -> String {
        let parts = program_parts(prompt);
        let mut text = |name: &str, dice: &mut Dice| self.text(output, name, &parts, dice);
        let mut maker = ValueMaker::of(prompt.types(), &parts, &mut text);
        let mut dice = Dice::of(self.seed ^ hash([output]));
        match maker.value(prompt.type_of(output), output, &mut dice) {
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
            return propose::proposal(&SyntheticTask::all(), &self.inputs, dice);
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

/// The parts of a program that the request describes, as `name: inputs …`, as `name: takes …`, or as a
/// list of names; `all` if it describes none.
fn program_parts(prompt: &PromptRequest<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, text) in &prompt.inputs {
        if name.contains("names") {
            let words = text.split(|c: char| c.is_whitespace() || "[],\"`".contains(c));
            found.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
        let lines = text.lines();
        let lines = lines.filter_map(|line| {
            line.split_once(": inputs ").or_else(|| line.split_once(": takes "))
        });
        found.extend(lines.map(|(part, _)| part.trim().to_owned()));
    }
    if found.is_empty() { vec!["all".to_owned()] } else { found }
}
