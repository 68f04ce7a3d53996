//! Rules: an LM compares a good run with a bad one on the same inputs and writes a rule per predictor,
//! which is appended to its instruction. Knows rollouts; knows nothing of how they were selected.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use crate::graph::Program;
use crate::optimize::optimizers::describe::{
    TunablePredictor, add_failure, add_fields, cut, field, part, texts,
};
use crate::optimize::optimizers::proposal::{Draw, propose};
use crate::optimize::{Candidate, EarlyStop, Example, Rollout, Workbench, instruction_of};
use crate::signature::SignatureSchema;
use crate::types::TypeIR;
use crate::value::{Map, Payload};

const ADVICE: &str = "advice";

/// The text for a missing run.
const NONE: &str = "no such run";

static COMPARE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let input = |name, description| field(name, TypeIR::Str, description);
    let advice =
        "maps the name of a part, as given in `program`, to its rule; omit parts that need none";
    Arc::new(SignatureSchema {
        instructions:
            "A program whose parts are language model calls was run more than once on the \
            same inputs, and one run scored better than the other. Find where the two runs diverge \
            and which part made the difference. Then write a short rule for each such part, to be \
            appended to its instruction: which inputs the rule applies to, what to do, and what to \
            avoid. The part will see the rule and its own inputs, but not these runs, so include \
            everything that it needs to know. Each rule must also apply to other inputs of the same \
            kind."
                .into(),
        inputs: vec![
            input("program", "the parts with their inputs, outputs and current instructions"),
            input("inputs", "the inputs of the program and the expected outputs"),
            input("worse_run", "what each part did in the worse run, with score and feedback"),
            input("better_run", "what each part did in the better run, with score and feedback"),
        ],
        outputs: vec![
            field("comparison", TypeIR::Str, "where the runs diverge, and why"),
            field(ADVICE, TypeIR::Dict(Arc::new(TypeIR::Str)), advice),
        ],
        defs: Arc::default(),
    })
});

/// Two runs on the same inputs; one may be missing.
pub(super) struct Contrast<'c> {
    pub(super) example: &'c Example,
    pub(super) better: Option<&'c Rollout>,
    pub(super) worse: Option<&'c Rollout>,
}

/// The candidate with rules appended to its instructions; `None` if the LM wrote none.
pub(super) async fn advised(
    bench: &Workbench,
    parts: &[TunablePredictor],
    candidate: &Candidate,
    contrast: &Contrast<'_>,
    number: usize,
) -> Result<Option<Candidate>, EarlyStop> {
    let program = bench.program(candidate).await?;
    let mut example = String::new();
    add_fields(&mut example, "inputs", &contrast.example.inputs);
    add_fields(&mut example, "expected", &contrast.example.expected);
    let run = |run: Option<&Rollout>| run.map_or_else(|| NONE.to_owned(), describe_run);
    let inputs = texts([
        ("program", describe_program(parts, &program)),
        ("inputs", example),
        ("worse_run", run(contrast.worse)),
        ("better_run", run(contrast.better)),
    ]);
    let draw = Draw { number, temperature: 1.0 };
    let Some(outputs) = propose(bench, &COMPARE, inputs, draw).await? else { return Ok(None) };
    let advice = outputs.get(ADVICE).and_then(Payload::as_map);
    let mut advised = candidate.clone();
    for (path, rule) in advice.map_or_else(Vec::new, |advice| rules(parts, advice)) {
        let before = instruction_of(&program, &path).unwrap_or_default();
        let with_rule: Arc<str> = format!("{}\n\n{rule}", before.trim_end()).into();
        advised = advised.with(&path, |state| state.instruction = Some(with_rule));
    }
    Ok((advised != *candidate).then_some(advised))
}

fn describe_program(parts: &[TunablePredictor], program: &Program) -> String {
    let mut text = String::new();
    for (path, schema) in parts {
        let instruction = instruction_of(program, path).unwrap_or_default();
        let indented = instruction.replace('\n', "\n  ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}; current instruction:\n  {indented}", part(path, schema));
    }
    text
}

fn describe_run(rollout: &Rollout) -> String {
    let mut text = String::new();
    for step in &rollout.calls {
        add_fields(&mut text, &format!("{} inputs", step.predictor), &step.inputs);
        add_fields(&mut text, &format!("{} outputs", step.predictor), &step.outputs);
    }
    if let Some(failed) = &rollout.error {
        add_failure(&mut text, failed);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "score (0 to 1): {}", rollout.value());
    if let Some(feedback) = &rollout.score.feedback {
        let _ = writeln!(text, "feedback: {}", cut(feedback));
    }
    text
}

/// Rules by the paths of the named parts. If the program has only one part, it gets rules under any
/// name.
fn rules(parts: &[TunablePredictor], advice: &Map) -> Vec<(Arc<str>, String)> {
    let given: Vec<(&str, &str)> = advice
        .iter()
        .filter_map(|(name, text)| {
            let text = text.as_str().map(str::trim).filter(|text| !text.is_empty())?;
            Some((name.trim_matches(['`', '"', ' ']), text))
        })
        .collect();
    let named = parts.iter().filter_map(|(path, _)| {
        let (_, text) = given.iter().find(|(name, _)| *name == &**path)?;
        Some((path.clone(), (*text).to_owned()))
    });
    let named: Vec<_> = named.collect();
    match (parts, named.is_empty() && !given.is_empty()) {
        ([(path, _)], true) => {
            let all: Vec<&str> = given.iter().map(|(_, text)| *text).collect();
            vec![(path.clone(), all.join("\n"))]
        }
        _ => named,
    }
}
