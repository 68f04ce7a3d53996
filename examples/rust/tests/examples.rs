//! The examples on a script: what they print is what their readers are promised.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use dsrs::Module;
use dsrs::strategy::registry;
use dsrs_examples::handbook::{AnswerOutput, Handbook, SearchInput};
use dsrs_examples::{model, tune};

fn question() -> SearchInput {
    SearchInput { question: "How many days does a refund take?".into() }
}

#[tokio::test]
async fn the_handbook_answers_from_the_passage_that_was_found() {
    let lm = Arc::new(model::script());
    let result = Handbook::default().call(&model::on(lm.clone()), question()).await.unwrap();
    assert_eq!((&*result.reasoning, result.usage().lm_calls), ("The passage says it.", 2));
    let asked = lm.requests().remove(1).chat.turns.remove(0).content;
    assert!(asked.contains("five working days") && !asked.contains("Gift cards"), "{asked}");
}

#[tokio::test]
async fn the_optimizer_stores_the_best_instruction_in_the_module() {
    let mut handbook = Handbook::default();
    let judge =
        |output: &dsrs::WithReasoning<AnswerOutput>| f64::from(u8::from(output.answer == "five"));
    let cases: [tune::Case<Handbook>; 1] = [(question(), Box::new(judge))];
    let tried = ["Answer like a pirate.", "Answer in as few words as you can."];
    let ctx = model::on(Arc::new(model::script()));
    let score = tune::tune(&mut handbook, &ctx, "answer.predict", &tried, &cases).await.unwrap();
    assert!((score - 1.0).abs() < f64::EPSILON);
    let best = handbook.answer.predict.dump_state().instruction;
    assert_eq!(best.as_deref(), Some(tried[1]));
    assert!(tune::tune(&mut handbook, &ctx, "nowhere", &tried, &cases).await.is_err());
}

#[test]
fn the_hosted_program_is_a_strategy_with_its_predictors() {
    let found = registry::get("handbook").unwrap();
    assert_eq!(found.predictors(), ["search", "answer.predict"]);
}
