//! Optimizing the programs in process: typed examples, a closure that says how good an answer is and
//! what to do better, and an optimizer that writes instructions.

use dsrs::lm::Budget;
use dsrs::optimize::{CompileError, CompileReport, Copro, Optimizer, TypedExample, compile};
use dsrs::{Ctx, WithReasoning};

use crate::desk::{Desk, PolishOutput, Question};
use crate::handbook::{AnswerOutput, Handbook, SearchInput};

/// A question with the answer that is as short as it can be.
pub type Example = TypedExample<SearchInput, AnswerOutput>;

/// The same for the desk.
pub type DeskExample = TypedExample<Question, PolishOutput>;

/// The answer to all questions.
const ANSWER: &str = "five";

/// Questions about refunds, each in other words.
fn questions() -> impl Iterator<Item = String> {
    let person = ["I", "my sister", "a customer", "someone"];
    let thing = ["a book", "a lamp", "two chairs", "a gift card", "a coat", "a clock", "a pen"];
    let pairs = person.into_iter().flat_map(move |person| thing.map(|thing| (person, thing)));
    pairs.map(|(person, thing)| {
        format!("How many days does the refund take, if {person} return {thing}?")
    })
}

/// Examples for the handbook.
#[must_use]
pub fn examples() -> Vec<Example> {
    let expected = || AnswerOutput { answer: ANSWER.to_owned() };
    let example = |question| TypedExample::new(SearchInput { question }, expected());
    questions().map(example).collect()
}

/// Examples for the desk.
#[must_use]
pub fn desk_examples() -> Vec<DeskExample> {
    let expected = || PolishOutput { answer: ANSWER.to_owned() };
    let example = |question| TypedExample::new(Question { question }, expected());
    questions().map(example).collect()
}

/// A brief right answer is right, a long one half right.
#[must_use]
pub fn judge(found: &str, wanted: &str) -> (f64, &'static str) {
    let found = found.to_lowercase();
    match () {
        () if found == wanted => (1.0, "right"),
        () if found.contains(wanted) => (0.5, "right, but far too long: one word is enough"),
        () => (0.0, "the handbook says five, and one word is enough"),
    }
}

/// Optimizes the instructions of the handbook, which changes only if that certainly helps.
///
/// # Errors
/// When the optimization cannot begin or go on.
pub async fn tune(handbook: &mut Handbook, ctx: &Ctx) -> Result<CompileReport, CompileError> {
    let metric = |example: &Example, output: &WithReasoning<AnswerOutput>| {
        judge(&output.answer, &example.expected.answer)
    };
    let optimizer = three_instructions(500);
    compile(ctx, handbook, examples(), metric, optimizer).await
}

/// The same for the desk: the agent and the nested modules are optimized with it.
///
/// # Errors
/// When the optimization cannot begin or go on.
pub async fn tune_desk(desk: &mut Desk, ctx: &Ctx) -> Result<CompileReport, CompileError> {
    let metric = |example: &DeskExample, output: &PolishOutput| {
        judge(&output.answer, &example.expected.answer)
    };
    let optimizer = three_instructions(2_000);
    compile(ctx, desk, desk_examples(), metric, optimizer).await
}

/// Three instructions for each predictor, within a budget of this many LM requests.
fn three_instructions(most: u64) -> Optimizer {
    let copro = Copro { breadth: 3, depth: 1, ..Copro::default() };
    Optimizer::new(copro).seed(1).budget(Budget { lm_calls: Some(most), ..Budget::default() })
}
