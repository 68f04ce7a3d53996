//! Asks the handbook one question: `cargo run -p dsrs-examples --bin ask -- "How long do refunds take?"`

use std::error::Error;

use dsrs::Module;
use dsrs_examples::handbook::{Handbook, SearchInput};
use dsrs_examples::model;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let asked = std::env::args().nth(1);
    let question = asked.unwrap_or_else(|| "How many days does a refund take?".to_owned());
    let result = Handbook::default().call(&model::context()?, SearchInput { question }).await?;
    println!("{}", result.answer);
    println!("because: {}", result.reasoning);
    println!("{} calls, {} tokens read", result.usage().lm_calls, result.usage().input_tokens);
    Ok(())
}
