//! The handbook on a script: it answers, is optimized, saved and loaded, and is a strategy.

use std::sync::Arc;

use dsrs::module::ModuleState;
use dsrs::strategy::registry;
use dsrs::{Module, load_json, save_json};
use dsrs_examples::handbook::{Handbook, SearchInput};
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
async fn the_handbook_is_optimized_saved_and_loaded() {
    let mut handbook = Handbook::default();
    let ctx = model::on(Arc::new(model::script()));
    let report = tune::tune(&mut handbook, &ctx).await.unwrap();
    assert!(report.changed, "{}", report.reason);
    let best = handbook.answer.predict.dump_state().instruction;
    assert_eq!(best.as_deref(), Some("Answer in as few words as you can."));

    let path = std::env::temp_dir().join(format!("handbook-{}.json", std::process::id()));
    save_json(&path, &handbook.state().unwrap()).unwrap();
    let mut loaded = Handbook::default();
    loaded.load_state(load_json::<ModuleState>(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let answer = loaded.call(&ctx, question()).await.unwrap();
    assert_eq!(answer.answer, "five");
}

#[test]
fn the_hosted_program_is_a_strategy_with_its_predictors() {
    let found = registry::get("handbook").unwrap();
    assert_eq!(found.predictors(), ["search", "answer.predict"]);
}
