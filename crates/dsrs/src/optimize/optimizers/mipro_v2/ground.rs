//! What proposals are grounded in: what an LM finds in the data, and what it makes of the program and
//! of the part of each predictor in it. Knows nothing of instructions. After the grounded proposer of
//! DSPy (Opsahl-Ong et al. 2024, arXiv 2406.11695, section 3.1); all that LMs are told is our own.

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

/// So many batches of examples are looked at, at most.
const BATCHES: usize = 10;

static OBSERVE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    let mut signature = asks(
        "Somebody who will never see these examples has to know what to expect of others like them. \
         Note what most of them have in common: what they are about, how they are worded and how \
         long they are, how what comes out follows from what goes in, which cases are easily \
         mistaken. Go on from the notes that there are: correct them, add to them, and write all of \
         them anew.",
        &[
            ("examples", "some examples, with what goes in and what has to come out"),
            ("notes_so_far", "what was noted of other examples; empty at first"),
        ],
        ("notes", "the notes, all of them"),
    );
    let nothing_new = "whether these examples told nothing that was not noted before";
    signature.outputs.push(field("nothing_new", TypeIR::Bool, nothing_new));
    Arc::new(signature)
});

static SUM_UP: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "Sum up these notes about examples in two or three sentences. Keep what helps most to do \
         such a task well.",
        &[("notes", "notes about the examples")],
        ("summary", "two or three sentences"),
    ))
});

static DESCRIBE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "This program calls language models. Say in a few sentences what it is for, and how its \
         parts work together to that end.",
        &[("program", PROGRAM), ("an_example", "one case of what goes in and has to come out")],
        ("description", "a few sentences"),
    ))
});

static PLACE: LazyLock<Arc<SignatureSchema>> = LazyLock::new(|| {
    Arc::new(asks(
        "This program calls language models. Say what one part of it has to achieve, and what those \
         parts need of it that come after.",
        &[("program", PROGRAM), ("description", "what the program is for"), ("part", "which part")],
        ("role", "one or two sentences"),
    ))
});

/// How the program is told.
pub(super) const PROGRAM: &str =
    "its nodes, how they are connected, what each part takes, gives and is told";

/// A signature that asks for one text.
pub(super) fn asks(task: &str, inputs: &[(&str, &str)], output: (&str, &str)) -> SignatureSchema {
    let texts = |(name, told): &(&str, &str)| field(name, TypeIR::Str, told);
    SignatureSchema {
        instructions: task.into(),
        inputs: inputs.iter().map(texts).collect(),
        outputs: vec![texts(&output)],
        defs: Arc::default(),
    }
}

/// What is known of data and program; what was not asked for, or not answered, is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Grounds {
    /// A summary of the trainset.
    pub(super) data: Option<Arc<str>>,
    /// What the program looks like, and what it is for.
    pub(super) program: Option<(Arc<str>, Option<Arc<str>>)>,
    /// What each predictor is there for, in their order.
    pub(super) roles: Vec<Option<Arc<str>>>,
}

/// What an LM finds in the trainset, batch by batch, in two or three sentences.
pub(super) async fn data(bench: &Workbench, batch: usize) -> Result<Option<Arc<str>>, EarlyStop> {
    let mut notes: Arc<str> = "".into();
    for examples in bench.train().chunks(batch.max(1)).take(BATCHES) {
        let inputs = [("examples", told(examples)), ("notes_so_far", notes.to_string())];
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

fn told(examples: &[Example]) -> String {
    let mut text = String::new();
    for (number, example) in examples.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Example {}", number + 1);
        add_fields(&mut text, "goes in", &example.inputs);
        add_fields(&mut text, "has to come out", &example.expected);
    }
    text.trim_end().to_owned()
}

/// What the program looks like, what an LM says it is for, and what each of its predictors is.
pub(super) async fn program(
    bench: &Workbench,
    program: &Program,
    known: &[TunablePredictor],
) -> Result<Grounds, EarlyStop> {
    let text = drawn(program, known);
    let inputs = texts([
        ("program", text.clone()),
        ("an_example", told(bench.train().get(..1).unwrap_or_default())),
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

/// A program in a few lines: its nodes, its edges, its outputs, its predictors and what they are told.
fn drawn(program: &Program, known: &[TunablePredictor]) -> String {
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
    let _ = write!(text, "what they are told:");
    for (path, _) in known {
        let now = instruction_of(program, path).unwrap_or_default();
        let _ = write!(text, "\n  {path}: {}", cut(&now).replace('\n', "\n    "));
    }
    text
}
