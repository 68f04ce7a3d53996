//! Reflection: an LM reads the inputs and outputs of a predictor on some examples together with the
//! feedback, and writes a better instruction. Knows rollouts; knows nothing of candidates.

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

/// The maximum number of calls of one predictor that are shown per run.
const CALLS: usize = 4;

const INSTRUCTION: &str = "improved_instruction";

const INSTRUCTIONS: &str = "Improve the instruction of one language model call in a program. You see \
    its current instruction and records of several runs.\n\n\
    First diagnose the runs: find what the runs with low scores have in common, and what the runs \
    with high scores did right. Then write an improved instruction:\n\
    - Include every fact and rule of the task that the feedback reveals. The model that follows the \
    instruction sees neither these runs nor the feedback.\n\
    - If a run failed because its answer could not be parsed, state exactly what the answer must look \
    like.\n\
    - Write for all inputs of this kind, not only for the ones shown.\n\
    - Keep the parts that already work, including everything that the current instruction says about \
    tools.";

static REFLECT: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let (str, input) = (|| TypeIR::Str, |name, description| field(name, TypeIR::Str, description));
    Arc::new(SignatureSchema {
        instructions: INSTRUCTIONS.into(),
        inputs: vec![
            input("program", "all parts of the program with their inputs and outputs"),
            input("part", "the part whose instruction you improve"),
            input("instruction_so_far", "the current instruction of the part"),
            input("runs", "inputs and outputs of the part in each run, with score and feedback"),
        ],
        outputs: vec![
            field("diagnosis", str(), "what goes wrong, and why"),
            field(INSTRUCTION, str(), "the complete new instruction and nothing else"),
        ],
        defs: Arc::default(),
    })
});

/// The runs of a candidate on some examples.
#[derive(Clone, Copy)]
pub(super) struct Runs<'r> {
    pub(super) program: &'r Program,
    pub(super) examples: &'r [&'r Example],
    pub(super) evaluation: &'r Evaluation,
}

/// Proposes a new instruction for a predictor. Returns `None` if no run called the predictor, or if
/// the LM did not write an instruction. `number` distinguishes reflections.
pub(super) async fn reflect(
    bench: &Workbench,
    all: &[TunablePredictor],
    (path, schema): &TunablePredictor,
    runs: Runs<'_>,
    number: usize,
    temperature: f64,
) -> Result<Option<Arc<str>>, EarlyStop> {
    let Some(described) = describe_runs(path, runs) else { return Ok(None) };
    let instruction = instruction_of(runs.program, path).unwrap_or_default();
    let inputs = texts([
        ("program", parts(all)),
        ("part", part(path, schema)),
        ("instruction_so_far", instruction.to_string()),
        ("runs", described),
    ]);
    propose_text(bench, &REFLECT, inputs, Draw { number, temperature }, INSTRUCTION).await
}

/// Describes the calls of a predictor in each run, with score and feedback; `None` if no run called
/// it.
fn describe_runs(path: &str, runs: Runs<'_>) -> Option<String> {
    let rollouts = runs.examples.iter().zip(&runs.evaluation.rollouts);
    let measured = rollouts.filter(|(_, rollout)| rollout.is_measured());
    let runs = measured.filter_map(|(example, rollout)| describe_run(path, example, rollout));
    let numbered: Vec<String> =
        runs.enumerate().map(|(at, run)| format!("Run {}\n{run}", at + 1)).collect();
    (!numbered.is_empty()).then(|| numbered.join("\n"))
}

fn describe_run(path: &str, example: &Example, rollout: &Rollout) -> Option<String> {
    let own = |step: &&PredictorCall| &*step.predictor == path;
    let mut text = String::new();
    for step in rollout.calls.iter().filter(own).take(CALLS) {
        add_fields(&mut text, "inputs", &step.inputs);
        add_fields(&mut text, "outputs", &step.outputs);
    }
    let failed = rollout.error.as_ref();
    if failed.and_then(|failed| failed.node.as_deref()).is_some_and(|node| is_in(path, node)) {
        add_fields(&mut text, "inputs of the program", &example.inputs);
    } else if text.is_empty() {
        return None;
    }
    if let Some(failed) = failed {
        add_failure(&mut text, failed);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "score (0 to 1): {}", rollout.value());
    if let Some(feedback) = &rollout.score.feedback {
        let _ = writeln!(text, "feedback: {}", cut(feedback));
    }
    Some(text)
}

/// Whether the predictor of a path belongs to a node.
fn is_in(path: &str, node: &str) -> bool {
    path.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
