//! Optimizes the handbook and saves it: `cargo run -p dsrs-examples --bin tune -- handbook.json`

use std::error::Error;

use dsrs::{Module, save_json};
use dsrs_examples::handbook::Handbook;
use dsrs_examples::{model, tune};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut handbook = Handbook::default();
    let report = tune::tune(&mut handbook, &model::context()?).await?;
    println!("{} candidates, {} calls", report.trials.len(), report.spent.lm_calls);
    println!("{}: {}", if report.changed { "changed" } else { "unchanged" }, report.reason);
    if let Some(path) = std::env::args().nth(1) {
        save_json(&path, &handbook.state()?)?;
        println!("saved as {path}");
    }
    Ok(())
}
