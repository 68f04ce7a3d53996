//! Optimizing the handbook in process: typed examples, a closure that says how good an answer is and
//! what to do better, and an optimizer that writes instructions.

use dsrs::lm::Budget;
use dsrs::optimize::{CompileError, CompileReport, Optimizer, TypedExample, compile};
use dsrs::{Ctx, WithReasoning};

use crate::handbook::{AnswerOutput, Handbook, SearchInput};

/// A question with the answer that is as short as it can be.
pub type Example = TypedExample<SearchInput, AnswerOutput>;

/// Questions about refunds, each in other words.
#[must_use]
pub fn examples() -> Vec<Example> {
    let person = ["I", "my sister", "a customer", "someone"];
    let thing = ["a book", "a lamp", "two chairs", "a gift card", "a coat", "a clock", "a pen"];
    let asked = |(person, thing)| {
        format!("How many days does the refund take, if {person} return {thing}?")
    };
    let pairs = person.into_iter().flat_map(|person| thing.map(|thing| (person, thing)));
    let example = |question| {
        TypedExample::new(SearchInput { question }, AnswerOutput { answer: "five".to_owned() })
    };
    pairs.map(asked).map(example).collect()
}

/// A brief right answer is right, a long one half right.
#[must_use]
pub fn judge(example: &Example, output: &WithReasoning<AnswerOutput>) -> (f64, &'static str) {
    let (found, wanted) = (output.answer.to_lowercase(), &example.expected.answer);
    match () {
        () if found == *wanted => (1.0, "right"),
        () if found.contains(wanted.as_str()) => {
            (0.5, "right, but far too long: one word is enough")
        }
        () => (0.0, "the handbook says five, and one word is enough"),
    }
}

/// Optimizes the instructions of the handbook, which changes only if that certainly helps.
///
/// # Errors
/// When the optimization cannot begin or go on.
pub async fn tune(handbook: &mut Handbook, ctx: &Ctx) -> Result<CompileReport, CompileError> {
    let optimizer = Optimizer::copro()
        .breadth(3)
        .depth(1)
        .seed(1)
        .budget(Budget { lm_calls: Some(500), ..Budget::default() });
    compile(ctx, handbook, examples(), judge, optimizer).await
}
