//! Reflection: an LM reads what a predictor took and gave on some examples and what was said of it,
//! and writes a better instruction. Knows rollouts, and nothing of candidates.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use crate::graph::Program;
use crate::optimize::optimizers::describe::{
    TunablePredictor, add_failure, add_fields, cut, field, part, parts, texts,
};
use crate::optimize::optimizers::proposal::{Draw, propose_text};
use crate::optimize::{
    EarlyStop, Evaluation, Example, PredictorCall, Rollout, Workbench, instruction_of,
};
use crate::signature::SignatureSchema;
use crate::types::TypeIR;

/// How many calls of one predictor in one run are shown.
const CALLS: usize = 4;

const INSTRUCTION: &str = "improved_instruction";

static REFLECT: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let (str, input) = (|| TypeIR::Str, |name, told| field(name, TypeIR::Str, told));
    Arc::new(SignatureSchema {
        instructions: "One part of a program is a language model that follows an instruction. \
            Improve the instruction by what the runs show. Look for what the runs with poor scores \
            have in common, and for what the good ones did right. Facts and rules of the task that \
            the feedback gives away belong into the instruction, since whoever follows it sees \
            neither the runs nor the feedback. Where a run failed because its answer could not be \
            read, say how the answer has to look. Write for inputs of this kind in general, not for \
            those of these runs alone. Keep what works, and all that the instruction says of tools."
            .into(),
        inputs: vec![
            input("program", "all parts of the program, with what each takes and gives"),
            input("part", "the part whose instruction is to be improved"),
            input("instruction_so_far", "what the part is told now"),
            input("runs", "what the part took and gave, and how the program did"),
        ],
        outputs: vec![
            field("diagnosis", str(), "what goes wrong, and why"),
            field(INSTRUCTION, str(), "the whole new instruction, and nothing else"),
        ],
        defs: Arc::default(),
    })
});

/// The runs of a candidate on some examples, to be reflected on.
#[derive(Clone, Copy)]
pub(super) struct Runs<'r> {
    pub(super) program: &'r Program,
    pub(super) examples: &'r [&'r Example],
    pub(super) evaluation: &'r Evaluation,
}

/// A new instruction for a part of a program. `None` where there is nothing to reflect on, or the
/// LM did not write one. `number` tells reflections apart.
pub(super) async fn reflect(
    bench: &Workbench,
    all: &[TunablePredictor],
    (path, schema): &TunablePredictor,
    runs: Runs<'_>,
    number: usize,
    temperature: f64,
) -> Result<Option<Arc<str>>, EarlyStop> {
    let Some(told) = tell(path, runs) else { return Ok(None) };
    let instruction = instruction_of(runs.program, path).unwrap_or_default();
    let inputs = texts([
        ("program", parts(all)),
        ("part", part(path, schema)),
        ("instruction_so_far", instruction.to_string()),
        ("runs", told),
    ]);
    propose_text(bench, &REFLECT, inputs, Draw { number, temperature }, INSTRUCTION).await
}

/// What a predictor took and gave in each run, with the score and what was said of it; `None` if it
/// was called in none of them.
fn tell(path: &str, runs: Runs<'_>) -> Option<String> {
    let rollouts = runs.examples.iter().zip(&runs.evaluation.rollouts);
    let told: Vec<String> =
        rollouts.filter_map(|(example, rollout)| tell_run(path, example, rollout)).collect();
    let numbered = told.iter().enumerate();
    let numbered: Vec<String> =
        numbered.map(|(at, told)| format!("Run {}\n{told}", at + 1)).collect();
    (!numbered.is_empty()).then(|| numbered.join("\n"))
}

fn tell_run(path: &str, example: &Example, rollout: &Rollout) -> Option<String> {
    let own = |step: &&PredictorCall| &*step.predictor == path;
    let mut text = String::new();
    for step in rollout.calls.iter().filter(own).take(CALLS) {
        add_fields(&mut text, "it took", &step.inputs);
        add_fields(&mut text, "it gave", &step.outputs);
    }
    let failed = rollout.error.as_ref();
    if failed.and_then(|failed| failed.node.as_deref()).is_some_and(|node| is_in(path, node)) {
        add_fields(&mut text, "the program took", &example.inputs);
    } else if text.is_empty() {
        return None;
    }
    if let Some(failed) = failed {
        add_failure(&mut text, failed);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "score of the run, from 0 to 1: {}", rollout.value());
    if let Some(feedback) = &rollout.score.feedback {
        let _ = writeln!(text, "feedback: {}", cut(feedback));
    }
    Some(text)
}

/// Whether the predictor of a path belongs to a node.
fn is_in(path: &str, node: &str) -> bool {
    path.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
