//! The grounding of proposals: an LM summarizes the data and describes the program and the role of each
//! predictor. Knows nothing of instructions. After the grounded proposer of DSPy (Opsahl-Ong et al.
//! 2024, arXiv 2406.11695, section 3.1); the prompts are our own.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use futures_util::future::try_join_all;

use crate::graph::Program;
use crate::optimize::optimizers::describe::{
    TunablePredictor, add_fields, cut, field, part, parts, texts,
};
use crate::optimize::optimizers::proposal::{PLAIN, propose, propose_text, text_of};
use crate::optimize::{EarlyStop, Example, Workbench, instruction_of};
use crate::signature::SignatureSchema;
use crate::types::TypeIR;
use crate::value::Payload;

/// The maximum number of batches of examples that the LM reads.
const BATCHES: usize = 10;

static OBSERVE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let mut signature = asks(
        "Take notes on a dataset for a reader who will never see its examples. Note what most \
         examples have in common: topics, wording and length, how the outputs follow from the \
         inputs, and which cases are easy to get wrong. Start from the existing notes: correct and \
         extend them, and write the complete revised notes.",
        &[
            ("examples", "examples with their inputs and expected outputs"),
            ("notes_so_far", "notes on earlier examples; empty at first"),
        ],
        ("notes", "the complete revised notes"),
    );
    let nothing_new = "true if these examples add nothing to the existing notes";
    signature.outputs.push(field("nothing_new", TypeIR::Bool, nothing_new));
    Arc::new(signature)
});

static SUM_UP: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "Summarize these notes on a dataset in two or three sentences. Keep what helps most to \
         perform the task well.",
        &[("notes", "notes on the dataset")],
        ("summary", "two or three sentences"),
    ))
});

static DESCRIBE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "This program calls language models. Describe in a few sentences what it does and how its \
         parts work together.",
        &[("program", PROGRAM), ("an_example", "one example of its inputs and expected outputs")],
        ("description", "a few sentences"),
    ))
});

static PLACE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "This program calls language models. Describe the role of one of its parts: what it has to \
         achieve, and what later parts need from it.",
        &[
            ("program", PROGRAM),
            ("description", "what the program does"),
            ("part", "the part to describe"),
        ],
        ("role", "one or two sentences"),
    ))
});

/// The description of the field `program`.
pub(super) const PROGRAM: &str =
    "its nodes and connections, and the inputs, outputs and current instruction of each part";

/// A signature with text inputs and one text output.
pub(super) fn asks(task: &str, inputs: &[(&str, &str)], output: (&str, &str)) -> SignatureSchema {
    let texts = |(name, description): &(&str, &str)| field(name, TypeIR::Str, description);
    SignatureSchema {
        instructions: task.into(),
        inputs: inputs.iter().map(texts).collect(),
        outputs: vec![texts(&output)],
        defs: Arc::default(),
    }
}

/// Descriptions of data and program by an LM; `None` if not requested or not answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Grounds {
    /// A summary of the trainset.
    pub(super) data: Option<Arc<str>>,
    /// The structure of the program, and its purpose.
    pub(super) program: Option<(Arc<str>, Option<Arc<str>>)>,
    /// The role of each predictor, in order.
    pub(super) roles: Vec<Option<Arc<str>>>,
}

/// A summary of the trainset, read batch by batch.
pub(super) async fn data(bench: &Workbench, batch: usize) -> Result<Option<Arc<str>>, EarlyStop> {
    let mut notes: Arc<str> = "".into();
    for examples in bench.train().chunks(batch.max(1)).take(BATCHES) {
        let inputs =
            [("examples", describe_examples(examples)), ("notes_so_far", notes.to_string())];
        let Some(found) = propose(bench, &OBSERVE, texts(inputs), PLAIN).await? else { continue };
        let is_first = notes.is_empty();
        notes = text_of(&found, "notes").unwrap_or(notes);
        if !is_first && matches!(found.get("nothing_new"), Some(Payload::Bool(true))) {
            break;
        }
    }
    if notes.is_empty() {
        return Ok(None);
    }
    let inputs = texts([("notes", notes.to_string())]);
    let summary = propose_text(bench, &SUM_UP, inputs, PLAIN, "summary").await?;
    Ok(summary.or(Some(notes)))
}

fn describe_examples(examples: &[Example]) -> String {
    let mut text = String::new();
    for (number, example) in examples.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Example {}", number + 1);
        add_fields(&mut text, "inputs", &example.inputs);
        add_fields(&mut text, "expected outputs", &example.expected);
    }
    text.trim_end().to_owned()
}

/// The structure of the program, and an LM's description of it and of each predictor.
pub(super) async fn program(
    bench: &Workbench,
    program: &Program,
    known: &[TunablePredictor],
) -> Result<Grounds, EarlyStop> {
    let text = describe_program(program, known);
    let inputs = texts([
        ("program", text.clone()),
        ("an_example", describe_examples(bench.train().get(..1).unwrap_or_default())),
    ]);
    let description = propose_text(bench, &DESCRIBE, inputs, PLAIN, "description").await?;
    let place = |one: &TunablePredictor| {
        let inputs = texts([
            ("program", text.clone()),
            ("description", description.as_deref().unwrap_or_default().to_owned()),
            ("part", part(&one.0, &one.1)),
        ]);
        propose_text(bench, &PLACE, inputs, PLAIN, "role")
    };
    let roles = try_join_all(known.iter().map(place)).await?;
    Ok(Grounds { data: None, program: Some((text.into(), description)), roles })
}

/// A program as text: nodes, edges, outputs, predictors and their instructions.
fn describe_program(program: &Program, known: &[TunablePredictor]) -> String {
    let graph = program.graph();
    let mut text = format!("program `{}`\n", graph.name());
    // Writing to a String cannot fail.
    if let Some(description) = graph.description() {
        let _ = writeln!(text, "{description}");
    }
    let _ = writeln!(text, "nodes:");
    for (name, node) in graph.nodes() {
        let _ = writeln!(text, "  {name} ({})", node.strategy());
    }
    let _ = writeln!(text, "connections:");
    for edge in graph.edges() {
        let _ = writeln!(text, "  {} -> {}", edge.from, edge.to);
    }
    for (name, output) in graph.outputs() {
        let _ = writeln!(text, "  {} -> output {name}", output.source);
    }
    let _ = writeln!(text, "parts that call a language model:\n{}", parts(known));
    let _ = write!(text, "current instructions:");
    for (path, _) in known {
        let now = instruction_of(program, path).unwrap_or_default();
        let _ = write!(text, "\n  {path}: {}", cut(&now).replace('\n', "\n    "));
    }
    text
}
