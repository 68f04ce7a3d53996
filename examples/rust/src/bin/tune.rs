//! Tunes the handbook's answers: `cargo run -p dsrs-examples --bin tune`

use std::error::Error;

use dsrs_examples::handbook::{Handbook, SearchInput};
use dsrs_examples::{model, tune};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let question = "How many days does a refund take?".to_owned();
    let judge = |output: &dsrs::WithReasoning<_>| {
        let output: &dsrs_examples::handbook::AnswerOutput = output;
        f64::from(u8::from(output.answer.eq_ignore_ascii_case("five")))
    };
    let cases: [tune::Case<Handbook>; 1] = [(SearchInput { question }, Box::new(judge))];
    let tried = ["Answer in as few words as you can.", "Answer like a pirate."];
    let mut handbook = Handbook::default();
    let ctx = model::context()?;
    let score = tune::tune(&mut handbook, &ctx, "answer.predict", &tried, &cases).await?;
    let best = handbook.answer.predict.dump_state().instruction;
    println!(
        "best score {score}, with: {}",
        best.as_deref().unwrap_or("the instructions as they are")
    );
    Ok(())
}
