//! The server with the programs of this crate in it: `cargo run -p dsrs-examples --bin host -- serve`.
//! Then a graph may say `{"nodes": {"ask": {"strategy": "handbook"}}}`, beside any other strategy, and
//! its two predictors are tuned like those of posted nodes. `find` is a strategy with a client.

use std::process::ExitCode;
use std::sync::Arc;

// `handbook` registers itself, because it needs nothing; `find` has a client, which is made here.
use dsrs_examples::{desk, index::Index};

fn main() -> ExitCode {
    if let Err(problems) = desk::register(Arc::new(Index::of_handbook())) {
        eprintln!("host: {problems}");
        return ExitCode::FAILURE;
    }
    dsrs_server::cli::run()
}
