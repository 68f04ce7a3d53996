//! Rules: an LM compares a good run with a bad one at the same inputs, and says what each predictor
//! should keep to; that is added to their instructions. Knows rollouts, and nothing of how they were
//! chosen.

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

/// What stands in the place of a run that there is none of.
const NONE: &str = "no such run";

static COMPARE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let input = |name, told| field(name, TypeIR::Str, told);
    let advice =
        "advice by the name of the part, as given above; parts that need none are left out";
    Arc::new(SignatureSchema {
        instructions: "A program, made of parts that are language models, was run more than once on \
            the same inputs, and one run came out better than the other. Find out where they went \
            apart and which part made the difference. Then write a short rule for each such part, to \
            be added to its instruction: for which kind of inputs it holds, what to do then and what \
            to leave. The part will see its own inputs and the rule, and nothing of these runs, so \
            say everything that it has to know. A rule must hold for other inputs of the kind, too."
            .into(),
        inputs: vec![
            input("program", "the parts: what each takes, gives and is told to do"),
            input("inputs", "what went into the program, and what was expected of it"),
            input("worse_run", "what the parts did in the worse run, and how it was judged"),
            input("better_run", "what the parts did in the better run, and how it was judged"),
        ],
        outputs: vec![
            field("comparison", TypeIR::Str, "where the runs went apart, and why"),
            field(ADVICE, TypeIR::Dict(Arc::new(TypeIR::Str)), advice),
        ],
        defs: Arc::default(),
    })
});

/// Two runs at the same inputs; one may be missing.
pub(super) struct Contrast<'c> {
    pub(super) example: &'c Example,
    pub(super) better: Option<&'c Rollout>,
    pub(super) worse: Option<&'c Rollout>,
}

/// The candidate with rules added to its instructions; `None` if the LM gave none.
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
    let run = |run: Option<&Rollout>| run.map_or_else(|| NONE.to_owned(), tell_run);
    let inputs = texts([
        ("program", tell_program(parts, &program)),
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

fn tell_program(parts: &[TunablePredictor], program: &Program) -> String {
    let mut text = String::new();
    for (path, schema) in parts {
        let instruction = instruction_of(program, path).unwrap_or_default();
        let told = instruction.replace('\n', "\n  ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}; is told:\n  {told}", part(path, schema));
    }
    text
}

fn tell_run(rollout: &Rollout) -> String {
    let mut text = String::new();
    for step in &rollout.calls {
        add_fields(&mut text, &format!("{} took", step.predictor), &step.inputs);
        add_fields(&mut text, &format!("{} gave", step.predictor), &step.outputs);
    }
    if let Some(failed) = &rollout.error {
        add_failure(&mut text, failed);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "score, from 0 to 1: {}", rollout.value());
    if let Some(feedback) = &rollout.score.feedback {
        let _ = writeln!(text, "feedback: {}", cut(feedback));
    }
    text
}

/// Rules by the paths of the parts that are named. What names no part is meant for it where there is
/// one only.
fn rules(parts: &[TunablePredictor], advice: &Map) -> Vec<(Arc<str>, String)> {
    let said: Vec<(&str, &str)> = advice
        .iter()
        .filter_map(|(name, text)| {
            let text = text.as_str().map(str::trim).filter(|text| !text.is_empty())?;
            Some((name.trim_matches(['`', '"', ' ']), text))
        })
        .collect();
    let named = parts.iter().filter_map(|(path, _)| {
        let (_, text) = said.iter().find(|(name, _)| *name == &**path)?;
        Some((path.clone(), (*text).to_owned()))
    });
    let named: Vec<_> = named.collect();
    match (parts, named.is_empty() && !said.is_empty()) {
        ([(path, _)], true) => {
            let all: Vec<&str> = said.iter().map(|(_, text)| *text).collect();
            vec![(path.clone(), all.join("\n"))]
        }
        _ => named,
    }
}
