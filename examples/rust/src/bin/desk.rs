//! Optimizes the help desk, saves and loads it, and pushes it as a graph to a running server, which
//! answers with it: `cargo run -p dsrs-examples --bin desk -- http://localhost:8080`. The server is the
//! one with `find` in it, `--bin host`. `DSRS_KEY` is its API key, if it requires one.

use std::error::Error;
use std::sync::Arc;

use dsrs::module::ModuleState;
use dsrs::{Module, load_json, save_json};
use dsrs_examples::desk::{self, Desk, Question};
use dsrs_examples::index::Index;
use dsrs_examples::push::Remote;
use dsrs_examples::{model, tune};
use serde_json::json;

const FILE: &str = "desk.json";
const QUESTION: &str = "How many days does a refund take?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (index, ctx) = (Arc::new(Index::of_handbook()), model::context()?);
    let mut tuned = Desk::over(index.clone())?;
    let report = tune::tune_desk(&mut tuned, &ctx).await?;
    println!("{}: {}", if report.changed { "changed" } else { "unchanged" }, report.reason);
    save_json(FILE, &tuned.state()?)?;

    let mut desk = Desk::over(index.clone())?;
    desk.load_state(load_json::<ModuleState>(FILE)?)?;
    let answer = desk.call(&ctx, Question { question: QUESTION.into() }).await?;
    println!("{FILE} is loaded, and answers: {}", answer.answer);

    let Some(url) = std::env::args().nth(1) else { return Ok(()) };
    desk::register(index)?;
    let graph = desk::graph::project(&desk).await?;
    let server = Remote::new(&url, std::env::var("DSRS_KEY").ok())?;
    server.push(&graph).await?;
    let run = server.execute("desk", &json!({ "question": QUESTION })).await?;
    println!("{url} answers: {}", run["outputs"]["answer"]);
    Ok(())
}
